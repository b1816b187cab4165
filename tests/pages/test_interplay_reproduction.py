"""The Reproduction page for fine-tuning and sentence-level probing: published cells as published, ours from planted answers."""

import json
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from probing.core.sentences.published import PublishedSentences
from probing.ui.reproduction.selection import INTERPLAY_FIGURES, INTERPLAY_TABS
from tests.pages.conftest import opening, words
from tests.pages.every_tab import EveryTab, every_tab
from tests.pages.test_every_reproduction import plant_interplay
from tests.sentences_planted import BASE, TASKS, PlantedSentenceRun, plant_sentence_runs

pytestmark = pytest.mark.usefixtures("unfolded")

PAPER = PublishedSentences.read()


@pytest.fixture(scope="module")
def open_page(tmp_path_factory):
    """Probes and measured changes, and no run on facts."""
    snapshot = plant_interplay(tmp_path_factory.mktemp("interplay"))
    with pytest.MonkeyPatch.context() as patch:
        visit = opening(snapshot, tmp_path_factory.mktemp("cache"), patch)
        yield lambda **query: visit("papers", **{"paper": "interplay", **query})


@pytest.fixture(scope="module")
def as_it_opens(open_page) -> EveryTab:
    """The page as a link opens it, with all tabs."""
    return every_tab(open_page, "interplay_tab", tuple(INTERPLAY_TABS))


def table(app: AppTest, *columns: str):
    """The one table that has these columns."""
    (found,) = [frame.value for frame in app.dataframe if set(columns) <= set(frame.value.columns)]
    return found


def text_of(app: AppTest) -> str:
    return words(app).replace("\\", "")


def test_every_published_cell_is_shown_as_published_and_six_are_not_used(as_it_opens):
    assert not as_it_opens.exception
    found = table(as_it_opens, "group", "BERT", "ours").set_index(["tuned", "task", "pooling", "group"])
    for tuned in PAPER.tuned:
        for task in PAPER.tasks:
            for pooling, shown in (("first", "CLS"), ("mean", "mean")):
                for place, group in enumerate(("0 to L/2", "above L/2")):
                    row = found.loc[(tuned.name, task, shown, group)]
                    for model in PAPER.models:
                        cell = PAPER.change(model.name, task, pooling, tuned.objective)
                        assert row[model.name] == ("not read" if cell is None else f"{cell[place]:+.2f}")
    assert (found[["BERT", "RoBERTa", "ALBERT"]] == "not read").sum().sum() == 6


def test_ours_are_shown_with_interval_control_and_what_is_missing(as_it_opens):
    found = table(as_it_opens, "group", "BERT", "ours").set_index(["tuned", "task", "pooling", "group"])
    assert found.loc[("CoLA", "bigram-shift", "mean", "above L/2"), "ours"] == pytest.approx(-10)
    assert found.xs("RTE")["why"].str.contains("finetune --model planted --objective rte").all()
    assert "Ours: **planted**, 4 layers, probed with the protocol *ours*" in text_of(as_it_opens)
    scores = table(as_it_opens, "metric", "Devlin et al. (2019)")
    assert len(scores) == 5 and "test set" in text_of(as_it_opens)


@pytest.mark.parametrize("figure", INTERPLAY_FIGURES)
def test_every_figure_is_drawn_with_ours(open_page, figure):
    app = open_page(interplay_tab="figures", interplay_figure=figure, interplay_panel="all")
    assert not app.exception
    assert PAPER.figure(figure).shows in text_of(app)
    (chart,) = [json.loads(one.proto.spec) for one in app.get("plotly_chart")]
    assert any(len(trace["y"]) for trace in chart["data"])


def test_an_unknown_base_is_a_note_and_the_control_leads_to_another_paper(open_page):
    gone = open_page(tuned_base="gone")
    assert any("gone" in note.value for note in gone.info) and "Ours: **planted**" in text_of(gone)
    gone.segmented_control(key="papers.paper").set_value("edge-probing").run()
    assert not gone.exception and "BERT Rediscovers" in text_of(gone)


def test_without_probes_only_the_published_numbers_are_shown(visit):
    app = every_tab(lambda **query: visit("papers", "one model", {"paper": "interplay"} | query), "interplay_tab", tuple(INTERPLAY_TABS))
    assert not app.exception
    assert any("only the published numbers are shown" in note.value for note in app.info)
    assert table(app, "group", "BERT", "ours")["ours"].isna().all()


def test_a_base_without_fine_tuned_models_says_so(tmp_path, monkeypatch):
    snapshot = plant_sentence_runs(tmp_path / "runs", [PlantedSentenceRun(BASE, TASKS[0])])
    look = opening(Path(snapshot), tmp_path / "cache", monkeypatch)
    app = every_tab(partial(look, "papers", paper="interplay"), "interplay_tab", tuple(INTERPLAY_TABS))
    assert not app.exception and "without fine-tuned models" in text_of(app)
    assert table(app, "group", "BERT", "ours")["ours"].isna().all()
