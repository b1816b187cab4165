"""When a run is complete: one rule for building a database, checking a store, and sharing runs."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

#: Table of a counted run's facts -> what its counts are grouped by; each group holds every fact of the run once.
COUNTS: dict[str, tuple[str, ...]] = {"layer_counts": ("layer",), "total_counts": (), "against_counts": ("layer", "k")}


@dataclass(frozen=True)
class Counted:
    """Numbers of a run's predictions.

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
    """What a run needs to be complete, as numbers; it is complete if all are as expected."""

    expected: int
    layers: int
    counted: Counted

    @property
    def complete(self) -> bool:
        """Whether the run is complete."""
        return not self.wrong_number and not self.counted.repeated and not self.counted.strange_facts

    @property
    def wrong_number(self) -> bool:
        """Whether there are fewer or more predictions than the run's row announces."""
        return self.counted.rows != self.expected


def lack(run: Mapping[str, Any], counted: Counted) -> Lack:
    """Compares a run's predictions with its row.

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
    """Run id -> the numbers of its predictions.

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
    """Run id -> the numbers of its predictions, from the tables ``predictions`` and ``facts``; for up to 64 layers."""
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


def lacking_counts(
    runs: Iterable[Mapping[str, Any]], counts: Mapping[str, pa.Table], relations: Collection[tuple[str, str]]
) -> dict[str, str]:
    """Id of a counted run that is not complete -> what its counts lack or have too much.

    A counted run is complete when its counts sum to ``n_probed`` facts: at each of its layers, over all of them, and at each inner layer
    and the last. A replicate may have its last layer only.

    Args:
        runs: run_id, role, probe_set, layers and n_probed.
        counts: the rows of ``COUNTS``.
        relations: (probe set, relation) of the stored facts.
    """
    found = {table: _facts_counted(rows, COUNTS[table]) for table, rows in counts.items()}
    asked: dict[str, set[str]] = defaultdict(set)
    for row in counts["layer_counts"].group_by(["run_id", "relation"]).aggregate([]).to_pylist() if counts else ():
        asked[row["run_id"]].add(row["relation"])
    problems: dict[str, str] = {}
    for run in runs:
        run_id, last = run["run_id"], run["layers"] - 1
        first = last if run["role"] == "replicate" and set(found["layer_counts"][run_id]) == {(last,)} else 0
        groups: dict[str, list[tuple[int, ...]]] = {
            "layer_counts": [(layer,) for layer in range(first, last + 1)],
            "total_counts": [()],
            "against_counts": [(layer, k) for layer in range(max(first, 1), last) for k in (1, 10, 100)],
        }
        for table, expected in groups.items():
            got = found[table][run_id]
            for group in sorted({*expected, *got}):
                n, wanted = got.get(group, 0), run["n_probed"] if group in expected else 0
                if n != wanted:
                    at = "".join(f", {name} {value}" for name, value in zip(COUNTS[table], group, strict=True))
                    problems.setdefault(run_id, f"{table}{at}: counts of {n:,} facts, expected {wanted:,}; make its counts again")
        if strange := {name for name in asked[run_id] if (run["probe_set"], name) not in relations}:
            problems.setdefault(run_id, f"no facts file has the relation {min(strange)} of its counts")
    return problems


def _facts_counted(rows: pa.Table, apart: tuple[str, ...]) -> dict[str, dict[tuple[int, ...], int]]:
    """Run id -> group -> number of facts in it."""
    parts = ("n",) if "n" in rows.column_names else ("both", "inner_only", "last_only", "neither")
    found: dict[str, dict[tuple[int, ...], int]] = defaultdict(dict)
    for row in rows.group_by(["run_id", *apart]).aggregate([(part, "sum") for part in parts]).to_pylist():
        found[row["run_id"]][tuple(row[name] for name in apart)] = sum(row[f"{part}_sum"] for part in parts)
    return found


def _by_run(table: pa.Table, counts: list[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    return {row["run_id"]: row for row in table.group_by("run_id").aggregate(counts).to_pylist()}
