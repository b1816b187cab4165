"""The page of sentence probes on planted stores: its numbers are recomputed from the planted answers."""

import numpy as np
import pytest

from probing.core.sentences.example import FIRST, MEAN, QUICK, SentenceData
from probing.core.sentences.pairs import Cell
from probing.ui.sentence_probes import own_file
from probing.ui.sentence_probes import words as found_words
from tests.models.tiny_models import save
from tests.pages.conftest import line_with, numbers_in, opening, words
from tests.pages.planted_family import charts
from tests.pages.test_grammar_page import numbers, said, table_of, traces
from tests.planted_relatives import BASE, COLA, CONTROL, LAST, LAYERS, SEED_2, SEED_3
from tests.sentences_planted import (
    BIGRAM,
    COORDINATION,
    ODD,
    RUNS,
    TASKS,
    PlantedSentenceRun,
    dev_right,
    examples,
    gold,
    plant_sentence_runs,
    predicted,
    right,
)

pytestmark = pytest.mark.usefixtures("unfolded")

COMMAND = "python -m probing sentences train"
FIRST_TOKEN, ALL_TOKENS = "first token", "mean of all tokens"


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    return plant_sentence_runs(tmp_path_factory.mktemp("sentences") / "runs")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Where a tiny model is that can be asked."""
    folder = tmp_path_factory.mktemp("cache")
    save("bert", folder / "models" / "tiny")
    return folder


@pytest.fixture
def look(sentences, cache, monkeypatch):
    return opening(sentences, cache, monkeypatch)


def shares(model, task, pooling: str, protocol: str = "ours", **cell) -> list[float]:
    """Accuracy of a model's probes by layer, in per cent, answer by answer."""
    run = PlantedSentenceRun(model, task, protocol)
    truth = gold(task, protocol)
    return [100 * float(np.mean(np.array(predicted(run, Cell(pooling, layer, **cell))) == truth)) for layer in LAYERS]


def cells_of(figure: dict) -> dict[tuple, str]:
    """(task, pooling, layer) -> the number in the cell of a map."""
    points = [trace for trace in figure["data"] if trace.get("customdata")]
    return {tuple(place): text for one in points for place, text in zip(one["customdata"], one["text"], strict=True)}


@pytest.mark.parametrize(("query", "protocol"), [({}, "ours"), ({"sentence_protocol": "quick", "sentence_tasks": BIGRAM.name}, QUICK)])
def test_a_curve_is_the_share_of_stored_answers_that_are_right_with_both_baselines(look, query, protocol):
    app = look("sentence_probes", **query)
    figure = charts(app)[1]
    for pooling, name in ((FIRST, FIRST_TOKEN), (MEAN, ALL_TOKENS)):
        line = traces(figure, f"{BASE.name}, {name}")[0]
        assert numbers(line["y"]) == pytest.approx(shares(BASE, BIGRAM, pooling, protocol))
    table = next(one.value for one in app.dataframe if "surface" in one.value and "read" not in one.value)
    assert set(table["model"]) == {BASE.name, CONTROL.name}, "the base and its control unless others are chosen"
    assert set(table["majority"]) == {0.5} and set(table["surface"]) == {0.52 if protocol == "ours" else 0.54}
    assert dict(app.query_params).keys() == query.keys()


@pytest.mark.parametrize(("mode", "off"), [("majority", 50.0), ("surface", 52.0)])
def test_a_baseline_can_be_taken_off(look, mode, off):
    figure = charts(look("sentence_probes", sentence_minus=mode))[1]
    line = traces(figure, f"{BASE.name}, {ALL_TOKENS}")[0]
    assert numbers(line["y"]) == pytest.approx(np.array(shares(BASE, BIGRAM, MEAN)) - off)


def test_the_spread_over_seeds_is_that_of_the_siblings(look):
    app = look("sentence_probes", sentence_models=COLA.name, sentence_tasks=BIGRAM.name)
    line = traces(charts(app)[1], f"CoLA ?, {FIRST_TOKEN}")[0]
    every = np.array([shares(model, BIGRAM, FIRST) for model in (COLA, SEED_2, SEED_3)])
    assert numbers(line["error_y"]["array"]) == pytest.approx(every.max(axis=0) - every[0])
    assert numbers(line["error_y"]["arrayminus"]) == pytest.approx(every[0] - every.min(axis=0))
    menu = app.multiselect(key="sentence_probes.sentence_models").options
    assert not [name for name in menu if "seed" in name], "siblings are in the spread, not in the menu"


