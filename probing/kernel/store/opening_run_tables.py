"""The tables of runs that queries see: the columns of all runs, separate from those that only runs on facts have.

A run exists once its row in the table of its kind does. ``runs`` has kind and provenance of all runs, ``fact_runs`` the
columns about facts, and the view ``runs_of_facts`` both; ``counted`` means that no predictions of the run are stored.
Runs of every other kind keep the table of their files, and ``runs_of_KIND`` adds the provenance.
"""

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa

from probing.kernel.provenance import Provenance, stored_provenance
from probing.kernel.store.columns_schema import SCHEMAS, SORT
from probing.kernel.store.kinds_kinds import FACTS, KINDS

_PROVENANCE = {
    name: pa.int64() if field.annotation is int else pa.string() for name, field in Provenance.model_fields.items()
}
#: Kind and provenance of a run; values that its configuration lacks are empty.
_RUNS = pa.schema(
    [("run_id", pa.string()), ("kind", pa.string()), *_PROVENANCE.items()]
    + [(name, pa.string()) for name in ("device", "created", "config")]
)


def create_run_tables(connection: duckdb.DuckDBPyConnection, rows: Mapping[str, pa.Table], whole: set[str]) -> None:
    """Makes the tables and views of runs from rows by kind; ``whole`` are ids of runs with stored predictions."""
    all_runs = [_run(row, kind) for kind, runs in rows.items() for row in runs.to_pylist()]
    _create(connection, "runs", pa.Table.from_pylist(all_runs, schema=_RUNS), ("model", "kind", "seed", "run_id"))
    of_facts = rows[FACTS]
    counted = pa.array([run_id not in whole for run_id in of_facts.column("run_id").to_pylist()], pa.bool_())
    columns = [name for name in SCHEMAS["runs"].names if name == "run_id" or name not in _RUNS.names]
    _create(
        connection,
        "fact_runs",
        of_facts.select(columns).append_column("counted", counted),
        (*SORT["runs"][1:4], "run_id"),
    )
    connection.execute("CREATE VIEW runs_of_facts AS SELECT * FROM runs JOIN fact_runs USING (run_id)")
    for kind, table in ((kind.name, kind.runs) for kind in KINDS.values() if kind.name != FACTS):
        _create(connection, table, rows[kind], SORT[table])
        provenance = ", ".join(f"r.{name}" for name in _RUNS.names if name not in SCHEMAS[table].names)
        connection.execute(
            f"CREATE VIEW runs_of_{kind} AS SELECT e.*, {provenance} FROM runs r JOIN {table} e ON e.run_id = r.run_id"
        )


def _create(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table, order: tuple[str, ...]) -> None:
    connection.register("incoming", rows)
    connection.execute(f"CREATE TABLE {table} AS SELECT * FROM incoming ORDER BY {', '.join(order)}")
    connection.unregister("incoming")


def _run(row: dict[str, Any], kind: str) -> dict[str, Any]:
    origin = {name: value for name, value in stored_provenance(row["config"]).items() if _is(value, _PROVENANCE[name])}
    return origin | {name: value for name, value in row.items() if name in _RUNS.names} | {"kind": kind}


def _is(value: Any, kind: pa.DataType) -> bool:
    return isinstance(value, str if kind == pa.string() else int)
