"""The tabs of sentence probes on planted stores: their numbers are recomputed from the planted answers."""

import json

import numpy as np
import pytest

from probing.sentences.examples import FIRST, MEAN
from probing.sentences.numbers import Cell
from tests.pages.conftest import answers, charts, numbers, numbers_in, opening, plain, words
from tests.planted_relatives import BASE, LAYERS
from tests.sentences_planted import BIGRAM, PlantedSentenceRun, dev_right, gold, plant_sentence_runs, predicted
from tests.tiny_models import save

pytestmark = pytest.mark.usefixtures("unfolded")

FIRST_TOKEN, ALL_TOKENS = "first token", "mean of all tokens"


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    return plant_sentence_runs(tmp_path_factory.mktemp("sentences") / "runs")


def drawn(app) -> list[dict]:
    """The figures of the tab; the first of the page stands above it."""
    return charts(app)[1:]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Where a tiny model is that can be asked."""
    folder = tmp_path_factory.mktemp("cache")
    save("bert", folder / "models" / "tiny")
    return folder


@pytest.fixture
def look(sentences, cache, monkeypatch):
    opened = opening(sentences, cache, monkeypatch)
    return lambda tab="whole", **query: opened("grammar", grammar_tab=tab, **query)


def shares(model, task, pooling: str, protocol: str = "ours", **cell) -> list[float]:
    """Accuracy of a model's probes by layer, in per cent, answer by answer."""
    run = PlantedSentenceRun(model, task, protocol)
    truth = gold(task, protocol)
    return [100 * float(np.mean(np.array(predicted(run, Cell(pooling, layer, **cell))) == truth)) for layer in LAYERS]


def panel(app, title: str) -> dict:
    """The traces of a panel of the first figure, by name."""
    figure = drawn(app)[0]
    axis = next(
        note["yref"].split()[0] for note in figure["layout"]["annotations"] if note["text"].startswith(f"<b>{title}<")
    )
    return {
        trace.get("name"): trace for trace in figure["data"] if trace.get("yaxis", "y") == axis and trace["x"] != [None]
    }


def test_the_title_counts_what_beats_both_baselines_and_a_panel_names_the_layer_that_dev_chose(look):
    app = look()
    assert f"2 of 3 properties need {BASE.name}; for 1, length and words alone do as well." in answers(app)
    of_dev = dev_right(PlantedSentenceRun(BASE, BIGRAM))
    best = max(
        (Cell(pooling, layer) for pooling in (FIRST, MEAN) for layer in LAYERS),
        key=lambda cell: (of_dev[cell], -cell.layer),
    )
    point = panel(app, "Bigram shift")["layer chosen on dev"]
    assert numbers(point["x"]) == [best.layer] and point["marker"]["symbol"] == "circle"
    assert numbers(point["y"]) == pytest.approx([shares(BASE, BIGRAM, best.pooling)[best.layer]])
    assert panel(app, "Odd man out")["layer chosen on dev"]["marker"]["symbol"] == "circle-open"
    titles = [note["text"] for note in drawn(app)[0]["layout"]["annotations"] if note.get("name") == "title"]
    assert titles[-1].startswith("<b>Odd man out"), "what needs no model comes last"


def test_what_is_not_in_the_results_is_ignored_with_a_note(look):
    app = look(sentence_models="<b>gone</b>", sentence_protocol="senteval", learned_layer="77")
    assert not app.exception and any("gone" in one.value and "senteval" in one.value for one in app.info)


LINES = "".join(f"the dog {number} is barking\tone\nthe dogs {number} are barking\tmany\n" for number in range(60))


@pytest.fixture
def upload(look):
    """The tab with a tiny model and a way to upload."""
    app = look("own")
    app.selectbox(key="grammar.live_model").set_value("tiny")

    def uploaded(name: str, content: str):
        app.file_uploader(key="own-sentences.file").set_value((name, content.encode(), "text/plain"))
        return app.run()

    return uploaded


def test_an_uploaded_file_gives_a_curve_with_its_baselines(upload, pauses):
    app = upload("number.tsv", f"sentence\tlabel\n{LINES}the dog 0 is barking\tone\n")
    assert "1 repeated texts" in plain(app) and "2 labels: many, one" in plain(app)
    app.button(key="own-sentences.ask").click().run()
    assert not app.exception and not app.warning
    assert len(pauses) > 2 * 3, "another user's question waits for a step of one layer's probe, not for the file"
    assert not [one for one in app.button if one.key == "own-sentences.cancel"], (
        "it is offered while the model is asked"
    )
    lines = panel(app, "number")
    share, majority, surface = numbers_in(app.header[-1].value)[-3:]
    assert majority == 50 and round(float(lines["layer chosen on dev"]["y"][0])) == share
    assert round(float(lines["length and words alone"]["y"][0])) == surface
    assert {f"tiny, {name}" for name in (FIRST_TOKEN, ALL_TOKENS)} <= lines.keys()
    assert "barking" not in json.dumps(drawn(app)), "no text is kept"


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
    assert not app.exception and "too long for the model" in plain(app)
