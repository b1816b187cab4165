"""When a run is complete: one rule for building a database, checking a store, and sharing runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Counted:
    """What the predictions of a run are.

    Attributes:
        rows: how many there are.
        repeated: how many are of a fact and layer that came before.
        strange_facts: how many of their facts are not stored.
        first_layer: the lowest layer; None without rows.
    """

    rows: int = 0
    repeated: int = 0
    strange_facts: int = 0
    first_layer: int | None = None


@dataclass(frozen=True)
class Lack:
    """What a run wants to be complete, as numbers; complete where all are as expected."""

    expected: int
    layers: int
    counted: Counted

    @property
    def complete(self) -> bool:
        """Whether the run counts."""
        return not self.wrong_number and not self.counted.repeated and not self.counted.strange_facts

    @property
    def wrong_number(self) -> bool:
        """Whether there are fewer or more predictions than the run's row announces."""
        return self.counted.rows != self.expected


def lack(run: Mapping[str, Any], counted: Counted) -> Lack:
    """Holds a run's predictions against its row.

    A run is complete with one prediction for each of its ``n_probed`` facts at each of its layers, all facts stored. A replicate may
    have its last layer only.

    Args:
        run: role, layers and n_probed.
        counted: its predictions.
    """
    last_only = run["role"] == "replicate" and counted.first_layer == run["layers"] - 1
    layers = 1 if last_only else run["layers"]
    return Lack(run["n_probed"] * layers, layers, counted)


def announced_rows(run: Mapping[str, Any]) -> tuple[int, ...]:
    """Every number of predictions with which a run may be complete."""
    ways = (lack(run, Counted(first_layer=layer)).expected for layer in (0, run["layers"] - 1))
    return tuple(dict.fromkeys(ways))


def counted_in_tables(predictions: pa.Table, facts: pa.Array | pa.ChunkedArray) -> dict[str, Counted]:
    """Run id -> what its predictions are.

    Args:
        predictions: with run_id, fact_id and layer.
        facts: ids of the stored facts.
    """
    known = predictions.append_column("known", pc.is_in(predictions.column("fact_id"), value_set=facts))
    distinct = _by_run(known.group_by(["run_id", "fact_id", "layer"]).aggregate([]), [("fact_id", "count")])
    strange = _by_run(known.filter(pc.invert(known.column("known"))), [("fact_id", "count_distinct")])
    return {
        run_id: Counted(
            row["fact_id_count"],
            row["fact_id_count"] - distinct[run_id]["fact_id_count"],
            strange[run_id]["fact_id_count_distinct"] if run_id in strange else 0,
            row["layer_min"],
        )
        for run_id, row in _by_run(known, [("fact_id", "count"), ("layer", "min")]).items()
    }


def counted_in_database(connection: duckdb.DuckDBPyConnection) -> dict[str, Counted]:
    """Run id -> what its predictions are, from the tables ``predictions`` and ``facts``; for up to 64 layers."""
    rows = connection.execute("""
        WITH per_fact AS (
            SELECT run_id, fact_id, count(*) AS n, min(layer) AS first_layer,
                bit_count(bit_or(CASE WHEN layer < 64 THEN 1::UBIGINT << layer::UBIGINT END)) AS layers
            FROM predictions GROUP BY run_id, fact_id
        )
        SELECT q.run_id, sum(q.n)::BIGINT, sum(q.n - coalesce(q.layers, 0))::BIGINT, count(*) FILTER (f.fact_id IS NULL), min(q.first_layer)
        FROM per_fact q LEFT JOIN facts f ON f.fact_id = q.fact_id GROUP BY q.run_id
    """).fetchall()
    return {run_id: Counted(*numbers) for run_id, *numbers in rows}


def _by_run(table: pa.Table, counts: list[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    return {row["run_id"]: row for row in table.group_by("run_id").aggregate(counts).to_pylist()}
