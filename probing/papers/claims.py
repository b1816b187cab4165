"""A paper that is reproduced, and whether its claims with a check hold for stored results: one judge for all."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from probing.facts.report_pairs import joined
from probing.kernel.errors import OptionError, PublishedError
from probing.kernel.objectives import CONTROL
from probing.kernel.published import Check, Claim, Columns, Comparison, Published, Rows
from probing.kernel.stats.intervals import wider
from probing.kernel.store.database import Database
from probing.kernel.success_report import learned, verdicts_by_model
from probing.subjects import REPORTS

HOLDS, FAILS, UNSURE, UNTESTED = "holds", "does not hold", "cannot tell", "cannot be tested"
#: What checks call the pre-trained model.
OF_THE_BASE = "base"
#: Verdicts on a model that decides nothing about its task.
UNLEARNED = ("not learned", "cannot tell")
#: Columns that name models, that name other things a reader knows by their values alone, and that count layers.
_MODELS, _NAMED, _LAYERS = ("model", "base"), ("probe_set", "task"), ("layer", "n")
_ENDS = ("", "_low", "_high")
_SIDES = ("first", "second", "difference")
#: A smaller share of what the base knows is no knowledge that a layer or task could have lost.
LEAST, NOTHING = 0.01, "a side that knows 1 % of what the base knows"
COMPARED = ("claim", "compared", "verdict", *(f"{side}{end}" for side in _SIDES for end in _ENDS), "paired", "missing")
CLAIMS = ("claim", "where", "verdict", "asks", "compared", *_SIDES, "counts", "missing", "shown")


class Interval(NamedTuple):
    """A number with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


class Missing(Exception):
    """What a comparison names and the results do not have."""


@dataclass(frozen=True)
class Subject:
    """The results that claims are judged on.

    ``models``: the paper's name of a model, or of its fine-tuning task -> ours; ``base`` is the pre-trained one.
    ``choices``: values of the reports' filters; the first that has all quantities of a comparison is taken.
    """

    models: Mapping[str, str]
    choices: Sequence[Mapping[str, Any]] = field(default_factory=lambda: ({},))


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict, which is empty if nothing decides it, and its comparisons: ``COMPARED``."""

    claim: Claim
    verdict: str
    compared: pd.DataFrame


def judge(db: Database | None, claims: Sequence[Claim], subject: Subject | None) -> tuple[Judged, ...]:
    """Every claim, in the order of the paper; without a database or subject none can be tested."""
    quantities = Quantities(db, subject) if db is not None and subject is not None else None
    return tuple(_judged(claim, quantities) for claim in claims)


def _judged(claim: Claim, quantities: "Quantities | None") -> Judged:
    if claim.check is None:
        return Judged(claim, "", pd.DataFrame(columns=list(COMPARED)))
    rows = [_compared(claim.name, claim.check, comparison, quantities) for comparison in claim.check.comparisons()]
    table = pd.DataFrame(rows, columns=list(COMPARED))
    # One comparison that fails refutes a claim about all of them, whatever else is missing.
    verdict = next((word for word in (FAILS, UNTESTED, UNSURE, HOLDS) if word in set(table["verdict"])), "")
    return Judged(claim, verdict, table)


def _compared(name: str, check: Check, comparison: Comparison, quantities: "Quantities | None") -> dict[str, Any]:
    row: dict[str, Any] = {
        "claim": name,
        "compared": in_words(comparison.of, check.depth),
        "missing": "",
        "paired": False,
    }
    row["verdict"] = UNTESTED if check.relation else ""
    if quantities is None:
        return row | {"missing": "results"}
    try:
        sides, difference, paired, beside = quantities.compared(check, comparison)
    except Missing as missing:
        return row | {"missing": str(missing)}
    row["compared"] = in_words(comparison.of, check.depth, quantities.layers) + beside
    numbers = {**sides, "difference": difference}
    ends = {
        f"{side}{end}": value for side, interval in numbers.items() for end, value in zip(_ENDS, interval, strict=True)
    }
    decided = verdict(difference, check.relation, check.margin) if check.relation else ""
    return row | ends | {"paired": paired, "verdict": decided}


def in_words(of: Rows, depth: int, layers: int = 0) -> str:
    """What tells a comparison from the others; layers are ours, or the paper's if ours has no known number."""

    def said(column: str, value: object) -> str:
        if column not in _LAYERS:
            return str(value)
        read = [our_layer(int(layer), depth, layers) if layers else int(layer) for layer in str(value).split(", ")]
        return f"layer {' and '.join(map(str, read))} of {layers or depth}"

    return ", ".join(said(column, value) for column, value in of.items())


