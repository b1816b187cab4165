"""One sentence in two models, and minimal pairs by the logit lens."""

import numpy as np
import pytest
import torch

from probing.changes.minimal_pairs import two_sentences, two_words
from probing.changes.passes import Attending, ask_attention, pair_scores
from probing.kernel.errors import PromptError
from probing.kernel.models import states as hidden_states
from tests.kernel.test_layer_replacement import changed
from tests.reference import changes as slow

TEXT = "paris is red , rome is blue ."


def test_a_sentence_has_maps_shares_entropy_and_distance_of_every_head(bert):
    tuned = changed(bert, embeddings=True)
    found = ask_attention(TEXT, Attending(tuned), Attending(bert))
    shape = (bert.depth, 2, len(found.tokens))
    assert found.own.maps.shape == (*shape, len(found.tokens))
    assert found.own.entropy.shape == found.distance.shape == found.variation.shape == shape
    assert all(values.shape == shape for values in found.own.shares.values())
    assert found.tokens[0] == "[CLS]" and found.tokens[-1] == "[SEP]"
    assert found.distance[1, 1, 3] == pytest.approx(
        slow.movers_distance(found.own.maps[1, 1, 3], found.before.maps[1, 1, 3]), abs=1e-6
    )
    assert found.own.shares["punctuation"] == pytest.approx(found.own.maps[..., [4, 8]].sum(-1))
    assert (found.own.name, found.before.name) == ("tuned", "tiny-bert")


def test_attention_is_kept_in_float32_without_the_arrays_that_it_was_measured_in_and_long_work_pauses(bert):
    pauses = []
    found = ask_attention(
        TEXT, Attending(changed(bert, embeddings=True)), Attending(bert), pause=lambda: pauses.append(1)
    )
    arrays = [found.distance, found.variation]
    for one in (found.own, found.before):
        assert one.maps.dtype == np.float32
        arrays += [one.maps, one.entropy, *one.shares.values()]
    assert all(array.base is None for array in arrays), "a view keeps what it is a view of"
    assert found.nbytes == sum(array.nbytes for array in arrays)
    # Before the pass of each model, and before each layer of two distances.
    assert len(pauses) == 2 + 2 * bert.depth


def test_the_same_word_twice_is_compared_in_both_models(bert):
    tuned = changed(bert, embeddings=True)
    found = ask_attention(TEXT, Attending(tuned), Attending(bert))
    (word,) = found.repeated
    assert (word.word, word.places) == ("is", ((2,), (6,)))
    row = bert.tokenizer(TEXT)["input_ids"]
    for encoder, values in ((tuned, word.similarity), (bert, word.before)):
        states = slow.plain_states(encoder.body, row)
        assert values == pytest.approx([slow.cosine(layer[2], layer[6]) for layer in states], abs=1e-5)


def test_a_pair_of_sentences_has_its_token_types_and_two_separators(bert):
    found = ask_attention("paris is red", Attending(bert), pair="rome is blue")
    coded = bert.tokenizer("paris is red", "rome is blue", return_tensors="pt")
    with torch.no_grad():
        wanted = Attending(bert).encoder.body(**coded, output_attentions=True).attentions
    np.testing.assert_allclose(found.own.maps, torch.stack(wanted)[:, 0].numpy(), atol=1e-5)
    assert found.own.shares["separator"] == pytest.approx(found.own.maps[..., [4, 8]].sum(-1))
    assert found.before is None and found.distance is None
    assert [one.word for one in found.repeated] == ["is"] and found.repeated[0].before is None


def test_pair_scores_are_log_probabilities_of_the_word_at_every_layer(encoder_of, architecture):
    encoder = encoder_of(architecture)
    (found,) = pair_scores([two_words("Paris is in [MASK] .", "France", "Berlin")], encoder)
    assert found.shape == (encoder.layers, 2)
    assert (found < 0).all() and np.isfinite(found).all()


def test_pairs_in_batches_score_as_each_alone(encoder_of, architecture, monkeypatch):
    encoder, passes, pauses = encoder_of(architecture), [], []
    real = hidden_states.all_hidden_states
    monkeypatch.setattr(
        hidden_states, "all_hidden_states", lambda rows, *more: passes.append(len(rows)) or real(rows, *more)
    )
    given = [
        two_words("Paris is in [MASK] .", "France", "Berlin"),
        two_sentences("Rome is the capital of Italy and it is red .", "Rome is the capital of Berlin and it is red ."),
        two_words("[MASK] is red .", "moonjazz", "Rome"),
        two_words("Paris is in [MASK] .", "Italy", "France"),
        two_words("Paris is in [MASK] " + "and red " * 200, "France", "Berlin"),
    ]
    found = pair_scores(given, encoder, lambda: pauses.append(1))
    # Between passes, and before each layer is read.
    assert len(passes) == len(pauses) - encoder.layers < len(given)
    for pair, together in zip(given, found, strict=True):
        (alone,) = pair_scores([pair], encoder)
        if isinstance(alone, PromptError):
            assert isinstance(together, PromptError) and str(together) == str(alone)
        else:
            np.testing.assert_allclose(together, alone, atol=1e-5)
    assert [isinstance(one, PromptError) for one in found] == [False] * 4 + [True]


def test_a_word_of_several_pieces_is_masked_whole_and_its_pieces_add_up(bert):
    word = "moonjazz"
    row = bert.tokenizer(f"paris is {word} .")["input_ids"]
    pieces = row[3:-2]
    assert len(pieces) > 1
    masked = [*row[:3], *[bert.tokenizer.mask_token_id] * len(pieces), *row[-2:]]
    states = slow.plain_states(bert.body, masked)
    (found,) = pair_scores([two_words("paris is [MASK] .", word, "red")], bert)
    for layer, state in enumerate(states):
        with torch.no_grad():
            logp = bert.head(torch.tensor(state, dtype=torch.float32)).log_softmax(-1)
        assert found[layer, 0] == pytest.approx(
            sum(float(logp[3 + n, token]) for n, token in enumerate(pieces)), abs=1e-3
        )
