"""What opening, checking and sharing know of a kind of run, and rules on its rows in SQL."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa

from probing.kernel.errors import StoreError
from probing.kernel.joined import Declared, joined
from probing.kernel.provenance import Provenance, fingerprint_problem
from probing.kernel.store.columns import KEYS, SCHEMAS, TABLES, Table
from probing.kernel.store.database import THREADS, Database
from probing.kernel.text import in_short

#: The runs that are asked about, in every rule's SQL: the rows of the kind's table, with ``conf``, their configuration
#: as JSON.
ASKED = "asked_runs"
#: The number of a row; the first of several with one key counts.
_ORDER = "_row"
#: The largest table: its repeated rows are counted, and rules ask it without the best tokens.
LIGHT = "predictions"
#: Files that somebody else made must not fill the memory of a small machine.
_MEMORY = "4GB"
_JSON = "TRY_CAST(coalesce(nullif(json, ''), '{}') AS JSON)"
#: JSON of reason -> number as its sum, and of part -> reason -> number as a part's sum; null if it is none, or a number
#: is below 0.
_FUNCTIONS = (
    "are_numbers(list) AS list IS NOT NULL AND len(list_filter(list, lambda x: x IS NULL OR x < 0)) = 0",
    f"by_reason(json) AS map_values(TRY_CAST({_JSON} AS MAP(VARCHAR, BIGINT)))",
    "sum_of_reasons(json) AS CASE WHEN are_numbers(by_reason(json)) THEN coalesce(list_sum(by_reason(json)), 0) END",
    f"by_part(json) AS TRY_CAST({_JSON} AS MAP(VARCHAR, MAP(VARCHAR, BIGINT)))",
    (
        "sums_are_parts(json) AS by_part(json) IS NOT NULL AND len(list_filter(map_values(by_part(json)), "
        "lambda part: part IS NULL OR NOT are_numbers(map_values(part)))) = 0"
    ),
    (
        "sum_of_part(json, part) AS CASE WHEN sums_are_parts(json) THEN"
        " coalesce(list_sum(map_values(by_part(json)[part])), 0) END"
    ),
)


@dataclass(frozen=True)
class Rule:
    """What must not be in stored rows: SQL with a row for every break, first ``id``, the run, then what words name."""

    sql: str
    words: str


def ask(connection: duckdb.DuckDBPyConnection, rules: Sequence[Rule], scans: Mapping[str, str]) -> dict[str, str]:
    """Run -> the words of the first rule that it breaks, in the order of the rules.

    The connection has ``ASKED``, too. ``scans`` are name -> SQL of a small table that several rules share, so that a
    large table is scanned once. It is made when the first rule names it; it may name scans before it.
    """
    made: list[str] = []

    def make(sql: str) -> None:
        for name in scans:
            if name not in made and re.search(rf"\b{name}\b", sql):
                make(scans[name])
                connection.execute(f"CREATE TEMP TABLE {name} AS {scans[name]}")
                made.append(name)

    broken: dict[str, str] = {}
    try:
        for rule in rules:
            make(rule.sql)
            rows = connection.execute(f"SELECT DISTINCT ON (id) * FROM ({rule.sql}) ORDER BY ALL")
            names = [column[0] for column in rows.description or ()]
            for row in rows.fetchall():
                if str(row[0]) not in broken:
                    short = (in_short(value) if isinstance(value, str) else value for value in row)
                    broken[str(row[0])] = rule.words.format(**dict(zip(names, short, strict=True)))
    finally:
        for name in made:
            connection.execute(f"DROP TABLE {name}")
    return broken


def create_asked_runs(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Makes ``ASKED`` of the rows that some SQL gives, and the functions that read JSON for rules."""
    for function in _FUNCTIONS:
        connection.execute(f"CREATE OR REPLACE TEMP MACRO {function}")
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW {ASKED} AS SELECT *, TRY_CAST(config AS JSON) AS conf FROM ({sql})"
    )


@cache
def _instance() -> duckdb.DuckDBPyConnection:
    """The process's database in memory. All that rules make is temporary, so each of its connections has its own.

    It takes 20 milliseconds to make, and a connection to it takes a hundredth of one.
    """
    return duckdb.connect(
        config={
            "enable_external_access": "false",
            "python_enable_replacements": "false",
            "threads": THREADS,
            "memory_limit": _MEMORY,
        }
    )