def test_the_headline_names_the_layer_that_dev_chose_and_what_it_beats(look):
    text = said(look("sentence_probes"))
    assert f"Probes read 2 of 3 properties from {BASE.name}" in text
    of_dev = dev_right(PlantedSentenceRun(BASE, BIGRAM))
    places = [Cell(pooling, layer) for pooling in (FIRST, MEAN) for layer in LAYERS]
    best = max(places, key=lambda cell: (of_dev[cell], -cell.layer))
    share = 100 * right(PlantedSentenceRun(BASE, BIGRAM), best).mean()
    assert f"Bigram shift: layer {best.layer}, {ALL_TOKENS}: {share:.1f} %" in text
    assert f"{share - 50:+.1f} points over the majority baseline (50.0 %)" in text and f"{share - 52:+.1f} points over the surface" in text
    assert "Odd man out" in text and text.split("Odd man out")[1].split("\n")[0].endswith("not read by these linear probes")


@pytest.mark.parametrize(("kind", "pooling", "of_base"), [("first", FIRST, FIRST), ("mean", MEAN, MEAN), ("base-mean", FIRST, MEAN)])
def test_a_change_is_the_difference_of_the_accuracies_and_grey_where_it_does_not_count(look, kind, pooling, of_base):
    app = look("sentence_probes", tuned_model=COLA.name, change_kind=kind)
    figure = charts(app)[2]
    shown = cells_of(figure)
    for task in TASKS:
        change = np.array(shares(COLA, task, pooling)) - np.array(shares(BASE, task, of_base))
        for layer in LAYERS:
            assert shown[task.name, pooling, layer].strip("★") == f"{change[layer]:+.1f}".replace("-", "−")
    table = table_of(app, "change", "q")
    mine = table[table["pooling"] == pooling].set_index(["task", "layer"])
    grey = next(trace for trace in figure["data"] if trace.get("name") == "does not count")["z"]
    for row, task in enumerate(TASKS):
        for layer in LAYERS:
            one = mine.loc[(task.name, layer)]
            counts = one["mean_q"] <= 0.05 if kind == "base-mean" else one["q"] <= 0.05 and not one["inside_control"]
            assert (grey[row][layer] is None) == counts
    assert f"all {len(TASKS) * 2 * (LAST + 1)} cells" in said(app), "the family is stated"


def test_a_learning_curve_has_the_accuracy_with_each_part_of_the_training_sentences(look):
    app = look("sentence_probes", learned_task=COORDINATION.name, learned_layer="3")
    line = traces(charts(app)[3], f"{BASE.name}, {FIRST_TOKEN}")[0]
    assert numbers(line["x"]) == [100, 400, 1600]
    assert numbers(line["y"]) == pytest.approx([shares(BASE, COORDINATION, FIRST, portion=portion)[3] for portion in (16, 4, 1)])
    best = look("sentence_probes", learned_task=COORDINATION.name)
    assert set(table_of(best, "portion", "n_train", "base_accuracy").query("pooling == 'mean'")["layer"]) == {3}


def turned(model, task, pooling: str, layer: int) -> dict[str, str]:
    """Name of each sentence that turned -> which way."""
    runs = [PlantedSentenceRun(one, task) for one in (BASE, model)]
    before, after = (right(run, Cell(pooling, layer)) for run in runs)
    names = [one.sha256[:16] for one in examples(task, "ours")]
    return {name: "right" if now else "wrong" for name, was, now in zip(names, before, after, strict=True) if was != now}


def test_the_sentences_that_turned_are_those_that_one_of_the_two_probes_has_right(look):
    query = {"tuned_model": COLA.name, "turned_task": BIGRAM.name, "turned_pooling": MEAN, "turned_layer": "1"}
    app = look("sentence_probes", **query)
    wanted = turned(COLA, BIGRAM, MEAN, 1)
    table = table_of(app, "base said", "turned")
    assert dict(zip(table["sentence"].str.removeprefix("text "), table["turned"], strict=True)) == wanted
    fell = sum(way == "wrong" for way in wanted.values())
    assert f"{fell} sentences turned wrong and {len(wanted) - fell} turned right" in said(app)
    only = look("sentence_probes", **query, turned_way="right")
    assert len(table_of(only, "base said", "turned")) == len(wanted) - fell
    assert "python -m probing fetch x-probe" in said(app) and not list(app.main.get("page_link"))


def test_words_that_may_be_shown_are_shown_and_lead_to_live(look):
    app = look("sentence_probes", tuned_model=COLA.name, turned_task=ODD.name, turned_pooling=FIRST, turned_layer="2")
    table = table_of(app, "base said", "turned")
    assert all(sentence.startswith("Sentence ") for sentence in table["sentence"])
    (link,) = app.main.get("page_link")
    assert "whole=Sentence+" in link.proto.query_string and f"live_model={COLA.name}" in link.proto.query_string


