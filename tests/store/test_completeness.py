"""When a run on facts is complete, by the rules that decide whether it is shown."""

import pyarrow as pa
import pytest

from probing.store.kinds import FACTS, KINDS
from probing.store.rules.asking import ask, asked_runs, in_memory, light
from probing.store.schema import SCHEMAS

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


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_complete_with_one_prediction_of_each_fact_at_each_layer(case: str):
    run, rows, complete = CASES[case]
    kind = KINDS[FACTS]
    schema = light("predictions", SCHEMAS["predictions"].empty_table()).schema
    predictions = pa.Table.from_pylist([{"run_id": "a", "fact_id": fact, "layer": layer} for fact, layer in rows], schema=schema)
    facts = pa.Table.from_pylist([{"fact_id": fact} for fact in (ONE, TWO)], schema=SCHEMAS["facts"])
    with in_memory({"predictions": predictions, "facts": facts}, [table.name for table in kind.tables]) as connection:
        columns = ", ".join(f"{value!r} AS {name}" for name, value in run.items())
        more = "'0.9.0' AS code_version, 'm' AS model, 'tied' AS head, 'default' AS template_set, 0 AS seed, '{}' AS left_out"
        asked_runs(connection, f"SELECT 'a' AS run_id, 'trex' AS probe_set, false AS counted, '{{}}' AS config, {more}, {columns}")
        broken = ask(connection, [rule for rule in kind.rules if rule.blocks], kind.scans)
    assert list(broken) == ([] if complete else ["a"])
