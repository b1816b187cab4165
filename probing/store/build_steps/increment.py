"""A new database from a copy of the old one: only new runs, and runs that new rows affect, are counted.

What is new is loaded and counted in a separate schema, by the same statements as in a full build, and then replaces the copy's
rows. This is right as long as every table that is not read from one file holds rows by run, and the rows of a run depend on few
things. A run on facts depends only on its row, its predictions, the facts of its relations, its vocabulary and its base's exposure. A
run of edge probing or of sentence-level probing depends only on its own files and its task's data, a run of changes on its own files.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from probing.core.errors import ImpossibleValuesError, SchemaVersionError
from probing.store.kinds import KINDS, RUNS_OF_FILES
from probing.store.parquet import read_table
from probing.store.run_tables import RUN_TABLES, drop_runs
from probing.store.schema import SCHEMAS, rows_table
from probing.store.sources import SourceFile

_NEW = "addition"
#: The files that a database was made from, with the runs in files of predictions, and the reason why a file was left out.
_FILES = pa.schema(
    [(name, pa.string()) for name in ("table_name", "name", "sha256", "left_out")]
    + [("source", pa.int64()), ("run_ids", pa.list_(pa.string()))]
)


def _whole() -> list[str]:
    """The tables that are small enough to be read from all files if one of these is new."""
    return [table for table in SCHEMAS if table not in ("runs", "predictions")]


class UnusualError(Exception):
    """More than additions happened to the files, so only a full build is certain to be right."""


@dataclass
class Notes:
    """What a build learns about its files.

    Attributes:
        runs_of: sha256 -> ids of the runs in it.
        left_out: (source, name) -> why the file was left out.
        failing: run id -> why no database can be made with it.
        warnings: a sentence for each file and run that is left out.
        unchanged: the tables that are not read again.
    """

    runs_of: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[tuple[int, str], str] = field(default_factory=dict)
    failing: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unchanged: set[str] = field(default_factory=set)

    def leave_out(self, file: SourceFile, why: str) -> None:
        """Notes why a file is not in the database."""
        self.left_out[file.source, file.name] = why
        self.warnings.append(f"left out of the database: {why}")

    def leave_out_failing(self, file: SourceFile, runs: Iterable[str]) -> None:
        """Notes a file of runs as left out if one of them fails; the words are for pages, too, so they name no folder."""
        for run_id in sorted(self.failing.keys() & set(runs)):
            self.leave_out(
                file,
                f"{file.name}: the run {run_id} cannot be counted ({self.failing[run_id]}); delete the files that have {run_id} in "
                "their name, or make or pull the run again",
            )


def note_files(connection: duckdb.DuckDBPyConnection, files: Sequence[SourceFile], notes: Notes) -> None:
    """Makes the table ``files``."""
    rows = [
        {
            "table_name": file.table,
            "name": file.name,
            "sha256": file.sha256,
            "left_out": notes.left_out.get((file.source, file.name)),
            "source": file.source,
            "run_ids": notes.runs_of.get(file.sha256),
        }
        for file in files
    ]
    connection.register("incoming", pa.Table.from_pylist(rows, schema=_FILES))
    connection.execute("CREATE OR REPLACE TABLE files AS SELECT * FROM incoming")
    connection.unregister("incoming")
    connection.execute("CREATE OR REPLACE TABLE failing_runs (run_id VARCHAR, why VARCHAR)")
    for run_id, why in sorted(notes.failing.items()):
        connection.execute("INSERT INTO failing_runs VALUES (?, ?)", [run_id, why])


def known_failing(connection: duckdb.DuckDBPyConnection, files: Sequence[SourceFile]) -> dict[str, str]:
    """The runs that the old database was made without; none if one of its files is gone or changed, as they may then succeed."""
    old = set(connection.execute("SELECT source, name, sha256 FROM main.files").fetchall())
    if old - {(file.source, file.name, file.sha256) for file in files}:
        return {}
    return dict(connection.execute("SELECT run_id, why FROM main.failing_runs").fetchall())


def begin(connection: duckdb.DuckDBPyConnection, files: Sequence[SourceFile]) -> set[str]:
    """From here on every table that is made or named belongs to the addition.

    Returns:
        The tables whose files are those of the old database; the addition reads them there. Tables with a row per run are never among
        them, as the old database lacks the rows of runs that were left out.
    """
    found = connection.execute("SELECT table_name, source, name, sha256, left_out FROM main.files").fetchall()
    old = {table: {file[1:] for file in found if file[0] == table} for table in _whole()}
    new = {table: {(file.source, file.name, file.sha256, None) for file in files if file.table == table} for table in _whole()}
    unchanged = {table for table in _whole() if table not in RUNS_OF_FILES and old[table] == new[table]}
    connection.execute(f"CREATE SCHEMA {_NEW}")
    connection.execute(f"SET schema = '{_NEW}'")
    for table in unchanged:
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM main.{table}")
    return unchanged


def new_predictions(connection: duckdb.DuckDBPyConnection, files: Sequence[SourceFile], notes: Notes) -> list[SourceFile]:
    """Keeps in the addition's tables only the runs that must be counted, and gives the files of predictions that hold them.

    All other tables of the addition are loaded already.

    Raises:
        UnusualError: if rows or files of the old database are gone or changed, or most runs must be counted again.
    """
    fresh = _fresh(connection, files, notes)
    done = _ids(connection, "SELECT run_id FROM main.runs")
    if done - _ids(connection, "SELECT run_id FROM runs"):
        raise UnusualError("a run is gone")
    if again := done & {run_id for file in fresh for run_id in notes.runs_of.get(file.sha256, ())}:
        raise UnusualError(f"a new file holds predictions of the run {min(again)}, which is there already")
    touched = _touched(connection, notes.unchanged)
    if len(touched) * 2 > len(done):
        raise UnusualError(f"{len(touched)} of {len(done)} runs must be counted again")
    counted = touched | (_ids(connection, "SELECT run_id FROM runs") - done)
    connection.execute("CREATE TEMP TABLE counted AS SELECT unnest(?::VARCHAR[]) AS run_id", [sorted(counted)])
    drop_runs(connection, "run_id NOT IN (SELECT run_id FROM counted)", [])
    return [file for file in files if counted.intersection(notes.runs_of.get(file.sha256, ()))]


def _fresh(connection: duckdb.DuckDBPyConnection, files: Sequence[SourceFile], notes: Notes) -> list[SourceFile]:
    """The files of predictions that the old database was not made from; notes the runs of all."""
    found = connection.execute("SELECT source, name, sha256, run_ids, left_out FROM main.files WHERE table_name = 'predictions'").fetchall()
    old = {(source, name, sha256) for source, name, sha256, _, _ in found}
    if gone := old - {(file.source, file.name, file.sha256) for file in files}:
        raise UnusualError(f"{min(gone)} is gone or changed")
    notes.runs_of.update({sha256: run_ids for _, _, sha256, run_ids, _ in found if run_ids is not None})
    notes.left_out.update({(source, name): why for source, name, _, _, why in found if why is not None})
    fresh = [file for file in files if (file.source, file.name, file.sha256) not in old]
    for file in fresh:
        if file.sha256 not in notes.runs_of:
            try:
                runs = read_table(file.path, "predictions", ["run_id"]).column("run_id")
            except (SchemaVersionError, ImpossibleValuesError) as error:
                notes.leave_out(file, str(error))
            else:
                notes.runs_of[file.sha256] = pc.unique(runs).to_pylist()
    return fresh


def _touched(connection: duckdb.DuckDBPyConnection, unchanged: Collection[str]) -> set[str]:
    """The runs of the old database whose counts may change with what is new, in the tables that are not unchanged."""
    if connection.execute("SELECT 1 FROM (SELECT * FROM main.facts EXCEPT SELECT * FROM facts) LIMIT 1").fetchone():
        raise UnusualError("facts are gone or changed")
    of_tables = {
        "vocabulary": "SELECT run_id FROM main.fact_runs WHERE tokenizer IN (SELECT tokenizer FROM {differing})",
        "exposure": "SELECT run_id FROM main.runs WHERE coalesce(nullif(base, ''), model) IN (SELECT model FROM {differing})",
    }
    for kind in KINDS.values():
        of_kind = f"SELECT run_id FROM main.{kind.runs[0]} WHERE task IN (SELECT task FROM {{differing}})"
        of_tables |= dict.fromkeys(kind.of_tasks, of_kind)
    of_runs = [table for table in _whole() if "run_id" in SCHEMAS[table].names]
    of_tables |= dict.fromkeys(of_runs, "SELECT run_id FROM {differing} WHERE run_id IN (SELECT run_id FROM main.runs)")
    whys = [
        *(f"SELECT run_id FROM (SELECT * FROM main.{table} EXCEPT SELECT * FROM {table})" for table in RUN_TABLES),
        # The relation's other answers are counted, too.
        "SELECT DISTINCT k.run_id FROM main.known k JOIN main.facts f ON f.fact_id = k.fact_id WHERE (f.probe_set, f.relation) "
        "IN (SELECT (probe_set, relation) FROM (SELECT * FROM facts EXCEPT SELECT * FROM main.facts))",
        *(why.format(differing=_differing(table)) for table, why in of_tables.items() if table not in unchanged),
    ]
    # One statement at a time: together, their hash tables need more memory than a build has.
    return set().union(*(_ids(connection, why) for why in whys))


def _differing(table: str) -> str:
    """SQL of the rows that only one of the two databases has."""
    return (
        f"((SELECT * FROM main.{table} EXCEPT SELECT * FROM {_NEW}.{table}) "
        f"UNION ALL (SELECT * FROM {_NEW}.{table} EXCEPT SELECT * FROM main.{table}))"
    )


def merge(connection: duckdb.DuckDBPyConnection, unchanged: Collection[str]) -> None:
    """Replaces the old rows by the addition: entire tables if they are read from all files, else run by run."""
    counted = "(SELECT run_id FROM counted)"
    for table in _whole():
        if table not in unchanged and connection.execute(f"SELECT 1 FROM {_differing(table)} LIMIT 1").fetchone():
            rows = rows_table(table)
            connection.execute(f"CREATE OR REPLACE TABLE main.{rows} AS SELECT * FROM {_NEW}.{rows}")
    for table, (_, order) in RUN_TABLES.items():
        connection.execute(
            f"CREATE OR REPLACE TABLE main.{table} AS SELECT * FROM (SELECT * FROM main.{table} WHERE run_id NOT IN {counted} "
            f"UNION ALL SELECT * FROM {_NEW}.{table}) ORDER BY {', '.join(order)}"
        )
    made = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = ? ORDER BY table_name", [_NEW]).fetchall()
    for (table,) in made:
        if table not in (*map(rows_table, _whole()), *RUN_TABLES):
            connection.execute(f"DELETE FROM main.{table} WHERE run_id IN {counted}")
            connection.execute(f"INSERT INTO main.{table} SELECT * FROM {_NEW}.{table}")
    connection.execute("SET schema = 'main'")
    connection.execute(f"DROP SCHEMA {_NEW} CASCADE")


def _ids(connection: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    return {run_id for (run_id,) in connection.execute(sql).fetchall()}