def test_words_are_found_in_the_data_that_were_fetched(sentences, tmp_path, monkeypatch):
    look = opening(sentences, tmp_path / "cache", monkeypatch)
    (tmp_path / "cache" / "downloads" / "x-probe").mkdir(parents=True)
    (tmp_path / "cache" / "downloads" / "x-probe" / "any.txt").write_text("here")

    data = SentenceData(BIGRAM.name, "ours", {"test": examples(BIGRAM, "ours")})
    monkeypatch.setattr(found_words, "read_task", lambda task, downloads, protocol: (None, data))
    app = look("sentence_probes", tuned_model=COLA.name, turned_task=BIGRAM.name, turned_pooling=MEAN, turned_layer="3")
    table = table_of(app, "base said", "turned")
    assert len(table) and all(sentence.startswith("Sentence ") for sentence in table["sentence"]) and "fetch x-probe" not in said(app)


def test_a_sentence_of_the_list_is_shown_by_a_link(look):
    name = list(turned(COLA, BIGRAM, MEAN, 3))[1]
    query = {"tuned_model": COLA.name, "turned_task": BIGRAM.name, "turned_pooling": MEAN, "turned_layer": "3", "turned_example": name}
    assert f"text {name}" in said(look("sentence_probes", **query))


def test_one_model_has_no_change_and_says_what_would_make_one(tmp_path, monkeypatch):
    runs = [run for run in RUNS if run.model is BASE]
    app = opening(plant_sentence_runs(tmp_path / "one", runs), tmp_path / "cache", monkeypatch)("sentence_probes")
    assert not app.exception and len(charts(app)) == 3
    assert any(one.value.startswith(f"{COMMAND} --model nesia-mini-") for one in app.code)


def test_what_is_not_in_the_results_is_ignored_with_a_note(look):
    app = look("sentence_probes", sentence_models="<b>gone</b>", sentence_protocol="senteval", tuned_model="gone", turned_layer="77")
    assert not app.exception and any("gone" in one.value and "senteval" in one.value for one in app.info)


LINES = "".join(f"the dog {number} is barking\tone\nthe dogs {number} are barking\tmany\n" for number in range(60))


@pytest.fixture
def upload(look):
    """The page with a tiny model and a way to upload."""
    app = look("sentence_probes", sentence_tasks=BIGRAM.name)
    app.selectbox(key="sentence_probes.live_model").set_value("tiny")

    def uploaded(name: str, content: str):
        app.file_uploader(key="own-sentences.file").set_value((name, content.encode(), "text/plain"))
        return app.run()

    return uploaded


def test_an_uploaded_file_gives_a_curve_with_its_baselines(upload, pauses):
    app = upload("number.tsv", f"sentence\tlabel\n{LINES}the dog 0 is barking\tone\n")
    assert "1 repeated texts" in said(app) and "2 labels: many, one" in said(app)
    app.button(key="own-sentences.ask").click().run()
    assert not app.exception and not app.warning
    assert len(pauses) > 2 * 3, "another user's question waits for a step of one layer's probe, not for the file"
    assert not [one for one in app.button if one.key == "own-sentences.cancel"], "it is offered while the model is asked"
    figure = charts(app)[-1]
    assert [note["text"] for note in figure["layout"]["annotations"] if note["text"] == "number"]
    table = [one.value for one in app.dataframe if set(one.value.get("task", [])) == {"number"}][-1]
    assert set(table["pooling"]) == {FIRST, MEAN} and set(table["majority"]) == {0.5}
    assert (table["right"] / table["n_test"]).tolist() == pytest.approx(table["accuracy"].tolist())
    assert "number: layer" in said(app) and "majority baseline (50.0 %)" in said(app)
    assert "barking" not in table.to_json(), "no text is kept"


def test_of_a_long_file_as_much_is_taken_as_the_page_says(upload, monkeypatch):
    monkeypatch.setattr(own_file, "MAX_AT_ONCE", 80)
    app = upload("number.tsv", f"sentence\tlabel\n{LINES}")
    assert {120, 80} <= set(numbers_in(line_with(app, "120"))), "sentences of the file, and those that are used"
    assert numbers_in(line_with(app, "sentences train"))[-3:] == [48, 8, 24], "training, development, test"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("mine.csv", "words,label\na,b\n", "sentence"),
        ("mine.tsv", "sentence\tlabel\na b\tone\nc d\ttwo\n", "at least 40"),
    ],
)
def test_an_upload_that_cannot_be_probed_is_named_without_a_traceback(upload, name, content, expected):
    app = upload(name, content)
    assert not app.exception and expected in words(app)


def test_a_sentence_too_long_for_the_model_is_counted(upload):
    app = upload("number.tsv", f"sentence\tlabel\n{LINES}{'dog ' * 10_000}\tone\n{'dogs ' * 9_999}\tmany\n")
    app.button(key="own-sentences.ask").click().run()
    assert not app.exception and "too long for the model" in said(app)
