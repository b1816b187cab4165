"""Claims of papers as data: what the text says, what shows it here, and at most one check that a judge can decide."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from probing.kernel.provenance_records import Frozen

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
    #: Rows in place of the first quantity's, such as a control's: a yardstick without a verdict.
    beside: Rows = Field(default_factory=dict)
    #: A report that has the difference of some of the pairs; it is used instead of the two intervals.
    paired: Difference | None = None
    relation: Literal[">", "<", "about"]
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
    """A claim of a paper's text; ``check`` is None if no two quantities with intervals decide it."""

    name: str
    says: str
    where: str
    #: Its number in short; empty if the paper draws it and prints none.
    printed: str = ""
    unchecked: str = ""
    #: What the paper's own tables say to the contrary.
    against: str = ""
    shown: Target
    check: Check | None = None

    @model_validator(mode="after")
    def _is_checked_or_says_why_not(self) -> Self:
        if bool(self.unchecked) == bool(self.check):
            raise ValueError(f"the claim {self.name!r} has a check and unchecked, or neither; expected one of them")
        return self