def _of_control(check: Check, comparison: Comparison) -> tuple[Check, Comparison]:
    """The same with the control in the base's place; a change since the base becomes one beside the control's."""

    def of(rows: Rows) -> Rows:
        return {name: CONTROL if name in _MODELS and value == OF_THE_BASE else value for name, value in rows.items()}

    first, second = comparison.first, comparison.second
    second = {**first, "model": CONTROL} if second is None else of(second)
    whole = None if check.share_of is None else of(check.share_of)
    check = check.model_copy(update={"share_of": whole, "paired": None})
    return check, comparison._replace(first=of(first), second=second)


def our_layer(layer: int, depth: int, layers: int) -> int:
    """The layer of a model with so many layers at the depth of the paper's layer."""
    return round(layer * layers / depth)


def verdict(difference: Interval, relation: str, margin: float) -> str:
    """Does first minus second have this relation, beyond the margin or, for ``about``, within it?"""
    _, low, high = difference
    if math.isnan(low) or math.isnan(high):
        return UNSURE
    if relation == "about":
        return HOLDS if -margin <= low and high <= margin else FAILS if high < -margin or low > margin else UNSURE
    if relation == "<":
        low, high = -high, -low
    return HOLDS if low > margin else FAILS if high <= margin else UNSURE


def apart(first: Interval, second: Interval) -> Interval:
    """First minus second, of independent quantities, by MOVER (Zou and Donner 2008)."""
    return Interval(*map(float, joined(first, second)))


def share(part: Interval, whole: Interval) -> Interval:
    """Part by whole, if independent, by MOVER (Donner and Zou 2012); no interval if the whole may be 0."""
    if whole.value <= 0 or whole.low <= 0:
        return Interval(part.value / whole.value if whole.value else math.nan, math.nan, math.nan)
    product = part.value * whole.value
    ends = []
    for sign, of_part, of_whole in ((-1, part.low, whole.high), (1, part.high, whole.low)):
        below = of_whole * (2 * whole.value - of_whole)
        root = max(product**2 - of_part * (2 * part.value - of_part) * below, 0.0)
        ends.append((product + sign * math.sqrt(root)) / below if below > 0 else math.nan)
    return Interval(part.value / whole.value, *ends)


