"""``Model.edges``: predictions of every layer for chosen words, in a notebook."""

from types import SimpleNamespace

import numpy as np
import pytest

from probing.api.answers import ask_spans
from probing.kernel.errors import EdgeDataError, OptionError
from tests.edges.planted_probes import plant_probes
from tests.tiny_models import LAYERS, save

SENTENCE = "Paris isn't the capital of Italy."
WORDS = ("Paris", "is", "n't", "the", "capital", "of", "Italy", ".")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A tiny model with planted probes, and its cache."""
    root = tmp_path_factory.mktemp("spans")
    encoder = plant_probes(save("bert", root / "tiny"), root / "cache")
    return SimpleNamespace(name=encoder.name, encoder=encoder, source=str(root / "tiny"), cache=root / "cache")


@pytest.fixture
def model(planted, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(planted.cache))
    return planted


def test_one_span_is_asked_of_tasks_of_one_and_two_of_both_kinds(model):
    one, two = ask_spans(model, SENTENCE, [(0, 1)]), ask_spans(model, SENTENCE, [(0, 1), (3, 5)])
    assert one.words == two.words == WORDS
    assert set(one.table["task"]) == {"pos", "entities"} and set(one.table["span2"]) == {""}
    assert set(two.table["task"]) == {"pos", "entities", "srl", "coreference"}, (
        "proto-roles are asked of single words only"
    )
    assert set(two.table.loc[two.table["task"] == "srl", "span2"]) == {"3:5"}


def test_shares_of_a_layer_sum_to_one_and_the_answer_is_the_last_layers_best(model):
    found = ask_spans(model, SENTENCE, [(0, 1)])
    np.testing.assert_allclose(found.table.groupby(["task", "layer"])["share"].sum(), 1)
    last = found.table[(found.table["task"] == "pos") & (found.table["layer"] == LAYERS)]
    answer = found.answers.set_index("task").loc["pos"]
    assert answer["answer"] == last.loc[last["p"].idxmax(), "label"] or answer["answer"].count(",")
    assert 0 <= answer["settled"] <= LAYERS and answer["f1"] == pytest.approx(0.5 + LAYERS / 100)


def test_the_figure_shows_itself_in_a_notebook(model):
    found = ask_spans(model, SENTENCE, [(0, 1)])
    assert found.figure().data and "plotly" in found._repr_html_()
    assert repr(found).startswith(
        "SpanAnswer(\"Paris is n't the capital of Italy .\", 0:1, model='tiny')\n  Part of speech of 'Paris': "
    )


def test_no_task_that_fits_is_an_empty_answer_that_says_so(model):
    found = ask_spans(model, SENTENCE, [(0, 2)], ["pos"])
    assert found.table.empty and list(found.table) == list(ask_spans(model, SENTENCE, [(0, 1)]).table)
    assert "No task fits" in found.figure().layout.annotations[0].text and "no task that has probes fits" in repr(found)


@pytest.mark.parametrize(
    ("spans", "error", "says"),
    [
        ([], OptionError, "got 0 spans; expected one, or two"),
        (None, EdgeDataError, r"got the span None; expected a list of pairs \(start, end\)"),
        ("ab", EdgeDataError, "got the span 'ab'"),
        ((0, 1), EdgeDataError, r"got the span 0; expected a list of pairs \(start, end\)"),
        ([("0", "1")], EdgeDataError, "got the span"),
        ([(3, 9)], EdgeDataError, r"got the span \(3, 9\) in a sentence of 8 words; expected 0 <= start < end <= 8"),
        ([(0, 1), (2, 2)], EdgeDataError, r"got the span \(2, 2\)"),
    ],
)
def test_wrong_spans_are_refused_with_the_words_and_their_numbers(model, spans, error, says):
    with pytest.raises(error, match=says) as raised:
        ask_spans(model, SENTENCE, spans)
    assert "the words are: 0 Paris  1 is  2 n't" in str(raised.value)


def test_a_long_sentence_is_cut_at_its_end_as_in_training(model):
    longest = model.encoder.max_pieces
    long = " ".join(["paris", "is", *["red"] * longest])
    kept = ask_spans(model, " ".join(long.split()[: longest - 2]), [(0, 1)])
    np.testing.assert_allclose(ask_spans(model, long, [(0, 1)]).table["p"], kept.table["p"], atol=1e-6)
    with pytest.raises(
        EdgeDataError, match=r"cannot be probed .beyond the model's longest input.; choose .* a shorter sentence"
    ):
        ask_spans(model, long, [(longest - 1, longest)])