@contextmanager
def in_memory(tables: Mapping[str, pa.Table], names: Collection[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with some tables, also those without rows; of rows with one key the first counts."""
    with _instance().cursor() as connection:
        try:
            for name in names:
                rows, key = tables.get(name, light(name, SCHEMAS[name].empty_table())), list(KEYS[name])
                if name != LIGHT and rows.group_by(key).aggregate([]).num_rows < rows.num_rows:
                    numbered = rows.append_column(_ORDER, pa.array(range(len(rows)), pa.int64()))
                    connection.register("incoming", numbered)
                    by = ", ".join(key)
                    connection.execute(
                        f"CREATE TEMP TABLE {name} AS SELECT * EXCLUDE {_ORDER} "
                        f"FROM (SELECT DISTINCT ON ({by}) * FROM incoming ORDER BY {by}, {_ORDER})"
                    )
                    connection.unregister("incoming")
                else:
                    connection.register(name, rows)
            yield connection
        except duckdb.OutOfMemoryException as error:
            raise StoreError(
                f"checking these runs takes more memory than there is: {str(error).splitlines()[0]}"
            ) from error


def light(table: str, rows: pa.Table) -> pa.Table:
    """The rows as rules ask them: predictions without their best tokens, nine tenths of the memory."""
    return rows.drop_columns(["top_ids", "top_logp"]) if table == LIGHT else rows


def rules_of_rows(tables: Sequence[str]) -> tuple[Rule, ...]:
    """The rules on the rows of a run of any kind."""
    counts = Rule(
        f"SELECT run_id AS id, left_out FROM {ASKED} WHERE sum_of_reasons(left_out) IS NULL AND NOT"
        " sums_are_parts(left_out)",
        "left_out is not JSON of reason -> count: {left_out!r}",
    )
    strays = (
        Rule(
            f"SELECT DISTINCT run_id AS id FROM {table} ANTI JOIN {ASKED} USING (run_id)",
            f"has rows of {table} but its own row is missing",
        )
        for table in tables
    )
    return (counts, *strays)


#: The kind of runs on facts, whose queries name the runs that they read.
FACTS = "facts"


@dataclass(frozen=True)
class Kind:
    """A kind of run; ``config`` is the class of the configuration whose fingerprint is a run's id."""

    name: str
    config: type[Provenance]
    tables: Sequence[Table]
    #: In the order in which they are asked; those of every kind are put first.
    rules: Sequence[Rule]
    #: As ``kernel.store.kinds.ask`` has it.
    scans: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    command: str
    title: str
    #: Said of a run, with its columns and ``left_out``, ``left``, ``against`` and ``only`` in words.
    line: str
    #: Gives its runs with the columns of their files and of their provenance, in the order of lists.
    listed: Callable[[Database], pd.DataFrame]
    about: str | None = ""
    #: Gives the rows of further tables that are counted of a run's; None: nothing is.
    counts: Callable[[Mapping[str, pa.Table]], dict[str, pa.Table]] | None = None
    #: The tables that it needs besides the run's row.
    counted_from: Sequence[str] = ()
    #: The tables that have rows of every run; a run without is left out.
    needs: Sequence[str] = ()
    #: Whether the licence of a built-in task allows results to hold the sentences; own tasks are not in it.
    open_tasks: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        of_runs = [table.name for table in self.tables if table.per == "run_id" and table.key != "run_id"]
        object.__setattr__(self, "rules", (*rules_of_rows(of_runs), *self.rules))

    @property
    def runs(self) -> str:
        """The table with one row per run."""
        return next(
            table.name
            for table in self.tables
            if table.key == "run_id" and {"config", "model"} <= set(table.schema.names)
        )

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of a table of runs is a run of this kind."""
        return set(row) == set(TABLES[self.runs].schema.names)

    def problems(self, tables: Mapping[str, pa.Table]) -> list[str]:
        """What is wrong with rows from files, of each run the first broken rule; of equal keys the first row counts."""
        names = [table.name for table in self.tables]
        if not any(len(rows) for name, rows in tables.items() if name in names):
            return []
        runs = tables[self.runs].select(["run_id", "config"]).to_pylist() if self.runs in tables else []
        unsigned = {run["run_id"]: problem for run in runs if (problem := fingerprint_problem(**run))}
        with in_memory(tables, names) as connection:
            create_asked_runs(connection, f"SELECT * FROM {self.runs}")
            broken = ask(connection, self.rules, self.scans)
        again = f"delete its files and run `{self.command}` again"
        return list(unsigned.values()) + [
            f"run {run_id}: {words}; {again}" for run_id, words in broken.items() if run_id not in unsigned
        ]

    def describe(self, row: Mapping[str, Any]) -> str:
        """What a line about a run says of it, without its id and model."""
        left_out = json.loads(row["left_out"] or "{}")
        flat = [
            (reason, n, f" ({part})")
            for part, counts in left_out.items()
            if isinstance(counts, dict)
            for reason, n in counts.items()
        ]
        flat += [(reason, n, "") for reason, n in left_out.items() if not isinstance(n, dict)]
        left = ", ".join(f"{n:,} {reason}{part}" for reason, n, part in flat)
        words = {
            "left_out": left or "none",
            "left": f", left out {left}" if left else "",
            "against": f"against {row['base']}, " if row["base"] else "",
            "only": ", only counts" if row.get("counted") else "",
        }
        return self.line.format(**{**row, **words})


#: Name -> kind of run.
KINDS = Declared[Kind](lambda: joined("subjects").kinds())
#: The tables of files with one row per run -> the kind of their runs.
RUNS_OF_FILES = Declared[str](lambda: {kind.runs: kind.name for kind in KINDS.values()})