class Quantities:
    """The numbers of our reports that checks name; each report is computed once for a choice of its filters.

    ``layers`` is the number of layers of ours, once a number of a layer was read.
    """

    def __init__(self, db: Database, subject: Subject):
        self._db, self._subject, self.layers = db, subject, 0
        self._tables: dict[tuple, pd.DataFrame] = {}
        self._learned = verdicts_by_model(learned(db, tuple(subject.models.values())))

    def compared(self, check: Check, comparison: Comparison) -> tuple[dict[str, Interval], Interval, bool, str]:
        """Both quantities by side, their difference, whether that is paired, and what the base was replaced by, in
        words; ``Missing`` if one is not stored.
        """
        missing = Missing("results")
        ways = [_of_control(check, comparison)] * check.control + [(check, comparison)]
        for (asked, pair), choice in itertools.product(ways, self._subject.choices):
            try:
                words = "" if (asked, pair) == (check, comparison) else ", beside the control"
                return *self._compared(asked, pair, choice), words
            except Missing as error:
                missing = error
        raise missing

    def _compared(
        self, check: Check, comparison: Comparison, choice: Mapping[str, Any]
    ) -> tuple[dict[str, Interval], Interval, bool]:
        def quantity(rows: Rows) -> Interval:
            number = self._number(check.report, check.columns, rows, check.depth, choice)
            if check.share_of is None:
                return number
            return share(
                number, self._number(check.report, check.columns, {**rows, **check.share_of}, check.depth, choice)
            )

        sides: dict[str, Interval] = {}
        missing: list[str] = []
        for side, side_rows in (("first", comparison.first), ("second", comparison.second)):
            try:
                sides |= {} if side_rows is None else {side: quantity(side_rows)}
            except Missing as error:
                missing.append(str(error))
        if missing:
            raise Missing("; ".join(missing))
        if comparison.second is None:
            return {}, sides["first"], True
        if check.share_of or check.report.startswith("facts "):
            of_base = {**comparison.first, "model": OF_THE_BASE}
            known = 1 if check.share_of else quantity(of_base).value
            if max(side.value for side in sides.values()) < LEAST * known:
                raise Missing(NOTHING)
        if check.paired is not None:
            try:
                rows = {**comparison.of, **check.paired.where}
                return (
                    sides,
                    self._number(check.paired.report, check.paired.columns, rows, check.depth, choice, wider),
                    True,
                )
            except Missing:
                pass
        return sides, apart(*sides.values()), False

    def _number(
        self,
        report: str,
        columns: Columns,
        rows: Rows,
        depth: int,
        choice: Mapping[str, Any],
        ends: Callable = lambda table: table,
    ) -> Interval:
        """The number of a report in the only row with these values.

        Only paired differences have the wider ends: two sides with the same answers are not independent if answers are
        drawn again.
        """
        table = ends(self._table(report, rows, choice))
        if unknown := sorted({*rows, *columns} - set(table.columns)):
            raise PublishedError(
                f"the report {report} has no column {unknown[0]!r}, expected one of {', '.join(table.columns)}"
            )
        values = {column: self._model(str(value)) if column in _MODELS else value for column, value in rows.items()}
        # What tells a reader most is looked for first; layers are counted in the rows of one model.
        for column in sorted(values, key=lambda name: (name in _LAYERS, name not in _NAMED, name not in _MODELS)):
            value = values[column]
            if column in _LAYERS and len(table):
                self.layers = int(table[column].max())
                value = our_layer(int(value), depth, self.layers)
            table = table[table[column] == value]
            if table.empty:
                raise Missing(f"{_called(column)}{rows[column]}")
        if len(table) > 1:
            raise PublishedError(f"{len(table)} rows of the report {report} have {dict(rows)}, expected one")
        return Interval(*(float(table[column].iloc[0]) for column in columns))

    def _model(self, name: str) -> str:
        ours = self._subject.models.get(name)
        if ours is None:
            raise Missing(name)
        if self._learned.get(ours) in UNLEARNED:
            raise Missing(f"{name} (not shown to have learned its task)")
        return ours

    def _table(self, report: str, rows: Rows, choice: Mapping[str, Any]) -> pd.DataFrame:
        """A report of all models, for the values of its filters that do not depend on what is stored."""
        kind, _, name = report.partition(" ")
        if kind not in REPORTS:
            raise PublishedError(f"no report is of the kind {kind!r}, expected one of {', '.join(REPORTS)}")
        there = {
            choosable.name: choosable
            for choosable in REPORTS[kind].filters
            if not choosable.only or name in choosable.only
        }
        chosen_by = {column for column, choosable in there.items() if choosable.known or column in choice}
        filters = {column: value for column, value in {**choice, **rows}.items() if column in chosen_by}
        if "model" in there:
            filters["model"] = tuple(dict.fromkeys(self._subject.models.values()))
        key = (report, *sorted((column, str(value)) for column, value in filters.items()))
        if key not in self._tables:
            try:
                chosen = REPORTS[kind].choose(name, filters)
            except OptionError as error:
                raise PublishedError(f"a check names the report {report}: {error}") from error
            self._tables[key] = chosen.report.table(self._db, chosen)
        return self._tables[key]


def _called(column: str) -> str:
    """The word before a missing value: a model, task or probe set needs none."""
    return "" if column in (*_MODELS, *_NAMED) else f"{column.replace('_', ' ')} "


