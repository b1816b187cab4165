"""The share of what a model knows that only inner layers hold, counted again from the planted ranks."""

import pytest

from probing.core.stats.intervals import wilson
from probing.reports.reproduction.knowledge.paper import BERTNESIA
from probing.store.opening import open_database
from tests.store.planted import PlantedRun, plant_store, planted_facts, planted_rank


def test_the_inner_share_has_wilsons_interval_of_the_facts_that_some_layer_knows(tmp_path):
    known = [
        {number for number in range(len(planted_facts("trex"))) if planted_rank(number, layer) == 1}
        for layer in (1, 2, 3)
    ]
    ever = set.union(*known)
    with open_database(plant_store(tmp_path, (PlantedRun(),))) as db:
        row = BERTNESIA.compare(db, "nesia-mini", "tied").ours.about.total.set_index("average").loc["micro"]
    assert (row["intermediate_low"], row["intermediate_high"]) == pytest.approx(
        wilson(len(ever - known[-1]), len(ever))
    )
