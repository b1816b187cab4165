"""The Reproduction page for edge probing: published F1s as published, ours counted from the planted answers."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from probing.core.edges.published import PublishedEdges
from probing.ui.reproduction.selection import EDGE_FIGURES, EDGE_TABS
from tests.edges_planted import POS, RUNS, PlantedEdgeRun, answers, plant_edge_runs, planted_part, planted_probabilities
from tests.pages.conftest import opening, words
from tests.pages.every_tab import EveryTab, every_tab

pytestmark = pytest.mark.usefixtures("unfolded")

PAPER = PublishedEdges.read()
LAST = 4


@pytest.fixture(scope="module")
def edge_snapshot(tmp_path_factory) -> Path:
    """Probes and nothing else: no run on facts."""
    return plant_edge_runs(tmp_path_factory.mktemp("edges"))


@pytest.fixture(scope="module")
def open_page(edge_snapshot, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        visit = opening(edge_snapshot, tmp_path_factory.mktemp("cache"), patch)
        yield lambda **query: visit("papers", **{"paper": "edge-probing", **query})


@pytest.fixture(scope="module")
def as_it_opens(open_page) -> EveryTab:
    """The page as a link opens it, with all tabs."""
    return every_tab(open_page, "pipeline_tab", tuple(EDGE_TABS))


def table(app: AppTest, *columns: str):
    """The one table that has these columns."""
    (found,) = [frame.value for frame in app.dataframe if set(columns) <= set(frame.value.columns)]
    return found


def text_of(app: AppTest) -> str:
    return words(app).replace("\\", "")


def test_every_published_f1_is_shown_as_published(as_it_opens):
    assert not as_it_opens.exception
    found = table(as_it_opens, "encoder", "P(0)", "P(24)").set_index(["task", "encoder"])
    for title, name in (("BERT-base (published)", "base"), ("BERT-large (published)", "large")):
        for task, shown in (("pos", "part of speech"), ("srl", "semantic roles"), ("relations", "relations")):
            f1 = PAPER.task(task).f1[name]
            row = found.loc[(shown, title)]
            assert [row[f"P({layer})"] for layer in range(len(f1))] == pytest.approx(list(f1))
    assert np.isnan(found.loc[("part of speech", "BERT-base (published)"), "P(13)"])


def test_our_f1s_are_counted_from_the_planted_answers(as_it_opens):
    found = table(as_it_opens, "encoder", "P(0)", "P(24)").set_index(["task", "encoder"])
    row = found.loc[("part of speech", "nesia-mini")]
    run = next(
        one
        for one in RUNS
        if (one.task, one.kind, one.encoder, one.labels, one.model) == (POS, "cumulative", "trained", "task", "nesia-mini")
    )
    said, gold = answers(planted_probabilities(run, "dev")), planted_part(POS, "dev").gold
    for layer in range(LAST + 1):
        right = (said[layer] & gold).sum()
        assert row[f"P({layer})"] == pytest.approx(100 * 2 * right / (said[layer].sum() + gold.sum()))
    assert np.isnan(row["P(5)"])
    assert ("relations", "nesia-mini") not in found.index


def test_the_data_of_the_paper_are_shown_with_ours(as_it_opens):
    found = table(as_it_opens, "published_targets", "targets").set_index("task")
    assert found.loc["part of speech", "published_targets"] == 2_070_382 and found.loc["part of speech", "targets"] > 0
    assert found["published_data"].notna().all() and found.loc["relations", "published_targets"] == 6_851


@pytest.mark.parametrize("figure", EDGE_FIGURES)
def test_every_figure_is_drawn_with_ours_and_the_published_numbers(open_page, figure):
    app = open_page(pipeline_tab="figures", pipeline_figure=figure, pipeline_panel="all")
    assert not app.exception
    plot = PAPER.figure(figure)
    assert plot.shows in text_of(app)
    specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    assert len(specs) == (2 if plot.kind == "summary" else 1 + len(plot.models))
    named = {trace.get("name") for spec in specs for trace in spec["data"]}
    if plot.kind == "summary":
        assert {PAPER.model(one).title + " (published)" for one in plot.models} | {"nesia-mini"} <= named
        assert ("BERT-base (published)" in named) == ("base" in plot.models)


def test_the_places_of_published_encoders_follow_from_their_f1s(as_it_opens):
    summaries = [frame.value for frame in as_it_opens.dataframe if {"row", "model", "f1_first"} <= set(frame.value.columns)]
    row = summaries[0].set_index(["row", "model"]).loc[("coreference", "BERT-large")]
    assert row["expected_layer"] == pytest.approx(9.47, abs=0.005) and row["centre_of_gravity"] == 15.80
    assert np.isnan(row["expected_layer_low"])


def test_the_control_leads_from_one_paper_to_the_other(open_page):
    app = open_page()
    app.segmented_control(key="papers.paper").set_value("bertnesia").run()
    assert not app.exception and "paper" not in app.query_params
    # There are probes and no runs on facts.
    assert any("No results are stored yet" in note.value for note in app.info)


def test_without_probes_only_the_published_numbers_are_shown(visit):
    app = every_tab(lambda **query: visit("papers", "one model", {"paper": "edge-probing", **query}), "pipeline_tab", tuple(EDGE_TABS))
    assert not app.exception
    assert any("only the published numbers are shown" in note.value for note in app.info)
    assert set(table(app, "encoder", "P(0)", "P(24)")["encoder"]) == {"BERT-base (published)", "BERT-large (published)"}


def test_probes_on_the_papers_own_data_represent_its_tasks(open_page, tmp_path, monkeypatch):
    own = replace(POS, name="edges-pos-ontonotes", title="edges-pos-ontonotes")
    snapshot = plant_edge_runs(tmp_path / "own", [PlantedEdgeRun(task=own), PlantedEdgeRun(task=POS)])
    look = opening(snapshot, tmp_path / "cache", monkeypatch)
    app = every_tab(partial(look, "papers", paper="edge-probing"), "pipeline_tab", tuple(EDGE_TABS))
    assert not app.exception
    found = table(app, "encoder", "P(0)", "P(24)").set_index(["task", "encoder"]).loc[("part of speech", "nesia-mini")]
    said, gold = answers(planted_probabilities(PlantedEdgeRun(task=own), "dev")), planted_part(own, "dev").gold
    assert found["P(0)"] == pytest.approx(100 * 2 * (said[0] & gold).sum() / (said[0].sum() + gold.sum()))
