"""Tabs of the page that compares models, on planted stores: when, what prevents it, beyond facts, all models."""

import numpy as np
import pytest

from probing.core.sentences.example import FIRST, MEAN, SentenceData
from probing.core.sentences.fates import FATES
from probing.core.sentences.pairs import Cell
from probing.ui.compare import sentence_words
from tests.fine_tuning_planted import plant_everything, plant_facts, rank_of
from tests.pages.conftest import charts, numbers, opening, table_of, visited, words
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, SEED_2, SST_2
from tests.sentences_planted import BIGRAM, ODD, PlantedSentenceRun, examples, right
from tests.series_planted import PREVENTED, SERIES, STEPS, ids, plant_series
from tests.store.planted import plant_runs

TABS = ("when", "prevention", "beyond", "models")


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = plant_everything(tmp_path_factory.mktemp("everything") / "runs")
    plant_series(folder / "series", [*SERIES, *PREVENTED])
    return folder


@pytest.fixture(scope="module")
def look(everything, tmp_path_factory):
    opened = visited(everything, tmp_path_factory.mktemp("visits"))
    return lambda tab, tuned=COLA, **query: opened("compare", compare_tab=tab, tuned=tuned.name, **query)


def named(app, name: str) -> dict:
    """The figure with these marks among its names."""
    return next(one for one in charts(app) if any(trace.get("name") == name for trace in one["data"]))


def commands(app) -> str:
    return "\n".join(one.value for one in app.main.get("code"))


def test_the_time_course_is_that_of_the_tuned_model_beside_its_control(look):
    app = look("when")
    lost = [trace for trace in named(app, "known again")["data"] if trace["name"] == "lost"]
    assert len(lost) == 2 and len(lost[0]["customdata"]) == len(STEPS)
    assert app.selectbox(key="compare.lost_training").value.startswith(COLA.name)
    other = look("when", lost_training=f"{CONTROL.name} trex", followed_fact=ids()[0])
    assert other.selectbox(key="compare.lost_training").value.startswith(CONTROL.name)
    assert other.selectbox(key="compare.followed_fact").value == ids()[0]


def test_recipes_of_the_task_are_points(look):
    drawn = named(look("prevention"), "control")["data"]
    names = {trace["name"] for trace in drawn if trace.get("mode") == "markers" and "name" in trace}
    assert {"50 % old weights", "lowest 2 layers frozen"} <= names and "control" not in names
    assert charts(look("prevention", protected=f"{BASE.name} {COLA.objective}"))


def test_each_measurement_is_drawn_and_a_missing_one_comes_with_its_command(look):
    app = look("beyond", beyond_measure="perplexity")
    assert f"edges train --tasks all --model {COLA.name}" in commands(app) and "changes measure" not in commands(app)
    panels = [note["text"] for one in charts(app) for note in one["layout"].get("annotations", ())]
    assert any(text.startswith("<b>Perplexity") for text in panels)
    assert {trace.get("name", "").replace("<br>", " ") for one in charts(app) for trace in one["data"]} & set(FATES)


def turned(task, pooling: str, layer: int) -> dict[str, str]:
    """Name of each sentence that turned -> which way."""
    before, after = (right(PlantedSentenceRun(one, task), Cell(pooling, layer)) for one in (BASE, COLA))
    found = [one.sha256[:16] for one in examples(task, "ours")]
    return {
        name: "right" if now else "wrong" for name, was, now in zip(found, before, after, strict=True) if was != now
    }


def test_the_sentences_of_a_cell_are_listed_if_they_may_be_shown(look):
    cell = {"gone_task": ODD.name, "gone_pooling": FIRST, "gone_layer": "2"}
    table, wanted = table_of(look("beyond", **cell), "sentence", "turned"), list(turned(ODD, FIRST, 2).values())
    assert table["turned"].tolist() == wanted and all(
        sentence.startswith("Sentence ") for sentence in table["sentence"]
    )
    only = table_of(look("beyond", **cell, turned_way="right"), "sentence", "turned")
    assert len(only) == wanted.count("right")


def test_sentences_that_are_not_shipped_are_left_out_until_they_are_fetched(look, everything, tmp_path, monkeypatch):
    cell = {"gone_task": BIGRAM.name, "gone_pooling": MEAN, "gone_layer": "3"}
    app = look("beyond", **cell)
    assert "These sentences are not shipped" in words(app) and "probing fetch x-probe" in commands(app)
    assert not [one for one in app.dataframe if "sentence" in one.value]
    (tmp_path / "cache" / "downloads" / "x-probe").mkdir(parents=True)
    (tmp_path / "cache" / "downloads" / "x-probe" / "any.txt").write_text("here")
    data = SentenceData(BIGRAM.name, "ours", {"test": examples(BIGRAM, "ours")})
    monkeypatch.setattr(sentence_words, "read_task", lambda task, downloads, protocol: (None, data))
    app = opening(everything, tmp_path / "cache", monkeypatch)("compare", compare_tab="beyond", tuned=COLA.name, **cell)
    assert len(table_of(app, "sentence", "turned")) == len(turned(BIGRAM, MEAN, 3)) and "not shipped" not in words(app)


def test_all_models_stand_in_figure_and_table_in_the_order_of_what_they_kept(look):
    app = look("models", plane_loss="emd")
    bars = named(app, "kept")
    shown = dict(zip([point[0] for point in bars["data"][0]["customdata"]], numbers(bars["data"][0]["x"]), strict=True))
    for model in (COLA, SST_2, CONTROL):
        known = [number for number in range(10) if rank_of(BASE, number, LAST) == 1]
        assert shown[model.name] == pytest.approx(
            100 * np.mean([rank_of(model, number, LAST) == 1 for number in known])
        )
    assert list(shown.values()) == sorted(shown.values(), reverse=True)
    table = table_of(app, "kept", "net")
    assert len(table) >= 4 and table["kept"].notna().sum() == 3
    titles = [one["layout"]["yaxis"].get("title", {}).get("text") for one in charts(app)]
    assert "attention moved by, tokens" in titles


@pytest.mark.parametrize("tab", TABS)
def test_a_store_of_facts_and_an_empty_one_say_what_is_missing(tab, tmp_path, monkeypatch):
    for folder in (plant_facts(tmp_path / "facts"), plant_runs(tmp_path / "none", ())):
        app = opening(folder, tmp_path / f"cache-{folder.name}", monkeypatch)("compare", compare_tab=tab)
        assert not app.exception and ("python -m probing" in commands(app) or charts(app))


@pytest.mark.parametrize("tab", TABS)
def test_names_that_are_gone_are_no_error(look, tab):
    strange = {
        "lost_training": "<b>gone</b>",
        "protected": "gone",
        "gone_task": "gone",
        "gone_layer": "77",
        "beyond_measure": "gone",
    }
    assert not look(tab, **strange).exception and not look(tab, tuned=SEED_2).exception
