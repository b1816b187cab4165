"""Two runs by layer: counted again from the planted ranks in plain Python."""

import pytest

from probing.core.stats.paired_tests import mcnemar_exact
from probing.reports.knowledge.pairs.paired_layers import paired_by_layer
from probing.store.opening import open_database
from tests.store.planted import PlantedRun, plant_store, planted_facts, planted_rank

BASE = PlantedRun()
MODEL = PlantedRun(
    model="nesia-mini-qa", base="nesia-mini", rank=lambda number, layer: 1 if number in (0, 3, 7) else 5 + layer
)


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    with open_database(plant_store(tmp_path_factory.mktemp("paired"), (BASE, MODEL))) as opened:
        yield opened


@pytest.mark.parametrize("k", [1, 10])
def test_every_layer_counts_the_facts_that_each_side_knows(db, k):
    table = paired_by_layer(db, BASE.run_id, MODEL.run_id, k).set_index("layer")
    assert list(table.index) == [0, 1, 2, 3]
    numbers = range(len(planted_facts("trex")))
    for layer, row in table.iterrows():
        base = {number for number in numbers if planted_rank(number, layer) <= k}
        model = {number for number in numbers if MODEL.rank(number, layer) <= k}
        assert row["n"] == 10
        assert (row["both"], row["base_only"], row["model_only"]) == (
            len(base & model),
            len(base - model),
            len(model - base),
        )
        assert row["both"] + row["base_only"] + row["model_only"] + row["neither"] == 10
        assert row["difference"] == pytest.approx((len(model) - len(base)) / 10)
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
        assert row["base_low"] <= row["base_value"] == pytest.approx(len(base) / 10)
        assert row["low"] <= row["value"] == pytest.approx(len(model) / 10)
        assert row["p_value"] == pytest.approx(mcnemar_exact(len(base - model), len(model - base)))


def test_filters_choose_the_facts(db):
    stated = paired_by_layer(db, BASE.run_id, MODEL.run_id, 1, exposures=("stated",))
    assert set(stated["n"]) == {4}
    assert paired_by_layer(db, BASE.run_id, MODEL.run_id, 1, exposures=()).empty


def test_runs_on_other_facts_have_no_layer_in_common(db, tmp_path):
    other = PlantedRun(probe_set="questions")
    with open_database(plant_store(tmp_path, (BASE, other))) as opened:
        assert paired_by_layer(opened, BASE.run_id, other.run_id, 1).empty
