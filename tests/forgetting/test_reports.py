"""Reports of lost facts and of series, recomputed from the planted rows."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from probing.forgetting import report_outcome as outcomes
from probing.forgetting import report_series as series
from probing.forgetting import store
from probing.forgetting.figures_series import DEVELOPMENT, on_one_scale, prevention_points, retention_map
from probing.forgetting.memory import MORE, NEVER_IN_TEXT, NEVER_KNOWN, NOTHING, UNKNOWN, WRONG, detectable
from probing.forgetting.report_outcome import any_in_words, by_chance, memory, outcome, stored_runs, usual, ways
from probing.forgetting.report_series import prevention
from probing.forgetting.store import BACK_COLUMNS
from probing.forgetting.ways import (
    AS_IT_IS,
    BY_ANSWER,
    BY_ANY,
    BY_SUBJECT,
    FITTED_HEAD,
    KEPT,
    LAYERS_BACK,
    LOST_OUTCOMES,
    NOT_RECOVERED,
    OTHER_LAYER,
    OUTCOMES,
    RANDOM_BODY,
    RELEARNED,
    STEPS,
    WAYS,
)
from probing.kernel.store.opening import open_database
from tests import forgetting_planted as planted
from tests.planted_relatives import COLA, CONTROL, LAST, SEED_2, SST_2
from tests.series_planted import PREVENTED, SERIES, ids, plant_series, states
from tests.series_planted import STEPS as SERIES_STEPS


def as_planted_for_a_plant(table, rows):
    """A run with facts that the base was taught, which is no run of the model itself."""
    return [row | {"planted": 300} for row in rows] if table == "forgetting_runs" else rows


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    folder = planted.plant_forgetting(tmp_path_factory.mktemp("forgetting") / "runs")
    planted.plant_forgetting(folder, [COLA], k=10)
    planted.plant_forgetting(folder, [SST_2], as_planted_for_a_plant, k=10)
    with open_database(folder) as database:
        yield database


def test_one_run_per_model_facts_and_k_with_controls_last_and_none_with_planted_facts(db):
    runs = stored_runs(db)
    assert [(row.model, row.k, row.control) for row in runs.itertuples()] == [
        (COLA.name, 1, False),
        (SST_2.name, 1, False),
        (COLA.name, 10, False),
        (CONTROL.name, 1, True),
    ]
    assert (
        list(stored_runs(db, [SST_2.name], ["trex"], [1])["model"]) == [SST_2.name] and stored_runs(db, ks=[100]).empty
    )
    assert set(stored_runs(db, ks=[10], planted=True)["model"]) == {COLA.name, SST_2.name}


def test_the_outcomes_add_up_to_what_the_base_knew_and_layers_that_were_not_put_back_have_their_reason(db):
    table = outcome(db, stored_runs(db, ks=[1]))
    for model in planted.MODELS:
        mine = table[table["model"] == model.name].set_index("part")
        counts = Counter(one["way"] for one in planted.lost_facts(model))
        assert (
            list(mine.index) == list(OUTCOMES)
            and mine["n"].sum() == sum(planted.KNOWN.values()) == mine["known"].iloc[0]
        )
        assert mine["per_100"].sum() == pytest.approx(100)
        assert mine["n"].drop(KEPT).to_dict() == {part: counts[part] for part in LOST_OUTCOMES}
        assert (
            mine["n"].gt(0).all() == (model is not planted.WHOLE_BASE)
            and mine.loc[LAYERS_BACK, "n"] == counts[LAYERS_BACK]
        )
        notes = mine.loc[mine["note"] != "", "note"].to_dict()
        assert notes == ({LAYERS_BACK: planted.NOT_PUT_BACK} if model is planted.WHOLE_BASE else {})
    assert outcome(db, stored_runs(db, ks=[100])).empty


def test_each_way_has_the_yardsticks_that_say_something_of_it(db):
    table = ways(db, stored_runs(db, ks=[1]))
    assert (table["difference"] == table["share"] - table["yardstick_share"]).all()
    of_training = {(BY_ANSWER, steps) for steps in STEPS} | {(BY_SUBJECT, steps) for steps in STEPS}
    relearned = table[(table["way"] == RELEARNED) & (table["model"] == SST_2.name)]
    assert set(relearned[["protocol", "level"]].itertuples(index=False, name=None)) == of_training
    found = {
        (model, way): set(rows["yardstick"]) - {NEVER_KNOWN}
        for (model, way), rows in usual(table).groupby(["model", "way"], sort=False)
    }
    expected = {OTHER_LAYER: {RANDOM_BODY}, FITTED_HEAD: set(), LAYERS_BACK: set(), RELEARNED: {WRONG, RANDOM_BODY}}
    for model in planted.MODELS:
        for way in WAYS:
            never_had = {NEVER_IN_TEXT} if model.name in planted.TESTS else set()
            wanted = None if (model, way) == (planted.WHOLE_BASE, LAYERS_BACK) else expected[way] | never_had
            assert found.get((model.name, way)) == wanted
    by_itself = table[table["way"] != BY_ANY]
    for yardstick, share in planted.YARDSTICKS.items():
        assert by_itself.loc[by_itself["yardstick"] == yardstick, "yardstick_share"].to_numpy() == pytest.approx(share)


def test_stated_facts_are_tested_by_one_rule_and_only_where_the_training_text_is_known(db):
    table = memory(db, stored_runs(db, ks=[1]))
    tests = [(way, AS_IT_IS) for way in WAYS if way != RELEARNED] + [(RELEARNED, BY_ANSWER), (RELEARNED, BY_SUBJECT)]
    assert sorted(table[["model", "way", "protocol"]].itertuples(index=False, name=None)) == sorted(
        (model, *one) for model in planted.TESTS for one in tests
    )
    for model, verdict_of_it in ((COLA.name, MORE), (SST_2.name, UNKNOWN)):
        mine, (difference, low, high) = table[table["model"] == model], planted.TESTS[model]
        assert mine["difference"].to_numpy() == pytest.approx(difference) and set(mine["verdict"]) == {verdict_of_it}
        assert set(mine["low"]) == set(mine["low_without"]) == {low} and set(mine["high"]) == {high}
        assert mine["detectable"].to_numpy() == pytest.approx(detectable((high - low) / 4))
        assert set(mine["n_never_had"]) == {planted.N_YARDSTICK}
    assert memory(db, stored_runs(db, [CONTROL.name])).empty and memory(db, stored_runs(db, ks=[100])).empty


def test_what_at_least_one_way_brings_back_stands_beside_wrong_answers_and_never_known_facts(db):
    (run_id,), lost = stored_runs(db, [COLA.name], ks=[1])["run_id"], planted.lost_facts(COLA)
    table = ways(db, stored_runs(db, [COLA.name], ks=[1]))
    beside = table[table["way"] == BY_ANY].set_index("yardstick")
    # The planted answers of yardsticks, all of P19, come back by no way; each never-known one has a lost partner.
    of_p19 = [one["way"] != NOT_RECOVERED for one in lost if one["relation"] == "P19"]
    assert beside.loc[WRONG, "share"] == pytest.approx(np.mean(of_p19), abs=1e-3) and beside.loc[WRONG, "n"] == 30
    assert beside["yardstick_share"].to_numpy() == pytest.approx(0, abs=1e-3) and set(beside["n_yardstick"]) == {12}
    rows = store.answers(db, [run_id])
    by_way = {"layer": 1, "fitted": True, "layers_back": 1, "after_15": "011"}
    for column, value in by_way.items():
        some = rows["fact_id"].isin(rows.loc[rows["asked"] == NEVER_KNOWN, "fact_id"].sort_values()[:6])
        known = rows.assign(**{column: rows[column].mask(some & (rows["asked"] == NEVER_KNOWN), value)})
        assert outcomes.by_any(known).set_index("yardstick").loc[NEVER_KNOWN, "yardstick_share"] == 0.5, column
    one_seed = rows.assign(after_15=rows["after_15"].mask(rows["asked"] == NEVER_KNOWN, "010"))
    words = any_in_words(outcomes.by_any(one_seed))
    share = round(100 * np.mean(of_p19))
    assert words == (
        f"Of 100 lost facts {share} come back by one of the ways, of equally confident wrong answers 0, of facts that"
        " neither model knew 0."
    )
    assert any_in_words(outcomes.by_any(rows.head(0))) == ""


def test_controls_with_planted_facts_are_first_and_tests_that_say_something_by_chance_are_counted(db):
    table = memory(db, stored_runs(db, planted=True))
    assert table.iloc[0][["model", "k"]].tolist() == [SST_2.name, 10] and table.iloc[-1]["model"] != CONTROL.name
    assert len(table) == 20 and by_chance(table).startswith("If nothing differed, about 1.0 of 20 tests would say")
    assert "of 15 tests" in by_chance(table.assign(verdict=table["verdict"].mask(table.index < 5, NOTHING)))


def test_the_test_of_relearning_is_that_of_15_steps():
    row = {
        "low": 0.01,
        "high": 0.2,
        "low_without": 0.02,
        "high_without": 0.3,
        "error": 0.01,
        "share": 0.8,
        "yardstick_share": 0.7,
    }
    rows = [row | {"yardstick": NEVER_IN_TEXT, "protocol": BY_ANSWER, "level": steps} for steps in STEPS]
    assert outcomes.tested(pd.DataFrame(rows))["verdict"].tolist() == [MORE]


def test_falls_are_medians_and_shares_of_the_lost_facts(db):
    runs = stored_runs(db, ks=[1])
    table = outcomes.falls(db, runs).set_index("model")
    for model in planted.MODELS:
        lost = pd.DataFrame(planted.lost_facts(model))
        mine = table.loc[model.name]
        assert mine["lost"] == len(lost) and mine["fall"] == pytest.approx(2)
        assert mine["rank"] == lost["rank"].median() and mine["margin"] == pytest.approx(lost["margin"].median())
        # The second ones of the planted facts are second by 0.05 nats.
        assert mine["second"] == mine["near"] == pytest.approx((lost["rank"] == 2).mean()) and 0 < mine["near"] < 1


def test_another_wording_is_counted_where_it_was_asked(db):
    table = outcomes.reworded(db, stored_runs(db, ks=[1]))
    assert set(table["model"]) == {planted.REWORDED_MODEL.name}
    assert table.set_index("reworded")["n"].to_dict() == dict(
        Counter(one["reworded"] for one in planted.lost_facts(SST_2))
    )


def test_relations_have_the_outcomes_of_their_facts(db):
    table = outcomes.relations(db, stored_runs(db, [COLA.name], ks=[1])).set_index("relation")
    counts = pd.crosstab(*(pd.Series([one[name] for one in planted.lost_facts(COLA)]) for name in ("relation", "way")))
    assert table["known"].to_dict() == planted.KNOWN and (table["kept"] + table["lost"] == table["known"]).all()
    assert table["lost"].to_dict() == counts.sum(axis=1).to_dict()
    for way, column in BACK_COLUMNS.items():
        assert table[column].to_dict() == counts[way].to_dict()


def test_facts_are_those_of_the_rows(db):
    runs, lost = stored_runs(db, [SST_2.name]), planted.lost_facts(SST_2)
    facts = outcomes.facts(db, runs["run_id"].iloc[0], (RELEARNED,), ("P19",))
    assert len(facts) == sum((one["way"], one["relation"]) == (RELEARNED, "P19") for one in lost)
    assert facts["subject"].str.startswith("Subject").all() and set(facts["way"]) == {RELEARNED}
    assert len(outcomes.facts(db, runs["run_id"].iloc[0])) == len(lost), "yardsticks are no lost facts"


@pytest.fixture(scope="module")
def series_db(tmp_path_factory):
    root = tmp_path_factory.mktemp("series")
    with open_database(plant_series(root / "runs", SERIES + PREVENTED)) as found:
        yield found


def test_steps_are_counted_at_the_last_layer_next_to_score_and_loss(series_db):
    table = series.steps(series_db, [COLA.name])
    ranks = states(SERIES[0]).ranks[:, -1]
    swapped = states(SERIES[0]).swapped[:, -1]
    assert (
        list(table["step"]) == list(SERIES_STEPS)
        and set(table["layer"]) == {LAST}
        and set(table["protection"]) == {"unprotected"}
    )
    for place, row in enumerate(table.itertuples()):
        before, now = ranks[0] == 1, ranks[place] == 1
        assert row.known == now.sum() and row.lost == (before & ~now).sum() and row.gained == (~before & now).sum()
        assert row.kept_share == (before & now).sum() / before.sum()
        paired = swapped[place] > 0
        assert row.own_minus_swapped == ((paired & now).sum() - (paired & (swapped[place] == 1)).sum()) / paired.sum()
    assert table["loss"].tolist()[1:] == [1.0, 1.0, 0.5] and np.isnan(table["loss"][0])
    assert table["score"].tolist()[3] == 0.8 and table["metric"][3] == "accuracy"
    assert len(series.logged(series_db, [COLA.name])) == 3
    every = series.steps(series_db, [COLA.name], k=10, layers=range(LAST + 1))
    assert len(every) == len(SERIES_STEPS) * (LAST + 1) and set(every["k"]) == {10}
    assert (
        every.query("layer == @LAST")["known"].tolist() == (states(SERIES[0]).ranks[:, -1] <= 10).sum(axis=1).tolist()
    )


def test_relations_add_up_to_steps(series_db):
    parts, whole = (
        series.relations(series_db, [COLA.name, CONTROL.name]),
        series.steps(series_db, [COLA.name, CONTROL.name]),
    )
    summed = parts.groupby(["model", "step"])[["asked", "known", "lost", "gained"]].sum().reset_index()
    assert summed[["asked", "known", "lost", "gained"]].equals(
        whole.sort_values(["model", "step"], ignore_index=True)[["asked", "known", "lost", "gained"]]
    )


def test_the_story_of_every_fact_that_was_known_before(series_db):
    table, ranks = series.facts(series_db, [COLA.name]).set_index("fact_id"), states(SERIES[0]).ranks[:, -1]
    assert len(table) == (ranks[0] == 1).sum()
    for number, fact_id in enumerate(ids()):
        if ranks[0, number] != 1:
            continue
        known = [rank == 1 for rank in ranks[:, number]]
        lost = next((step for step, now in zip(SERIES_STEPS, known, strict=True) if not now), None)
        row = table.loc[fact_id]
        assert (None if np.isnan(row["lost_step"]) else row["lost_step"]) == lost and row["known_last"] == known[-1]
        assert row["events"] == sum(a and not b for a, b in itertools.pairwise(known))
    (events,) = series.events(series_db, [COLA.name]).to_dict("records")
    assert events["never_lost"] == table["lost_step"].isna().sum()
    assert events["facts"] == events["never_lost"] + events["came_back"] + events["lost_for_good"]
    assert events["half_lost_step"] == 40 and np.isnan(series.events(series_db, [CONTROL.name])["half_lost_step"][0])
    assert series.facts(series_db, [SEED_2.name]).empty
    cells = series.ranks_of_fact(series_db, COLA.name, "trex", ids()[0])
    assert cells.query("step == 0 and layer == 1")["bucket"].tolist() == [0]


def test_scores_of_two_parts_of_the_data_do_not_share_an_axis(series_db):
    tested = prevention(series_db, objectives=["CoLA"])
    followed = tested.assign(metric=DEVELOPMENT, kept=1.0)
    both = pd.concat([tested, followed], ignore_index=True)
    assert on_one_scale(both).equals(on_one_scale(tested)) and len(on_one_scale(followed)) == len(followed)
    assert len(prevention_points(both).data) == len(prevention_points(tested).data) == 2 * len(tested)


def test_a_layer_that_knew_under_one_in_a_hundred_facts_is_empty_on_the_map():
    row = {"layer": [0, 1], "step": 5, "asked": 1000, "kept": [4, 10], "returned": 1, "lost": [4, 5], "kept_share": 0.7}
    (cells,) = retention_map(pd.DataFrame(row), by="layer").data[0].z.T
    assert np.isnan(cells[0]) and cells[1] == pytest.approx(70)


def test_prevention_has_one_point_per_recipe_and_says_which_are_dominated(series_db):
    points = prevention(series_db).set_index(["objective", "protection"])
    assert set(points.index) == {
        ("CoLA", "unprotected"),
        ("CoLA", "average 0.5"),
        ("CoLA", "freeze 2"),
        ("control", "unprotected"),
    }
    first = points.loc[("CoLA", "unprotected")]
    assert (first["seeds"], first["score"], first["score_low"], first["score_high"]) == (2, 0.8, 0.8, 0.8)
    one = states(PREVENTED[1])
    own, swapped, before = one.ranks[-1, -1] == 1, one.swapped[-1, -1], one.ranks[0, -1] == 1
    paired = before & (swapped > 0)
    kept = ((paired & own).sum() - (paired & (swapped == 1)).sum()) / paired.sum()
    assert points.loc[("CoLA", "average 0.5"), "kept"] == pytest.approx(kept)
    assert points["dominated"].to_dict() == {
        ("CoLA", "unprotected"): False,
        ("CoLA", "average 0.5"): False,
        ("CoLA", "freeze 2"): True,
        ("control", "unprotected"): False,
    }
    assert points["control"].sum() == 1 and set(points["steps"]) == {SERIES_STEPS[-1]}
