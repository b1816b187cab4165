"""What a paper published, as data: its tables, what its figures show, and its claims. Reads ``data/published``.

``Claim``, ``numbered``, ``refuse_twice`` and ``read_as`` serve every paper; the rest is BERTnesia's.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from pydantic import Field, ValidationError, model_validator

from probing.core.errors import PublishedError
from probing.core.files.frozen import Frozen
from probing.core.registry import REPOSITORY

BERTNESIA = REPOSITORY / "data" / "published" / "bertnesia.toml"


class _Numbered(Protocol):
    @property
    def number(self) -> int | str: ...


Paper = TypeVar("Paper", bound=Frozen)
Figure = TypeVar("Figure", bound=_Numbered)


def numbered(figures: Sequence[Figure], number: int | str) -> Figure:
    """The figure of that number.

    Raises:
        PublishedError: if there is none; the message lists the numbers.
    """
    for one in figures:
        if one.number == number:
            return one
    raise PublishedError(f"the paper has no Figure {number} here; there are {', '.join(str(one.number) for one in figures)}")


def refuse_twice(named: Mapping[str, Sequence[object]]) -> None:
    """Raises a ``ValueError`` if a name occurs twice.

    Args:
        named: kind of thing -> its names, each of which must occur once.
    """
    for kind, names in named.items():
        if len(set(names)) < len(names):
            raise ValueError(f"the {kind} are {list(names)}, expected each once")


def read_as(kind: type[Paper], path: Path) -> Paper:
    """Reads and checks a file of published numbers.

    Raises:
        PublishedError: if it is missing or malformed, or its numbers do not fit together.
    """
    try:
        return kind.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise PublishedError(
            f"{path} is not a file of published numbers: {error}; expected the keys that data/published describes"
        ) from error


class PublishedModel(Frozen):
    """A model of the paper; ``objective`` is what ``runs.objective`` calls its kind here."""

    name: str
    objective: str
    note: str = ""
    cased: bool = False


class PublishedSet(Frozen):
    """A row of Table 1.

    Attributes:
        name: as the paper calls it.
        ours: the probe set here that holds facts of the same source.
        stand_in: the probe set that is shown if there is none of ``ours``; it has other facts.
        relations: number of relations; None if the paper states none.
        instances: number of facts.
        parts: relation -> number of facts, if the paper gives them.
        example: a prompt.
        answer: its answer.
    """

    name: str
    ours: str
    stand_in: str = ""
    relations: int | None = None
    instances: int
    parts: dict[str, int] = Field(default_factory=dict)
    example: str
    answer: str

    @model_validator(mode="after")
    def _parts_add_up(self) -> "PublishedSet":
        if self.parts and sum(self.parts.values()) != self.instances:
            raise ValueError(f"the parts of {self.name} add up to {sum(self.parts.values())}, expected {self.instances}")
        return self


class ForgottenRow(Frozen):
    """A row of Table 2: per rank the share as printed and the number of relations behind it."""

    model: str
    shares: tuple[float, ...]
    counts: tuple[int, ...]


class ForgottenTable(Frozen):
    """Table 2. ``divisor`` is what the counts were divided by before they were rounded to two places."""

    divisor: int
    ranks: tuple[int, ...]
    rows: tuple[ForgottenRow, ...]

    @model_validator(mode="after")
    def _shares_are_counts(self) -> "ForgottenTable":
        for row in self.rows:
            if not len(row.shares) == len(row.counts) == len(self.ranks):
                raise ValueError(f"{row.model} has {len(row.shares)} shares and {len(row.counts)} counts, expected {len(self.ranks)} each")
            for share, count in zip(row.shares, row.counts, strict=True):
                if abs(share - count / self.divisor) > 0.005 + 1e-9:
                    raise ValueError(f"{row.model} has the share {share}, but {count} of {self.divisor} is {count / self.divisor:.4f}")
        return self


class KnowledgeRow(Frozen):
    """A row of Table 3: probe set -> (last layer, total), P@1 in per cent."""

    model: str
    cells: dict[str, tuple[float, float]]

    @model_validator(mode="after")
    def _total_is_not_less(self) -> "KnowledgeRow":
        for name, (last, total) in self.cells.items():
            if not 0 <= last <= total <= 100:
                raise ValueError(f"{self.model} has {last} / {total} on {name}, expected 0 <= last <= total <= 100")
        return self


class PublishedFigure(Frozen):
    """What a figure shows; ``relations`` only if single relations are drawn."""

    number: int
    title: str
    kind: Literal["bars", "layers", "relations"]
    shows: str
    models: tuple[str, ...]
    probe_sets: tuple[str, ...]
    ranks: tuple[int, ...] = (1,)
    relations: tuple[str, ...] = ()


class Claim(Frozen):
    """A claim of the text; ``against`` is what the paper's own tables say to the contrary."""

    name: str
    says: str
    where: str
    against: str = ""


class Published(Frozen):
    """All that is known of one paper's results."""

    title: str
    authors: str
    venue: str
    url: str
    models: tuple[PublishedModel, ...]
    probe_sets: tuple[PublishedSet, ...]
    table_2: ForgottenTable
    table_3: tuple[KnowledgeRow, ...]
    figures: tuple[PublishedFigure, ...]
    claims: tuple[Claim, ...]

    @model_validator(mode="after")
    def _names_are_known(self) -> "Published":
        models, sets = {model.name for model in self.models}, {one.name for one in self.probe_sets}
        named = [row.model for row in self.table_2.rows] + [row.model for row in self.table_3]
        named += [name for one in self.figures for name in one.models]
        if unknown := set(named) - models:
            raise ValueError(f"no model is called {sorted(unknown)}, expected one of {sorted(models)}")
        named = [name for row in self.table_3 for name in row.cells] + [name for one in self.figures for name in one.probe_sets]
        if unknown := set(named) - sets:
            raise ValueError(f"no probe set is called {sorted(unknown)}, expected one of {sorted(sets)}")
        refuse_twice(
            {
                "models": [model.name for model in self.models],
                "figures": [one.number for one in self.figures],
                "claims": [claim.name for claim in self.claims],
                "rows of Table 2": [row.model for row in self.table_2.rows],
                "rows of Table 3": [row.model for row in self.table_3],
            }
        )
        return self

    def objective(self, model: str) -> str:
        """The objective of a model of the paper."""
        return next(one.objective for one in self.models if one.name == model)

    def forgotten(self, model: str, k: int) -> tuple[float, int] | None:
        """Table 2's share and the count behind it; None if it was not published."""
        row = next((row for row in self.table_2.rows if row.model == model), None)
        if row is None or k not in self.table_2.ranks:
            return None
        place = self.table_2.ranks.index(k)
        return row.shares[place], row.counts[place]

    def knowledge(self, model: str, probe_set: str) -> tuple[float, float] | None:
        """Table 3's last layer and total in per cent; None if they were not published, which differs from 0."""
        row = next((row for row in self.table_3 if row.model == model), None)
        return row.cells.get(probe_set) if row else None

    def probe_set(self, name: str) -> PublishedSet:
        """The row of Table 1 with the paper's name."""
        return next(one for one in self.probe_sets if one.name == name)

    def figure(self, number: int) -> PublishedFigure:
        """The figure of that number.

        Raises:
            PublishedError: if there is none; the message lists the numbers.
        """
        return numbered(self.figures, number)


def read_published(path: Path = BERTNESIA) -> Published:
    """Reads and checks a file of published numbers.

    Raises:
        PublishedError: if it is missing or malformed, or its numbers do not fit together.
    """
    return read_as(Published, path)
