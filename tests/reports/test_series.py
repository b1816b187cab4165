"""Reports of series, compared with counts of the planted states one by one."""

import itertools

import numpy as np
import pandas as pd
import pytest

from probing.figures.forgetting.prevention import prevention_points
from probing.figures.forgetting.time_course import over_training, rank_map, retention_map
from probing.reports.forgetting import series
from probing.reports.forgetting.prevention import prevention
from probing.store.opening import open_database
from tests.planted_relatives import COLA, CONTROL, LAST, SEED_2
from tests.series_planted import PREVENTED, SERIES, STEPS, ids, plant_series, states


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    root = tmp_path_factory.mktemp("series")
    with open_database(plant_series(root / "runs", SERIES + PREVENTED)) as found:
        yield found


def test_steps_are_counted_at_the_last_layer_next_to_score_and_loss(db):
    table = series.steps(db, [COLA.name])
    ranks = states(SERIES[0]).ranks[:, -1]
    swapped = states(SERIES[0]).swapped[:, -1]
    assert (
        list(table["step"]) == list(STEPS)
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
    assert len(series.logged(db, [COLA.name])) == 3
    every = series.steps(db, [COLA.name], k=10, layers=range(LAST + 1))
    assert len(every) == len(STEPS) * (LAST + 1) and set(every["k"]) == {10}
    assert (
        every.query("layer == @LAST")["known"].tolist() == (states(SERIES[0]).ranks[:, -1] <= 10).sum(axis=1).tolist()
    )


def test_relations_add_up_to_steps(db):
    parts, whole = series.relations(db, [COLA.name, CONTROL.name]), series.steps(db, [COLA.name, CONTROL.name])
    summed = parts.groupby(["model", "step"])[["asked", "known", "lost", "gained"]].sum().reset_index()
    assert summed[["asked", "known", "lost", "gained"]].equals(
        whole.sort_values(["model", "step"], ignore_index=True)[["asked", "known", "lost", "gained"]]
    )


def test_the_story_of_every_fact_that_was_known_before(db):
    table, ranks = series.facts(db, [COLA.name]).set_index("fact_id"), states(SERIES[0]).ranks[:, -1]
    assert len(table) == (ranks[0] == 1).sum()
    for number, fact_id in enumerate(ids()):
        if ranks[0, number] != 1:
            continue
        known = [rank == 1 for rank in ranks[:, number]]
        lost = next((step for step, now in zip(STEPS, known, strict=True) if not now), None)
        row = table.loc[fact_id]
        assert (None if np.isnan(row["lost_step"]) else row["lost_step"]) == lost and row["known_last"] == known[-1]
        assert row["events"] == sum(a and not b for a, b in itertools.pairwise(known))
    (events,) = series.events(db, [COLA.name]).to_dict("records")
    assert events["never_lost"] == table["lost_step"].isna().sum()
    assert events["facts"] == events["never_lost"] + events["came_back"] + events["lost_for_good"]
    assert events["half_lost_step"] == 40 and np.isnan(series.events(db, [CONTROL.name])["half_lost_step"][0])
    assert series.facts(db, [SEED_2.name]).empty
    cells = series.ranks_of_fact(db, COLA.name, "trex", ids()[0])
    assert cells.query("step == 0 and layer == 1")["bucket"].tolist() == [0]


def test_prevention_has_one_point_per_recipe_and_says_which_are_dominated(db):
    points = prevention(db).set_index(["objective", "protection"])
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
    assert points["control"].sum() == 1 and set(points["steps"]) == {STEPS[-1]}


def test_figures_draw_what_the_tables_have(db):
    table, logged = (function(db, [COLA.name, CONTROL.name]) for function in (series.steps, series.logged))
    figure = over_training(table, logged, model=COLA.name, control=CONTROL.name, names=("one", "control"), half=10)
    assert any("half lost by step 10" in str(note.text) for note in figure.layout.annotations)
    (lost, of_control) = [trace for trace in figure.data if trace.name == "lost"]
    mine = table[table["model"] == COLA.name]
    assert list(lost.y) == (100 * mine["lost"] / mine["known"].iloc[0]).tolist() and of_control.line.dash == "longdash"
    # The control has a loss, and no score on the task.
    assert [sum(trace.name == name for trace in figure.data) for name in ("score", "loss")] == [1, 2]
    layers = series.steps(db, [COLA.name], layers=range(LAST + 1))
    by_layer = retention_map(layers, by="layer").data[0]
    assert by_layer.z.shape == (LAST + 1, len(STEPS)) and by_layer.colorbar.orientation == "h"
    assert retention_map(series.relations(db, [COLA.name]), by="relation").data[0].z.shape == (2, len(STEPS))
    cells = series.ranks_of_fact(db, COLA.name, "trex", ids()[0])
    ranks = rank_map(cells).data[0]
    assert ranks.text[1][0] == "1" and rank_map(cells[:0]).layout.annotations
    assert (
        dict(zip(ranks.colorbar.tickvals, ranks.colorbar.ticktext, strict=True))[ranks.z[1][0]] == "1"
        and ranks.texttemplate is None
    )
    points = prevention_points(prevention(db))
    assert {trace.name: trace.marker.symbol for trace in points.data if trace.mode == "markers"} == {
        "plain": "diamond",
        "50 % old weights": "circle",
        "lowest 2 layers frozen": "circle",
    }
    # The control has no score on the task, so it is no point: a line at what it keeps, as wide as the points.
    control = next(trace for trace in points.data if trace.name == "control")
    kept, scores = prevention(db).query("control")["kept"].iloc[0], prevention(db).query("not control")["score"]
    assert (
        list(control.y) == [100 * kept] * 2
        and list(control.x) == [scores.min(), scores.max()]
        and control.line.dash == "longdash"
    )
    longer = prevention(db).query("protection == 'unprotected' and not control").assign(steps=1000)
    drawn = prevention_points(pd.concat([prevention(db), longer])).data
    assert {trace.name for trace in drawn if trace.marker.symbol == "diamond"} == {
        f"plain, {STEPS[-1]} steps",
        "plain, 1,000 steps",
    }
    # Of two points at one place, the second one's name stands elsewhere.
    twins = prevention(db).query("protection == 'unprotected' and not control")
    named = [
        one
        for one in prevention_points(pd.concat([twins, twins], ignore_index=True)).data
        if one.mode == "markers+text"
    ]
    assert named[0].textposition != named[1].textposition
    ends = {"top": "kept_high", "middle": "kept", "bottom": "kept_low"}
    assert [one.y[0] for one in named] == [100 * twins[ends[one.textposition.split()[0]]].iloc[0] for one in named]
    empty = prevention(db, objectives=["none"])
    assert all(one.layout.annotations for one in (prevention_points(empty), over_training(table[:0], logged, model="")))
