"""What each kind of run is: the one declaration that building, checking and sharing know of it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import duckdb
import pyarrow as pa

from probing.core.changes.run import ChangeRunConfig
from probing.core.edges.run import EdgeRunConfig
from probing.core.edges.tasks import EDGE_TASKS
from probing.core.files.share_manifest import What
from probing.core.forgetting.run import ForgettingRunConfig
from probing.core.knowledge.run import RunConfig
from probing.core.provenance import Provenance, fingerprint_problem
from probing.core.sentences.run import SentenceRunConfig
from probing.core.sentences.tasks import SENTENCE_TASKS
from probing.store.knowledge.swapped_ranks import lender_problems
from probing.store.rules import changes as change_rules
from probing.store.rules import edges as edge_rules
from probing.store.rules import forgetting as forgetting_rules
from probing.store.rules import knowledge as fact_rules
from probing.store.rules import sentences as sentence_rules
from probing.store.rules.asking import Rule, ask, asked_runs, in_memory, rules_of_rows
from probing.store.tables import changes, edges, forgetting, knowledge, sentences
from probing.store.tables.columns import Table

FACTS, EDGES, SENTENCES, CHANGES, FORGETTING = "facts", "edges", "sentences", "changes", "forgetting"


@dataclass(frozen=True)
class Kind:
    """A kind of run.

    Attributes:
        name: of the kind, in the column ``kind`` of ``runs``.
        config: class of the configuration whose fingerprint is a run's id.
        runs: the tables with one row per run; the runs of a later one have counts only.
        tables: all of its tables.
        rules: in the order in which they are asked; those of a run's row come first.
        scans: what several rules share, as ``store.rules.asking.ask`` has it.
        command: makes a run again.
        title: of several runs, in sentences.
        line: what is said of a run, with its columns and ``left_out``, ``left``, ``against`` and ``only`` in words.
        shared: what its runs are shared as, alone or with those of other kinds.
        open_tasks: built-in task -> whether its licence allows results to hold the sentences; a user's own task is none of them.
        also: finds what SQL cannot say, as (id of a run, words); None: nothing.
        of_tasks: tables of a task's data that decide whether a run of the task is complete, or what is counted of it.
    """

    name: str
    config: type[Provenance]
    runs: tuple[str, ...]
    tables: Sequence[Table]
    rules: Sequence[Rule]
    scans: Mapping[str, str]
    command: str
    title: str
    line: str
    shared: What
    of_tasks: Sequence[str] = ()
    open_tasks: Mapping[str, bool] = field(default_factory=dict)
    also: Callable[[duckdb.DuckDBPyConnection], Iterator[tuple[str, str]]] | None = None

    def incomplete(self, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
        """In a database that is being built: id of a run whose numbers would look like results -> what it lacks or has too much."""
        (schema,) = connection.execute("SELECT current_schema()").fetchall()[0]
        runs = f"SELECT * FROM {schema}.runs_of_{self.name}"
        if not connection.execute(f"{runs} LIMIT 1").fetchall():
            return {}
        asked_runs(connection, runs)
        blocking = [rule for rule in self.rules if rule.blocks]
        return {broken.subject: broken.words for broken in ask(connection, blocking, self.scans)}

    def problems(self, tables: Mapping[str, pa.Table]) -> list[str]:
        """What is wrong with rows from files, of each run, task and model the first broken rule.

        Args:
            tables: table -> its rows; of rows with one key the first counts. Tables that are not there are empty.
        """
        names = [table.name for table in self.tables]
        if not any(len(rows) for name, rows in tables.items() if name in names):
            return []
        unsigned: dict[str, str] = {}
        for table in self.runs:
            for run_id, config in _pairs(tables.get(table), "run_id", "config"):
                if problem := fingerprint_problem(run_id, config):
                    unsigned[run_id] = problem
        with in_memory(tables, names) as connection:
            asked_runs(connection, self._rows())
            found = [(broken.rule.of, broken.subject, broken.words, broken.rule.mend) for broken in ask(connection, self.rules, self.scans)]
            broken_runs = {subject for of, subject, *_ in found if of == "run"}
            for run_id, words in self.also(connection) if self.also else ():
                if run_id not in broken_runs:
                    found.append(("run", run_id, words, ""))
        again = f"delete its files and run `{self.command}` again"
        return list(unsigned.values()) + [
            f"{of} {subject}: {words}; {mend or again}" for of, subject, words, mend in found if of != "run" or subject not in unsigned
        ]

    def said(self, row: Mapping[str, Any]) -> str:
        """What a line about a run says of it, without its id and model."""
        left_out = json.loads(row["left_out"] or "{}")
        flat = [(reason, n, f" ({part})") for part, found in left_out.items() if isinstance(found, dict) for reason, n in found.items()]
        flat += [(reason, n, "") for reason, n in left_out.items() if not isinstance(n, dict)]
        left = ", ".join(f"{n:,} {reason}{part}" for reason, n, part in flat)
        words = {
            "left_out": left or "none",
            "left": f", left out {left}" if left else "",
            "against": f"against {row['base']}, " if row["base"] else "",
            "only": ", only counts" if row.get("counted") else "",
        }
        return self.line.format(**{**row, **words})

    def _rows(self) -> str:
        """SQL of the rows of all runs in tables of files; ``counted`` if only counts are stored of a run."""
        first, *others = self.runs
        known = f"SELECT run_id FROM {first}"
        return " UNION ALL ".join(
            [f"SELECT *, false AS counted FROM {first}"]
            + [f"SELECT *, true AS counted FROM {table} WHERE run_id NOT IN ({known})" for table in others]
        )


def _pairs(rows: pa.Table | None, *columns: str) -> list[tuple]:
    return [] if rows is None else list(zip(*(rows.column(name).to_pylist() for name in columns), strict=True))


def _kind(name: str, config: type[Provenance], tables: ModuleType, rules: ModuleType, **further: Any) -> Kind:
    runs = tuple(
        table.name for table in tables.TABLES if table.key == "run_id" and "config" in table.schema.names and "model" in table.schema.names
    )
    return Kind(name, config, runs, tables.TABLES, (*rules_of_rows(config, runs[0]), *rules.RULES), rules.SCANS, **further)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        _kind(
            FACTS, RunConfig, knowledge, fact_rules, command="probe", title="runs", shared="predictions", also=lender_problems,
            line="{head:<13} {probe_set:<12} {template_set:<10} read {n_read:,} = probed {n_probed:,} + left out ({left_out}){only}",
        ),
        _kind(
            EDGES, EdgeRunConfig, edges, edge_rules, command="edges train", title="probes", shared="edges",
            of_tasks=("edge_labels", "edge_targets"), open_tasks=dict.fromkeys(EDGE_TASKS, True),
            line="edges {task:<18} {kind} probes, {encoder} encoder, {labels} labels, seed {seed}",
        ),
        _kind(
            SENTENCES, SentenceRunConfig, sentences, sentence_rules, command="sentences train", title="probes of sentences",
            shared="sentences", of_tasks=("sentence_tasks",), open_tasks={name: task.open for name, task in SENTENCE_TASKS.items()},
            line="sentences {task:<22} {protocol}, seed {seed}, {n_test:,} tested{left}",
        ),
        _kind(
            CHANGES, ChangeRunConfig, changes, change_rules, command="changes measure", title="changes", shared="sentences",
            line="changes {against}{sentences:,} sentences, {blocks:,} blocks, seed {seed}",
        ),
        _kind(
            FORGETTING, ForgettingRunConfig, forgetting, forgetting_rules, command="forgetting recover", title="recoveries of lost facts",
            shared="forgetting",
            line="forgetting {against}{probe_set} {template_set}, rank <= {k}: {lost:,} of {known:,} known facts lost{left}",
        ),
    )
}  # fmt: skip
#: The tables of files with one row per run -> the kind of their runs.
RUNS_OF_FILES: dict[str, str] = {table: kind.name for kind in KINDS.values() for table in kind.runs}
