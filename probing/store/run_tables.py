"""Runs in the database: the columns of all runs, separate from those that only runs on facts have.

In Parquet a run is one row of one file, because a run exists once its row does; the file's table depends on the kind of run, ``runs`` for
runs on facts. The database splits the row: ``runs`` has kind and provenance of all runs, ``fact_runs`` the columns about facts, and the
view ``runs_of_facts`` both. ``fact_runs.counted`` means that the row is of ``counted_runs``: only counts of such a run are stored, no
predictions. Runs of every other kind keep the table of their files, and the view ``runs_of_KIND`` adds the provenance.
"""

from collections.abc import Collection
from typing import Any

import duckdb
import pyarrow as pa

from probing.core.capabilities.registry import Declared
from probing.core.provenance import Provenance, stored_provenance
from probing.store.kinds import FACTS, KINDS, RUNS_OF_FILES
from probing.store.schema import SCHEMAS, create_statement, rows_table

_PROVENANCE = {name: pa.int64() if field.annotation is int else pa.string() for name, field in Provenance.model_fields.items()}
#: Kind and provenance of a run; values that its configuration lacks are empty.
_RUNS = pa.schema(
    [("run_id", pa.string()), ("kind", pa.string()), *_PROVENANCE.items()]
    + [(name, pa.string()) for name in ("device", "created", "config")]
)
_ABOUT_FACTS = [field for field in SCHEMAS["runs"] if field.name == "run_id" or field.name not in _RUNS.names]
_FACT_RUNS = pa.schema([*_ABOUT_FACTS, ("counted", pa.bool_())])
#: Table of the database -> its columns, and the order of its rows.
RUN_TABLES: dict[str, tuple[pa.Schema, tuple[str, ...]]] = {
    "runs": (_RUNS, ("model", "kind", "seed", "run_id")),
    "fact_runs": (_FACT_RUNS, ("probe_set", "head", "template_set", "run_id")),
}
#: The rows of ``runs`` as in the files, while a database is filled.
STORED = "stored_runs"
#: Kind of run -> its table of files, of those that are not on facts.
_OF_KIND = Declared[str](lambda: {name: kind.runs[0] for name, kind in KINDS.items() if name != FACTS})


def create_run_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the empty tables and the views in the current schema, and a temporary table for the rows of the files.

    The tables that keep the columns of their files exist already.
    """
    (schema,) = connection.execute("SELECT current_schema()").fetchall()[0]
    for table, (columns, _) in RUN_TABLES.items():
        connection.execute(create_statement(table, columns))
    connection.execute(create_statement(STORED, SCHEMAS["runs"], temporary=True))
    of_facts = ", ".join(f"f.{name}" for name in _FACT_RUNS.names if name != "run_id")
    connection.execute(
        f"CREATE VIEW runs_of_facts AS SELECT r.*, {of_facts} FROM {schema}.runs r JOIN {schema}.fact_runs f ON f.run_id = r.run_id"
    )
    for kind, table in _OF_KIND.items():
        provenance = ", ".join(f"r.{name}" for name in _RUNS.names if name not in SCHEMAS[table].names)
        connection.execute(
            f"CREATE VIEW runs_of_{kind} AS SELECT e.*, {provenance} FROM {schema}.runs r JOIN {schema}.{table} e ON e.run_id = r.run_id"
        )


def part_runs(connection: duckdb.DuckDBPyConnection) -> None:
    """Fills the tables from the rows of the files: a run with predictions from its own row, whatever is counted of it."""

    def rows_of(sql: str) -> list[dict[str, Any]]:
        found = connection.execute(sql)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    rows = rows_of(f"""
        SELECT *, false AS counted FROM {STORED}
        UNION ALL SELECT *, true FROM counted_runs WHERE run_id NOT IN (SELECT run_id FROM {STORED})
    """)
    others = {kind: rows_of(f"SELECT * FROM {table}") for kind, table in _OF_KIND.items()}
    parts = {
        "runs": [_run(row, kind) for kind, found in ({FACTS: rows} | others).items() for row in found],
        "fact_runs": [{name: row[name] for name in _FACT_RUNS.names} for row in rows],
    }
    for table, (columns, order) in RUN_TABLES.items():
        connection.register("incoming", pa.Table.from_pylist(parts[table], schema=columns))
        connection.execute(f"INSERT INTO {table} SELECT * FROM incoming ORDER BY {', '.join(order)}")
        connection.unregister("incoming")


def leave_out_unread(connection: duckdb.DuckDBPyConnection, runs: Collection[str]) -> None:
    """Removes runs before anything is made of their rows; the rows of their files then belong to no run."""
    for table in (STORED, *(name for name in RUNS_OF_FILES if name != "runs")) if runs else ():
        connection.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT unnest(?::VARCHAR[]))", [sorted(runs)])


def drop_runs(connection: duckdb.DuckDBPyConnection, condition: str, values: list[Any]) -> None:
    """Removes the runs whose ``run_id`` fulfils the condition."""
    for table in RUN_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE {condition}", values)


def leave_out_incomplete(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Removes the runs of all kinds that are not complete: their numbers would look like results.

    Returns:
        A sentence for each run.
    """
    said = []
    for kind in KINDS.values():
        for run_id, problem in sorted(kind.incomplete(connection).items()):
            for table in (rows_table("predictions"), *RUN_TABLES) if kind.name == FACTS else ("runs", *kind.runs):
                connection.execute(f"DELETE FROM {table} WHERE run_id = ?", [run_id])
            advice = "`python -m probing check` reports what is wrong"
            said.append(f"run {run_id} is left out of the database: {problem}; {advice}")
    return said


def _run(row: dict[str, Any], kind: str) -> dict[str, Any]:
    said = {name: value for name, value in stored_provenance(row["config"]).items() if _is(value, _PROVENANCE[name])}
    return said | {name: value for name, value in row.items() if name in _RUNS.names} | {"kind": kind}


def _is(value: Any, kind: pa.DataType) -> bool:
    return isinstance(value, str if kind == pa.string() else int)
