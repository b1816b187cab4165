"""What opening, checking and sharing know of a kind of run; the kinds themselves are in ``store.declared``."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa

from probing.kernel.provenance import Provenance, fingerprint_problem
from probing.kernel.store.columns import Table
from probing.kernel.store.columns_schema import TABLES
from probing.kernel.store.database import Database
from probing.kernel.store.kinds import Rule, ask, create_asked_runs, in_memory, rules_of_rows
from probing.subjects import SHARED_AS, Declared, kinds

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


def kinds_of(what: str) -> list[Kind]:
    """The kinds of runs that are shared together."""
    return [kind for subject, kind in kinds().items() if SHARED_AS[subject] == what]


#: Name -> kind of run.
KINDS = Declared[Kind](lambda: {kind.name: kind for kind in kinds().values()})
#: The tables of files with one row per run -> the kind of their runs.
RUNS_OF_FILES = Declared[str](lambda: {kind.runs: kind.name for kind in KINDS.values()})
