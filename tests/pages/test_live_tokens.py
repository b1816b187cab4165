"""The view of all tokens of the live page, asked of a tiny model."""

import pytest

from probing.ui.frame.live_models import Choice, every_token
from probing.ui.live.tokens.view import TOP
from tests.models.tiny_models import LAYERS, save
from tests.pages.conftest import numbers_in, words

TEXT = "Rocky Balboa was born in Philadelphia."


@pytest.fixture
def look(visit, tmp_path):
    """Opens the view with a sentence for the tiny model."""
    save("bert", tmp_path / "cache" / "models" / "tiny")
    return lambda **query: visit("ask", "empty", {"live_view": "tokens", "live_model": "tiny", "live_head": "logit_lens", **query})


@pytest.fixture
def answer(tmp_path):
    """What the engine answers, with the ids of the best tokens."""
    return every_token(Choice("tiny", str(save("bert", tmp_path / "other")), "local"), TEXT, "logit_lens", TOP)


def test_every_cell_has_the_best_token_of_its_layer_and_token(look, answer):
    app = look(prompt=TEXT)
    assert not app.exception and not app.warning
    (table,) = [one.value for one in app.dataframe]
    assert list(table.columns) == ["token", *(f"layer {layer}" for layer in range(LAYERS + 1))]
    assert list(table["token"]) == list(answer.pieces)
    for layer in range(LAYERS + 1):
        assert list(table[f"layer {layer}"]) == [answer.words[one] for one in answer.ids[layer, :, 0]]
    own = [sum(best == token for best, token in zip(answer.ids[layer, :, 0], answer.own, strict=True)) for layer in (LAYERS, 0)]
    headline = next(one.value for one in app.main.markdown if "tokens" in one.value)
    assert numbers_in(headline)[-4:] == [own[0], len(answer.pieces), 0, own[1]]


def test_a_link_opens_a_cell_with_its_twenty_best_tokens_and_a_cell_that_does_not_exist_is_named(look, answer):
    app = look(prompt=TEXT, cell=f"{LAYERS}-2")
    _, cell = (one.value for one in app.dataframe)
    assert list(cell["token"]) == [answer.words[one] for one in answer.ids[LAYERS, 2]] and len(cell) == TOP
    assert list(cell["probability"]) == pytest.approx(answer.probabilities[LAYERS, 2].tolist(), abs=1e-6)
    for wrong in (f"{LAYERS + 1}-0", f"0-{len(answer.pieces)}", "a-b"):
        app = look(prompt=TEXT, cell=wrong)
        assert not app.exception and len(app.dataframe) == 1 and any(wrong in one.value.replace("\\", "") for one in app.info)


@pytest.mark.parametrize("prompt", ["[MASK] is in [MASK].", "Paris", "🙂🙃 <b>bold</b>"])
def test_a_sentence_with_several_gaps_or_none_is_asked(look, prompt):
    app = look(prompt=prompt)
    assert not app.exception and not app.warning and len(app.dataframe) == 1


def test_an_endless_sentence_gets_a_helpful_answer(look):
    app = look(prompt="word " * 600)
    assert not app.exception and "word pieces" in words(app) and not app.dataframe
