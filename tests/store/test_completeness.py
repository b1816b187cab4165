"""One rule for when a run is complete, counted in tables and in SQL."""

from collections.abc import Callable

import duckdb
import pyarrow as pa
import pytest

from probing.store.completeness import Counted, announced_rows, counted_in_database, counted_in_tables, lack

ONE, TWO = "one", "two"
RUN = {"role": "primary", "layers": 3, "n_probed": 2}
REPLICATE = RUN | {"role": "replicate"}
WHOLE = [(fact, layer) for layer in range(3) for fact in (ONE, TWO)]
Rows = list[tuple[str, int]]
CASES: dict[str, tuple[dict, Rows, bool]] = {
    "whole": (RUN, WHOLE, True),
    "a replicate of all layers": (REPLICATE, WHOLE, True),
    "a replicate of its last layer": (REPLICATE, WHOLE[4:], True),
    "nothing": (RUN, [], False),
    "a row is missing": (RUN, WHOLE[1:], False),
    "a row too many": (RUN, [*WHOLE, (ONE, 3)], False),
    "a row twice, another missing": (RUN, [*WHOLE[1:], WHOLE[1]], False),
    "the last layer only": (RUN, WHOLE[4:], False),
    "a replicate of its first layer": (REPLICATE, WHOLE[:2], False),
    "a fact that is not stored": (RUN, [(fact.replace(TWO, "three"), layer) for fact, layer in WHOLE], False),
    "layers beyond those that are counted": (RUN, [(fact, 70 + layer) for fact, layer in [*WHOLE[:4], WHOLE[3], WHOLE[3]]], False),
}


def in_tables(rows: Rows) -> dict[str, Counted]:
    schema = pa.schema([("run_id", pa.string()), ("fact_id", pa.string()), ("layer", pa.uint8())])
    table = pa.Table.from_pylist([{"run_id": "a", "fact_id": fact, "layer": layer} for fact, layer in rows], schema=schema)
    return counted_in_tables(table, pa.array([ONE, TWO]))


def in_database(rows: Rows) -> dict[str, Counted]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE predictions (run_id VARCHAR, fact_id VARCHAR, layer UTINYINT)")
        connection.execute("CREATE TABLE facts AS SELECT unnest(?::VARCHAR[]) AS fact_id", [[ONE, TWO]])
        for fact, layer in rows:
            connection.execute("INSERT INTO predictions VALUES ('a', ?, ?)", [fact, layer])
        return counted_in_database(connection)


@pytest.mark.parametrize("count", [in_tables, in_database], ids=["in tables", "in the database"])
@pytest.mark.parametrize("case", CASES)
def test_a_run_is_complete_with_one_prediction_of_each_fact_at_each_layer(case: str, count: Callable[[Rows], dict[str, Counted]]):
    run, rows, complete = CASES[case]
    assert lack(run, count(rows).get("a", Counted())).complete is complete


@pytest.mark.parametrize("case", [case for case in CASES if "beyond" not in case])
def test_tables_and_sql_count_alike(case: str):
    assert in_tables(CASES[case][1]) == in_database(CASES[case][1])


def test_what_a_row_announces_is_what_may_be_complete():
    assert announced_rows(RUN) == (6,)
    assert announced_rows(REPLICATE) == (6, 2)
    assert announced_rows(REPLICATE | {"layers": 1}) == (2,)
