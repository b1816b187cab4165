"""What papers published, as data of ``data/published``: figures, tables, and claims that a judge can decide."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, ValidationError, model_validator

from probing.kernel.errors import PublishedError
from probing.kernel.provenance import Frozen
from probing.kernel.registry import REPOSITORY

#: What a column of a report has to be.
Value = bool | int | float | str
#: Column -> value: the rows of a report.
Rows = Mapping[str, Value]
#: A column of a report, and those of the lower and the upper end of its 95 % interval.
Columns = tuple[str, str, str]


class Target(Frozen):
    """What shows a claim here: a figure by its number, a table by its name, or a page with the open tab."""

    figure: int | str = ""
    table: str = ""
    page: str = ""
    tab: str = ""

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if [bool(self.figure), bool(self.table), bool(self.page)].count(True) != 1:
            raise ValueError(f"a claim is shown by {self}, expected a figure, a table or a page")
        return self


class Difference(Frozen):
    """A column of another report that has the difference of both quantities, paired over the same facts."""

    report: str
    columns: Columns
    where: Rows = Field(default_factory=dict)


class Comparison(NamedTuple):
    """One comparison of a check; ``of`` tells it from the others, ``second`` is None if the first is a difference."""

    of: Rows
    first: Rows
    second: Rows | None


class Check(Frozen):
    """Two quantities of a report that are compared, for every combination of the values that are named.

    A model is named by the paper's name for it or for its fine-tuning task, ``base`` is the pre-trained one. Layers are
    counted as in the paper's model, which has ``depth`` of them.
    """

    asks: str
    report: str
    #: The number and the ends of its interval.
    columns: Columns
    where: Rows = Field(default_factory=dict)
    for_each: Mapping[str, tuple[Value, ...]] = Field(default_factory=dict)
    #: Without ``second`` and ``in_turn`` a difference, which is compared with 0.
    first: Rows = Field(default_factory=dict)
    second: Rows | None = None
    #: A column with values in their order: each is the first quantity, the next the second.
    in_turn: Mapping[str, tuple[Value, ...]] = Field(default_factory=dict)
    #: Rows of a quantity of which both are taken as shares.
    share_of: Rows | None = None
    #: Whether the control takes the base's place where it is stored, as training without a task changes a model, too.
    control: bool = False
    #: A report that has the difference of some of the pairs; it is used instead of the two intervals.
    paired: Difference | None = None
    #: Empty if the quantity is shown and decides nothing.
    relation: Literal[">", "<", "about", ""] = ""
    #: In units of the columns; ``about`` is at most this far apart.
    margin: float = Field(0.0, ge=0)
    depth: int = Field(12, ge=1)

    @model_validator(mode="after")
    def _can_be_decided(self) -> Self:
        if self.in_turn and (self.first or self.second is not None):
            raise ValueError("a check has both in_turn and a first or second, expected one of them")
        if [len(values) > 1 for values in self.in_turn.values()] not in ([], [True]):
            raise ValueError(f"in_turn is {dict(self.in_turn)}, expected one column with at least two values")
        if not all(self.for_each.values()):
            raise ValueError(f"for_each is {dict(self.for_each)}, expected a value of every column")
        if self.relation == "about" and not self.margin:
            raise ValueError("the relation is about without a margin, expected how far apart the two may be")
        return self

    def comparisons(self) -> Iterator[Comparison]:
        """Every comparison, with the rows of both quantities."""
        for values in itertools.product(*self.for_each.values()):
            of = dict(zip(self.for_each, values, strict=True))
            shared = {**self.where, **of}
            if not self.in_turn:
                yield Comparison(
                    of, {**shared, **self.first}, None if self.second is None else {**shared, **self.second}
                )
            for column, turns in self.in_turn.items():
                for turn, following in itertools.pairwise(turns):
                    yield Comparison(
                        {**of, column: f"{turn}, {following}"}, {**shared, column: turn}, {**shared, column: following}
                    )


class Claim(Frozen):
    """A claim of a paper's text; ``unchecked`` says why nothing decides it, and a check beside it only shows ours."""

    name: str
    says: str
    where: str
    #: Its number in short; empty if the paper draws it and prints none.
    printed: str = ""
    #: Its number, or the least and the most of them, in the unit of what the check compares.
    numbers: tuple[float, ...] = Field((), max_length=2)
    unchecked: str = ""
    #: What the paper's own tables say to the contrary.
    against: str = ""
    shown: Target
    check: Check | None = None

    @model_validator(mode="after")
    def _is_checked_or_says_why_not(self) -> Self:
        if bool(self.unchecked) == bool(self.check and self.check.relation):
            raise ValueError(f"the claim {self.name!r} has a check and unchecked, or neither; expected one of them")
        return self


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
