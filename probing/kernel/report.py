"""A report is declared once, for its command, ``results.report`` and the tests; its frame in every format."""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

from probing.kernel.errors import OptionError
from probing.kernel.options import spelled
from probing.kernel.stats.intervals import may_be_shown
from probing.kernel.store.database import Database


def whole_runs(runs: pd.DataFrame, by: Sequence[str], has: Sequence[frozenset[Hashable]]) -> pd.DataFrame:
    """One run per group of equal ``by``: the newest, or an older one that has everything the newest has, and more.

    So a later, smaller run, such as one with fewer probes or without perplexity, does not hide earlier results. ``has``
    lists, per run, its contents and the data that they were computed from; ``runs`` are the newest first.
    """
    chosen: dict[Hashable, int] = {}
    for place, key in enumerate(runs[list(by)].itertuples(index=False, name=None)):
        if key not in chosen or has[place] > has[chosen[key]]:
            chosen[key] = place
    return runs.iloc[sorted(chosen.values())].reset_index(drop=True)


Form = Literal["text", "csv", "latex", "json"]
#: A table for a paper has hardly more rows.
_MANY = 40
NO_ROWS = "no rows: no stored results match"
#: How the names of results and of the ends of their intervals end.
_RESULTS = ("value", "low", "high")
#: How a cell begins that a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def objects(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Each row as an object; undefined values are null."""
    return [{str(key): _plain(value) for key, value in row.items()} for row in _with_null(table).to_dict("records")]


def as_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_csv(table: pd.DataFrame) -> str:
    """The table as CSV; text that a spreadsheet would run as a formula is preceded by an apostrophe."""
    safe = table.copy()
    for column in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[column]):
            safe[column] = [
                f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in safe[column]
            ]
    return str(safe.to_csv(index=False))


def text_table(table: pd.DataFrame, empty: str = NO_ROWS) -> str:
    """Columns as wide as their cells; ``empty`` is the line below them if there are no rows."""
    if table.empty:
        return f"{' '.join(table.columns)}\n{empty}\n"
    return f"{_cells(table).to_string(index=False)}\n"


def latex_table(table: pd.DataFrame) -> str:
    """A table for the package booktabs, its numbers to the right."""
    kinds = [pd.api.types.infer_dtype(table[name], skipna=True) for name in table]
    spec = "".join("r" if kind.startswith(("integer", "floating", "mixed-integer-float")) else "l" for kind in kinds)
    return str(_cells(table).to_latex(index=False, escape=True, column_format=spec))


def with_caption(table: pd.DataFrame, form: Form = "text") -> str:
    """Text or LaTeX, above it in a line what several rows share; results and intervals stay in their columns."""
    same = [name for name in table if table[name].nunique(dropna=False) == 1 and not name.endswith(_RESULTS)]
    same = same * (len(table) > 1 and len(same) < len(table.columns))
    shared = _cells(table[same].head(1)).to_dict("records")
    line = ", ".join(f"{name} {' '.join(cell.split()) or '-'}" for row in shared for name, cell in row.items())
    rows = table.drop(columns=same)
    if form == "text":
        return f"{line}\n" * bool(same) + text_table(rows)
    escaped = pd.DataFrame(columns=[line]).to_latex(index=False, escape=True).splitlines()[2].removesuffix(r" \\")
    return f"% \\caption{{{escaped}}}\n" * bool(same) + latex_table(rows)


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    return _with_null(table).map(_rounded)


