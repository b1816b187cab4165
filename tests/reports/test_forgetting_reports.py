"""Reports of lost facts, recomputed from the planted rows."""

from collections import Counter

import pytest

from probing.core.forgetting.excess import ABOVE, BELOW, POOLED, UNKNOWN
from probing.reports.forgetting import places
from probing.reports.forgetting.outcome import KEPT, PARTS, by_confidence, outcome, ways
from probing.reports.forgetting.runs import stored_runs
from probing.reports.forgetting.story import ranks_by_layer
from probing.store.database import open_database
from probing.store.forgetting.queries import BACK_COLUMNS
from tests import forgetting_planted as planted
from tests.planted_relatives import COLA, CONTROL, SST_2


@pytest.fixture(scope="module")
def db(tmp_path_factory, databases):
    folder = planted.plant_forgetting(tmp_path_factory.mktemp("forgetting") / "runs")
    planted.plant_forgetting(folder, [COLA], k=10)
    with open_database(databases.shared(folder)) as database:
        yield database


def test_one_run_per_model_facts_and_k_with_controls_last(db):
    runs = stored_runs(db)
    assert [(row.model, row.k, row.control) for row in runs.itertuples()] == [
        (COLA.name, 1, False),
        (SST_2.name, 1, False),
        (COLA.name, 10, False),
        (CONTROL.name, 1, True),
    ]
    assert list(stored_runs(db, [SST_2.name], ["trex"], [1])["model"]) == [SST_2.name] and stored_runs(db, ks=[100]).empty


def test_every_known_fact_is_in_one_part_and_a_way_has_its_yardsticks(db):
    table = outcome(db, stored_runs(db, ks=[1]))
    for model in planted.MODELS:
        mine = table[table["model"] == model.name].set_index("part")
        lost = planted.lost_facts(model)
        assert list(mine.index) == list(PARTS) and mine["n"].sum() == sum(planted.KNOWN.values()) == mine["known"].iloc[0]
        assert mine["per_100"].sum() == pytest.approx(100)
        assert mine["n"].drop(KEPT).to_dict() == {part: Counter(one["way"] for one in lost)[part] for part in PARTS[1:]}
        for way in planted.WAYS:
            above = way in planted.ABOVE[model.name]
            assert mine.loc[way, "verdict"] == (ABOVE if above else UNKNOWN)
            assert mine.loc[way, "wrong_excess"] == pytest.approx(0.3 if above else 0.0)
            assert mine.loc[way, "random_excess"] == pytest.approx(0.5)
            assert mine.loc[way, "never_excess"] == pytest.approx(0.4) and mine.loc[way, "never_low"] == pytest.approx(0.35)
        assert mine.loc[KEPT, "verdict"] == "" and BELOW not in set(mine["verdict"])


def test_each_way_has_all_levels_and_protocols_and_bins_have_their_yardsticks(db):
    runs = stored_runs(db, [COLA.name], ks=[1])
    table = ways(db, runs)
    assert set(table.loc[table["way"] == "relearned", "level"]) == {5, 15, 45} and set(table["protocol"]) == {planted.RIGHT, planted.OWN}
    assert (table["excess"] == table["share"] - table["yardstick_share"]).all()
    bins = by_confidence(db, runs)
    assert [tuple(pair) for pair in bins[["way", "bin"]].to_numpy()] == [(way, number) for way in planted.WAYS for number in range(6)]
    assert bins.groupby("way")["n"].sum().eq(len(planted.lost_facts(COLA))).all() and bins["wrong_n"].eq(10).all()


def test_relations_with_few_facts_share_one_excess_and_say_so(db):
    table = places.relations(db, stored_runs(db, [COLA.name], ks=[1])).set_index("relation")
    lost = Counter(one["relation"] for one in planted.lost_facts(COLA))
    assert table["lost"].to_dict() == dict(lost) and table["known"].to_dict() == planted.KNOWN
    assert (table[list(BACK_COLUMNS.values())].sum(axis=1) == table["lost"]).all()
    assert table["pooled"].to_dict() == {"P19": False, "P36": True, "P1376": True} and POOLED not in table.index
    assert table["excess"].round(6).eq(0.2).all()


def test_exposures_layers_and_facts_are_those_of_the_rows(db):
    runs, lost = stored_runs(db, [SST_2.name]), planted.lost_facts(SST_2)
    found = places.exposures(db, runs).set_index("exposure")
    assert found["lost"].to_dict() == dict(Counter(one["exposure"] for one in lost))
    layers = places.layers(db, runs).set_index(["way", "level"])["n"].to_dict()
    assert layers[("another layer", 3)] == sum(one["layer"] == 3 for one in lost)
    assert layers[("layers put back", 1)] == sum(one["layers_back"] == 1 for one in lost)
    facts = places.facts(db, runs["run_id"].iloc[0], ("relearned",), ("P19",))
    assert len(facts) == sum((one["way"], one["relation"]) == ("relearned", "P19") for one in lost)
    assert facts["subject"].str.startswith("Subject").all() and set(facts["way"]) == {"relearned"}


def test_a_fact_without_stored_predictions_has_no_ranks(db):
    fact_id = planted.lost_facts(COLA)[0]["fact_id"]
    assert ranks_by_layer(db, fact_id, (COLA.base, COLA.name)).empty
