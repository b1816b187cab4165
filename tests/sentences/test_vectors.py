"""Vectors of whole sentences: those of transformers itself, independent of the other sentences of a batch."""

import numpy as np
import pytest
import torch

from probing.kernel.errors import ModelError
from probing.kernel.models.load import load_encoder
from probing.sentences import vectors
from probing.sentences.examples import Example
from probing.sentences.vectors import pooled_states, sentence_rows
from tests import tiny_models

ARCHITECTURES = ("bert", "roberta", "distilbert", "albert", "modernbert", "electra")
TEXTS = [
    "paris is the capital of france",
    "rome",
    "it plays jazz music in a red city and it is born in london",
    "one two",
]
EXAMPLES = [Example(text, "a") for text in TEXTS] + [
    Example("rome is red", "b", pair="it is the capital of italy"),
    Example("sun", "a", "moon"),
]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def encoder(request, tmp_path_factory):
    return load_encoder(
        tiny_models.save(request.param, tmp_path_factory.mktemp("vectors") / request.param), device="cpu"
    )


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return load_encoder(tiny_models.save("bert", tmp_path_factory.mktemp("vectors") / "bert"), device="cpu")


def slow(example, encoder):
    """(2, layers, hidden), one sentence at a time by transformers alone."""
    given = encoder.tokenizer(example.text, example.pair or None, return_tensors="pt")
    if getattr(encoder.body.config, "type_vocab_size", 1) < 2:
        given.pop("token_type_ids", None)
    with torch.inference_mode():
        states = torch.stack(encoder.body(**given, output_hidden_states=True).hidden_states)[:, 0]
    return torch.stack([states[:, 0], states.mean(1)]).numpy()


def test_vectors_are_the_first_token_and_the_mean_that_transformers_gives_one_by_one(encoder):
    found = pooled_states(sentence_rows(EXAMPLES, encoder), encoder)
    assert found.shape == (2, encoder.layers, len(EXAMPLES), encoder.hidden) and found.dtype == np.float32
    wanted = np.stack([slow(example, encoder) for example in EXAMPLES], 2)
    assert np.abs(found - wanted).max() <= 1e-5 * max(1, np.abs(wanted).max())


def test_padding_changes_no_number(bert, monkeypatch):
    examples = [Example(" ".join(tiny_models.WORDS[start : start + 1 + start % 9]), "a") for start in range(32)]
    rows = sentence_rows(examples, bert)
    monkeypatch.setattr(vectors, "ENOUGH_TOKENS", 10**6)
    together = pooled_states(rows, bert)
    monkeypatch.setattr(vectors, "TOKENS_A_BATCH", 1)
    assert np.abs(pooled_states(rows, bert) - together).max() <= 1e-5 * max(1, np.abs(together).max())


def test_the_two_sentences_of_a_pair_have_types_of_their_own_where_the_model_has_them(encoder):
    row = sentence_rows([Example("rome is red", "b", pair="it is")], encoder)[0]
    given = encoder.tokenizer("rome is red", "it is").get("token_type_ids", [])
    assert row.types == (tuple(given) if hasattr(encoder.body.config, "type_vocab_size") else ())
    if encoder.name in ("bert", "electra"):
        assert set(row.types) == {0, 1}


def test_a_sentence_longer_than_the_model_takes_has_no_row_and_is_never_cut(bert):
    fits, long = "red " * (bert.max_pieces - 2), "red " * (bert.max_pieces - 1)
    rows = sentence_rows([Example(fits, "a"), Example(long, "a"), Example(fits, "a", pair="red")], bert)
    assert len(rows[0].ids) == bert.max_pieces and rows[1:] == [None, None]


def test_progress_counts_every_sentence_once(bert):
    seen = []
    pooled_states(sentence_rows(EXAMPLES, bert), bert, seen.append)
    assert sum(seen) == len(EXAMPLES)
    assert pooled_states(sentence_rows([], bert), bert).shape[2] == 0


def test_states_that_are_no_numbers_are_an_error(bert, monkeypatch):
    monkeypatch.setattr(
        vectors, "all_hidden_states", lambda *_: [torch.full((1, 3, bert.hidden), torch.nan)] * (bert.layers)
    )
    with pytest.raises(ModelError, match="not finite"):
        pooled_states(sentence_rows([Example("rome", "a")], bert), bert)