def claims_frame(judged: Sequence[Judged]) -> pd.DataFrame:
    """``CLAIMS``, one row per claim: its verdict, the numbers of the comparison that decides it, and what is missing.

    ``counts`` says how many comparisons hold, fail and are open. A difference that a report gives has no two sides.
    """
    rows = []
    for judgement in judged:
        check, row = judgement.claim.check, deciding(judgement)
        missing = "; ".join(filter(None, judgement.compared["missing"])).split("; ")
        rows.append(
            {
                "claim": judgement.claim.says,
                "where": judgement.claim.where,
                "verdict": judgement.verdict,
                "asks": check.asks if check else "",
            }
            | {"compared": row["compared"] if row is not None else ""}
            | {side: _written(row, side) for side in _SIDES}
            | {"counts": _counts(judgement.compared), "missing": "; ".join(dict.fromkeys(missing))}
            | {"shown": _target(judgement.claim)}
        )
    return pd.DataFrame(rows, columns=list(CLAIMS))


def deciding(judged: Judged) -> pd.Series | None:
    """The comparison closest to the other verdict: of those that hold the weakest, of those that fail the strongest."""
    table, check = judged.compared, judged.claim.check
    tested = table[table["difference"].notna()]
    if check is None or tested.empty:
        return None
    there = next(verdict for verdict in (FAILS, UNSURE, HOLDS, "") if verdict in set(tested["verdict"]))
    tested = tested[tested["verdict"].eq(there)]
    value = tested["difference"].astype("float64")
    towards = -value.abs() if check.relation == "about" else value if check.relation == ">" else -value
    return tested.loc[towards.fillna(math.inf).idxmin()]


def _written(row: pd.Series | None, side: str) -> str:
    """ "0.437 (0.432 to 0.443)"; empty if there is none."""
    if row is None or pd.isna(row[side]):
        return ""
    value, low, high = (f"{float(row[f'{side}{end}']):.4g}" for end in _ENDS)
    return value if low == high else f"{value} ({low} to {high})"


def _counts(table: pd.DataFrame) -> str:
    """ "holds 3, does not hold 1, cannot be tested 4"."""
    counted = [(int(table["verdict"].eq(verdict).sum()), verdict) for verdict in (HOLDS, FAILS, UNSURE, UNTESTED)]
    return ", ".join(f"{verdict} {count}" for count, verdict in counted if count)


def _target(claim: Claim) -> str:
    target = claim.shown
    return f"figure {target.figure}" if target.figure else target.table or f"page {target.page}"


@dataclass(frozen=True)
class Ours:
    """The numbers of a subject, an encoder or a base with its fine-tuned models, and the runs behind them."""

    name: str
    about: Any
    run_ids: tuple[str, ...]
    origin: str
    judged_as: Subject


@dataclass(frozen=True)
class Reproduction:
    """Ours (None if nothing is stored) compared with a paper, in tables by name."""

    ours: Ours | None
    tables: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Paper:
    """A paper, its file of published numbers, and how ours are measured and compared. ``PAPERS`` lists all.

    ``needs``: what has to be stored of a subject; ``subjects``: the stored ones by name, the default first;
    ``measure``: database, name of a subject and further settings -> its numbers; ``written``: the tables that
    ``reproduce`` writes.
    """

    name: str
    published: type[Published]
    needs: str
    subjects: Callable[[Database], Mapping[str, Any]]
    measure: Callable[..., Ours]
    tables: Callable[[Any, Database | None, Ours | None], Mapping[str, pd.DataFrame]]
    written: tuple[str, ...] = ()

    @cached_property
    def numbers(self) -> Any:
        """The published numbers; they change only with the program."""
        return self.published.read()

    def compare(self, db: Database | None, *subject: str) -> Reproduction:
        """Ours compared with the paper; ``subject`` is as for ``measure``, none compares nothing of ours."""
        ours = self.measure(db, *subject) if db is not None and subject else None
        return Reproduction(ours, self.tables(self.numbers, db, ours))

    def judge(self, db: Database | None, ours: Ours | None) -> tuple[Judged, ...]:
        return judge(db, self.numbers.claims, ours.judged_as if ours else None)

    def to_write(self, db: Database, base: str) -> dict[str, pd.DataFrame]:
        """The tables and claims that ``reproduce`` writes."""
        reproduction = self.compare(db, base)
        return {name: reproduction.tables[name] for name in self.written} | {
            "claims": claims_frame(self.judge(db, reproduction.ours))
        }
