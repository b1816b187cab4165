"""What a paper published, as data: its figures and claims, and in a subclass its tables. Reads ``data/published``."""

import tomllib
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ValidationError, model_validator

from probing.kernel.errors import PublishedError
from probing.kernel.provenance_records import Frozen
from probing.kernel.published import Claim
from probing.kernel.registry import REPOSITORY

FOLDER = REPOSITORY / "data" / "published"


class PublishedFigure(Frozen):
    """What a figure shows."""

    number: int | str
    #: How ours is drawn; the allowed kinds are in the subclasses.
    kind: str
    title: str
    shows: str


class Published(Frozen):
    """What every file of published numbers in ``data/published`` has. A subclass is a paper and adds its tables."""

    file: ClassVar[str]
    title: str
    authors: str
    venue: str
    url: str
    code: str = ""
    figures: tuple[Any, ...] = ()
    claims: tuple[Claim, ...] = ()

    @model_validator(mode="after")
    def _every_name_once(self) -> Self:
        refuse_twice(
            {"figures": [figure.number for figure in self.figures], "claims": [claim.name for claim in self.claims]}
        )
        numbers = {figure.number for figure in self.figures}
        for claim in self.claims:
            if claim.shown.figure and claim.shown.figure not in numbers:
                raise ValueError(
                    f"the claim {claim.name!r} is shown by Figure {claim.shown.figure}, expected one of"
                    f" {sorted(numbers)}"
                )
        return self

    @classmethod
    def read(cls, path: Path | None = None) -> Self:
        """Reads and checks the paper's numbers, by default from its own file."""
        path = path or FOLDER / cls.file
        try:
            return cls.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
            raise PublishedError(
                f"{path} is not a file of published numbers: {error}; expected the keys that data/published describes"
            ) from error

    def figure(self, number: int | str) -> Any:
        """The figure of that number."""
        figures = {figure.number: figure for figure in self.figures}
        if number not in figures:
            raise PublishedError(f"the paper has no Figure {number} here; there are {', '.join(map(str, figures))}")
        return figures[number]


def refuse_twice(named: Mapping[str, Sequence[object]]) -> None:
    """Raises a ``ValueError`` if one of a kind's names occurs twice."""
    for kind, names in named.items():
        if len(set(names)) < len(names):
            raise ValueError(f"the {kind} are {list(names)}, expected each once")


def refuse_unknown(kind: str, names: Set[str], known: Set[str]) -> None:
    """Raises a ``ValueError`` if a table names a thing that the file does not describe."""
    if unknown := sorted(names - known):
        raise ValueError(f"no {kind} is called {unknown}, expected one of {sorted(known)}")
