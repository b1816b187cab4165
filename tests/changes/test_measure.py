"""Attention and states before and after, against transformers' own on models loaded for it, one sentence at a time."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from probing.changes.measure import measure
from probing.changes.measures import BY_HEAD, MEASURES
from probing.changes.passes import Attending
from probing.kernel.errors import TextError
from probing.kernel.models.states import all_hidden_states
from tests import tiny_models
from tests.kernel.test_layer_replacement import changed
from tests.reference import changes as slow

rng = np.random.default_rng(5)
SENTENCES = [" ".join(rng.choice(tiny_models.WORDS, size)) + " ." for size in (3, 5, 5, 7, 7, 7, 9, 4, 4, 6, 6, 6)]


@pytest.fixture()
def pair(encoder_of, architecture):
    base = encoder_of(architecture)
    if architecture == "albert":
        tuned = replace(base, body=copy.deepcopy(base.body))
        with torch.no_grad():
            for parameter in tuned.body.parameters():
                parameter *= 1.05
        return tuned, base
    return changed(base, embeddings=True), base


def by_name(found, head=None):
    values = {}
    for one in found.values:
        if one.head == head:
            values.setdefault(one.measure, {})[one.layer] = one
    return values


def eager(encoder):
    body = copy.deepcopy(encoder.body)
    body.set_attn_implementation("eager")
    return body


def test_every_measure_is_there_for_every_architecture_and_layer(pair):
    tuned, base = pair
    measured = measure(SENTENCES, tuned, base)
    found = by_name(measured)
    assert set(MEASURES) - set(found) <= {"self-similarity", "anisotropy"}
    for name, layers in found.items():
        first = 1 if not MEASURES[name].layer0 or (name in ("cka-first", "rsa-first") and 0 not in layers) else 0
        assert list(layers) == list(range(first, base.layers)), name
        assert all(
            np.isfinite([one.value, one.low, one.high]).all() and one.low <= one.value <= one.high
            for one in layers.values()
        )
    assert set(by_name(measured, head=1)) == set(BY_HEAD)


def test_entropy_and_distance_are_those_of_plain_transformers(encoder_of):
    base = encoder_of("bert")
    tuned = changed(base, embeddings=True)
    rows = base.tokenizer(SENTENCES)["input_ids"]
    own, before = ([slow.plain_attentions(eager(one), row) for row in rows] for one in (tuned, base))
    measured = measure(SENTENCES, tuned, base)
    found, of_head = by_name(measured), by_name(measured, head=1)
    for layer in range(1, base.layers):
        maps = [(a[layer - 1], b[layer - 1]) for a, b in zip(own, before, strict=True)]
        first = [np.mean([slow.entropy(head[0]) for head in a]) for a, _ in maps]
        every = [np.mean([slow.entropy(row) for head in a for row in head]) for a, _ in maps]
        moved = [np.mean([slow.movers_distance(x[0], y[0]) for x, y in zip(a, b, strict=True)]) for a, b in maps]
        separator = [float(a[:, 0, -1].mean()) for a, _ in maps]
        punctuation = [float(a[:, :, -2].mean()) for a, _ in maps]
        for name, values in (
            ("entropy-first", first),
            ("entropy-mean", every),
            ("emd-first", moved),
            ("to-separator-first", separator),
            ("to-punctuation-mean", punctuation),
        ):
            assert found[name][layer].value == pytest.approx(np.mean(values), abs=1e-5), name
        assert of_head["emd-first"][layer].value == pytest.approx(
            np.mean([slow.movers_distance(a[1][0], b[1][0]) for a, b in maps]), abs=1e-5
        )


def test_similarities_are_those_of_plain_transformers_states(encoder_of):
    base = encoder_of("bert")
    tuned = changed(base, embeddings=True)
    rows = base.tokenizer(SENTENCES)["input_ids"]
    own, before = ([slow.plain_states(one.body, row) for row in rows] for one in (tuned, base))
    found = by_name(measure(SENTENCES, tuned, base))
    for layer in range(base.layers):
        mean = [np.stack([states[layer].mean(0) for states in side]) for side in (own, before)]
        assert found["cka-mean"][layer].value == pytest.approx(slow.unbiased_cka(*mean), abs=1e-4)
        same = [
            np.mean([slow.cosine(x, y) for x, y in zip(a[layer], b[layer], strict=True)])
            for a, b in zip(own, before, strict=True)
        ]
        assert found["same-token-cosine"][layer].value == pytest.approx(np.mean(same), abs=1e-5)
    assert 0 not in found["cka-first"], "the first token is the same at layer 0"


def test_self_similarity_is_the_mean_cosine_of_a_word_in_its_sentences(bert):
    sentences = [f"paris is {word} in rome" for word in ("born", "red", "blue", "green", "music", "jazz")] + [
        "the moon was red"
    ] * 2
    found = by_name(measure(sentences, bert, None))["self-similarity"]
    for layer in range(bert.layers):
        vectors = {word: [] for word in (1, 2, 4, 5)}
        for row in bert.tokenizer(sentences[:6])["input_ids"]:
            for place in vectors:
                vectors[place].append(slow.plain_states(bert.body, row)[layer][place])
        assert found[layer].value == pytest.approx(
            np.mean([slow.mean_cosine(one) for one in vectors.values()]), abs=1e-5
        )
        assert found[layer].n == 4


def test_anisotropy_is_the_mean_cosine_of_different_words(bert):
    words = [*dict.fromkeys(tiny_models.WORDS), *"bcdefghi"]
    sentences = [" ".join(words[start : start + 6]) for start in range(0, len(words), 6)]
    found = by_name(measure(sentences, bert, None))["anisotropy"]
    rows = bert.tokenizer(sentences)["input_ids"]
    for layer in range(bert.layers):
        vectors = [state for row in rows for state in slow.plain_states(bert.body, row)[layer][1:-1]]
        assert found[layer].value == pytest.approx(slow.mean_cosine(vectors), abs=1e-5)
        assert found[layer].n == len(vectors)


def test_the_base_against_itself_has_distance_nothing_and_similarity_one(bert):
    found = by_name(measure(SENTENCES, bert, bert))
    for name, layers in found.items():
        for one in layers.values():
            if name.startswith(("emd", "total", "entropy-change")):
                assert (one.value, one.low, one.high) == (0, 0, 0), name
            elif MEASURES[name].change_of:
                assert one.value == pytest.approx(1, abs=1e-12), name


def test_no_number_depends_on_the_sentences_beside(encoder_of, architecture):
    encoder = encoder_of(architecture)
    reader = Attending(encoder)
    rows = encoder.tokenizer(SENTENCES)["input_ids"]
    for batch in reader.passes(rows):
        for place, number in enumerate(batch.numbers):
            maps, states = reader.read([rows[number]])
            np.testing.assert_allclose(batch.maps[:, place], maps[:, 0], atol=1e-5)
            np.testing.assert_allclose(batch.states[:, place], states[:, 0], atol=1e-4)


def test_the_reader_shares_the_weights_and_leaves_the_model_as_it_was(bert):
    before = bert.body.config._attn_implementation
    row = bert.tokenizer(SENTENCES[:1])["input_ids"]
    states = all_hidden_states(row, bert)
    reader = Attending(bert)
    assert {p.data_ptr() for p in reader.encoder.body.parameters()} == {p.data_ptr() for p in bert.body.parameters()}
    np.testing.assert_allclose(reader.read(row)[1][-1], states[-1].double().numpy(), atol=1e-4)
    assert bert.body.config._attn_implementation == before != "eager"
    assert all(torch.equal(a, b) for a, b in zip(states, all_hidden_states(row, bert), strict=True))


def test_sentences_that_are_too_long_are_counted_and_not_cut(bert):
    long = " ".join(["paris"] * 60)
    found = measure([*SENTENCES, long], bert, bert)
    assert (found.sentences, found.left_out) == (len(SENTENCES), {"too long for the model": 1})
    with pytest.raises(TextError, match="can read 1 of 2 sentences"):
        measure([SENTENCES[0], long], bert, None)