def _with_null(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with None for missing values."""
    return table.astype(object).where(table.notna(), None)


def _plain(value: Any) -> Any:
    """A value for JSON; undefined values are null."""
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and value != value else value


def _rounded(value: Any) -> str:
    value = _plain(value)
    if value is None:
        return "-"
    return (
        f"{value:.4g}"
        if isinstance(value, float) and 0 < abs(value) < 0.001
        else f"{value:.3f}"
        if isinstance(value, float)
        else str(value)
    )


#: Columns in their order, or a function of a report's frame that names them.
Columns = tuple[str, ...] | Callable[[pd.DataFrame], Sequence[str]]
#: Calls a function whose first argument is the database with the other arguments: a page takes the result from its
#: cache.
Read = Callable[..., Any]


class Panel(NamedTuple):
    """What a figure draws, with further arguments of it; ``table`` is offered if it is more than ``rows``."""

    rows: pd.DataFrame
    options: dict[str, Any]
    table: pd.DataFrame | None = None


@dataclass(frozen=True)
class Filter:
    """A choice that the reports of a kind have: an option of their command, and an argument of ``results.report``.

    ``of`` is the type of a value, ``bool`` a switch; ``known`` has the allowed values, empty if they depend on what is
    stored, ``every`` a word that keeps all of them, as None does; ``usual`` is taken if nothing is given, None keeps
    everything; ``single``: one value instead of several, ``once``: the command takes it once; ``switches``: value ->
    line of a switch of the command that chooses it, instead of an option; ``only`` these reports have it, or all.
    """

    name: str
    help: str = ""
    of: type = str
    known: tuple[Any, ...] = ()
    every: str = ""
    usual: Any = None
    single: bool = False
    once: bool = False
    switches: Mapping[str, str] | None = None
    only: tuple[str, ...] = ()

    def value(self, given: Any, report: str) -> Any:
        """The value for a report: one value, a tuple of values, or ``usual``."""
        if self.of is bool:
            values: Any = bool(given)
        else:
            values = () if given is None else (given,) if isinstance(given, self.of) else tuple(dict.fromkeys(given))
            values = self.usual if values in ((), (self.every,)) else values[0] if self.single else values
        if values == (False if self.of is bool else self.usual):
            return values
        if self.only and report not in self.only:
            named = " and ".join(map(spelled, values if self.switches else (self.name,)))
            raise OptionError(f"got {named} with {report}; reports that have it: {', '.join(self.only)}")
        if self.known:
            refuse_unknown_words(self.name, (values,) if self.single else values, self.known)
        return values


@dataclass(frozen=True)
class Report:
    """A table of stored results in all its forms.

    ``keys`` are columns of JSON, which programs rely on, ``further`` adds the others; ``shown`` are columns of text and
    LaTeX, ``latex`` those of LaTeX if others; without any, all; what several rows share stands above them. ``rows`` are
    those of JSON, if it leaves some out, ``note`` is a line below the text, ``empty`` one instead of rows. ``needs``
    names filters that need exactly one value.
    """

    name: str
    caption: str
    table: Callable[[Database, "Choice"], pd.DataFrame]
    keys: Columns = ()
    further: bool = False
    shown: Columns = ()
    latex: Columns = ()
    csv: Columns = ()
    rows: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    note: Callable[[pd.DataFrame], str] | None = None
    empty: str = NO_ROWS
    needs: tuple[str, ...] = ()

    def json_table(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows and columns of its frame in JSON; refused if the rows would not state what distinguishes them."""
        rows = self.rows(table) if self.rows else table
        first = _columns(self.keys, rows)
        return rows[[*first, *(name for name in rows if self.further and name not in first)]].reset_index(drop=True)

    def written(self, table: pd.DataFrame, form: Form) -> str:
        if form == "json":
            return as_json(objects(self.json_table(table)))
        if form == "csv":
            return as_csv(_worded(table[_columns(self.csv, table)]))
        if form == "latex":
            return with_caption(_worded(table[_columns(self.latex or self.shown, table)]), form)
        shown = _worded(table[_columns(self.shown, table)])
        text = with_caption(shown) if len(shown) else text_table(shown, self.empty)
        return text + (self.note(table) if self.note else "")


@dataclass(frozen=True)
class Choice:
    """A report with the value of each filter of its kind, see ``Filter.value``."""

    kind: str
    report: Report
    given: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.given[name]


@dataclass(frozen=True)
class Reports:
    """The reports of a kind, which share their filters."""

    kind: str
    every: tuple[Report, ...]
    filters: tuple[Filter, ...]
    refuse: Callable[[Database, Choice], None]
    usual: bool = True
    together: tuple[str, ...] = ()
    hint: Callable[[Database, Choice], str] | None = None

    def named(self, what: str) -> Report:
        """A report by its name; refused if unknown."""
        refuse_unknown_words("what", (what,), [report.name for report in self.every])
        return next(report for report in self.every if report.name == what)

    def choose(self, what: str, options: Mapping[str, Any] | None = None) -> Choice:
        """A report by its name, with the values of filters; those that are left out keep what is usual."""
        report = self.named(what)
        values = {option.name: option.value((options or {}).get(option.name), what) for option in self.filters}
        for name in report.needs:
            if (given_of := len(values[name] or ())) != 1:
                raise OptionError(
                    f"got {given_of} values of {spelled(name)} for {what}; name exactly one ({spelled(name)})"
                )
        return Choice(self.kind, report, values)

    def table(self, db: Database, choice: Choice) -> pd.DataFrame:
        """The frame of a report of stored results; refused for a name that is not stored."""
        self.refuse(db, choice)
        return choice.report.table(db, choice)

    def written(self, db: Database, choice: Choice, form: Form) -> tuple[str, pd.DataFrame]:
        """A report in that form, and its frame."""
        table, report = self.table(db, choice), choice.report
        if form != "json" or report.name not in self.together:
            return report.written(table, form), table
        several = {report.name: report for report in self.every if report.name in self.together}
        frames = {name: table if each is report else each.table(db, choice) for name, each in several.items()}
        return as_json({name: objects(several[name].json_table(frames[name])) for name in self.together}), table

    def narrowing(self, table: pd.DataFrame) -> str:
        """Of a long table the filters whose values differ in it: "--head (tied, full)"; empty if there are none."""
        several = {option.name: table[option.name].unique() for option in self.filters if option.name in table}
        words = [
            f"{spelled(name)} ({', '.join(map(str, values))})" for name, values in several.items() if len(values) > 1
        ]
        return "; ".join(words) if len(table) > _MANY else ""


def refuse_unknown_words(option: str, values: Iterable[object] | None, known: Iterable[object]) -> None:
    """Raises an ``OptionError`` for an unknown value of an option."""
    known = tuple(known)
    if unknown := [value for value in values or () if value not in known]:
        raise OptionError(f"got {spelled(option, unknown[0])}; expected one of {', '.join(map(str, known))}")


def refuse_unstored(what: str, choice: Choice, stored: Mapping[str, Iterable[str]], how: str = "") -> None:
    """Raises an ``OptionError`` that lists the stored names for one that is not.

    ``stored`` has the names by filter; ``what`` is stored of them: "probes"; ``how`` they are chosen: " by protocol
    ours".
    """
    for name, names in stored.items():
        known = tuple(dict.fromkeys(names))
        if unknown := sorted(set(choice[name] or ()) - set(known)):
            raise OptionError(
                f"no {what} of the {name} {unknown[0]!r} are stored{how}; there are those of"
                f" {', '.join(known) or 'none'}"
            )


def _columns(columns: Columns, table: pd.DataFrame) -> list[str]:
    return list(columns(table) if callable(columns) else columns or table.columns)


def _worded(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its lists of names as words."""
    lists = [name for name in table if len(table) and isinstance(table[name].iloc[0], tuple)]
    return table.assign(**{name: table[name].map(" ".join) for name in lists})


#: Columns of reports that hold what the answers of the facts alone give, or a difference to it.
COLUMNS = tuple(
    f"{prefix}{name}{end}"
    for prefix in ("", "base_")
    for name in ("majority", "chance", "above_majority")
    for end in ("", "_low", "_high", "_low_answers", "_high_answers")
)


def shown_baselines(table: pd.DataFrame) -> pd.DataFrame:
    """The table for figures and sentences: baselines from too few facts are empty. The numbers of ``report --json``
    keep them.

    A table without the column ``n``, or any of ``COLUMNS``, is returned unchanged.
    """
    there = [name for name in COLUMNS if name in table]
    if "n" not in table or not there:
        return table
    enough = table["n"].map(may_be_shown)
    return table if enough.all() else table.assign(**{name: table[name].where(enough) for name in there})
