"""Perplexity with layers put back: equal to whole models that plain transformers runs, and both ends to the bit."""

import copy

import numpy as np
import pytest
import torch

from probing.changes.perplexity import base_cross_entropy, cross_entropy, masked_blocks, replaced_cross_entropy
from probing.kernel.models.layer_swap import NOT_ALONE, NotReplaceable, layers_of
from tests import tiny_models
from tests.kernel.test_layer_replacement import changed

LINES = [" ".join(tiny_models.WORDS[start % 30 : start % 30 + 12]) for start in range(120)]


def blocks_of(encoder, blocks=6, **settings):
    return masked_blocks(LINES, encoder.tokenizer, blocks, 24, **settings)


@pytest.fixture(params=sorted(tiny_models.KINDS.keys() - NOT_ALONE.keys()))
def pair(request, encoder_of):
    """An encoder whose layers and embeddings were moved, and its base."""
    base = encoder_of(request.param)
    return changed(base, embeddings=True), base


def slow_sums(body, head, blocks):
    """One block after the other, one masked piece after the other."""
    sums = []
    for ids, labels, at in zip(blocks.ids, blocks.labels, blocks.at, strict=True):
        with torch.no_grad():
            states = body(input_ids=torch.tensor(ids)[None]).last_hidden_state[0]
            sums.append(sum(-float(head(states[place]).log_softmax(-1)[labels[place]]) for place in np.flatnonzero(at)))
    return np.array(sums)


def test_masks_depend_on_the_block_and_the_seed_alone(bert):
    few, many, other = blocks_of(bert), blocks_of(bert, 12), blocks_of(bert, seed=1)
    same = np.isin(many.numbers, few.numbers)
    assert same.sum() == len(few)
    for name in ("ids", "labels", "at"):
        assert np.array_equal(getattr(many, name)[same], getattr(few, name)), name
    assert not np.array_equal(few.at, other.at)
    assert not few.at[np.isin(few.labels, bert.tokenizer.all_special_ids)].any()
    assert np.array_equal(few.ids[~few.at], few.labels[~few.at])


def test_fifteen_per_cent_are_masked_and_eight_of_ten_of_these_become_the_mask(bert):
    blocks = masked_blocks(LINES * 20, bert.tokenizer, 900, 24)
    assert blocks.at.sum() / (900 * 22) == pytest.approx(0.15, abs=0.01)
    assert (blocks.ids[blocks.at] == bert.tokenizer.mask_token_id).mean() == pytest.approx(0.8, abs=0.03)
    assert (blocks.ids[blocks.at] == blocks.labels[blocks.at]).mean() == pytest.approx(0.1, abs=0.03)


def test_no_layer_replaced_is_the_fine_tuned_model_and_all_with_embeddings_the_base_to_the_bit(pair):
    tuned, base = pair
    blocks = blocks_of(base, 3)
    ours = cross_entropy(tuned.body, base.head, blocks)
    for where in ("last", "first", "single"):
        assert np.array_equal(replaced_cross_entropy(tuned, base, where, blocks)[0], ours), where
    whole = copy.deepcopy(tuned.body)
    whole.load_state_dict(base.body.state_dict())
    assert np.array_equal(base_cross_entropy(base, blocks), cross_entropy(whole, base.head, blocks))
    assert not np.array_equal(replaced_cross_entropy(tuned, base, "last", blocks)[-1], base_cross_entropy(base, blocks))


@pytest.mark.parametrize("where", ["last", "first", "single"])
def test_shared_states_give_what_copied_models_with_swapped_layers_give(encoder_of, where):
    base = encoder_of("bert")
    tuned, blocks, last = changed(base, embeddings=True), blocks_of(base, 3), base.depth
    found = replaced_cross_entropy(tuned, base, where, blocks)
    assert found.shape == (last + 1, 3)
    for n in range(last + 1):
        places = {"last": range(last - n, last), "first": range(n), "single": [n - 1] if n else []}[where]
        body = copy.deepcopy(tuned.body)
        for place in places:
            layers_of(body)[place].load_state_dict(layers_of(base.body)[place].state_dict())
        np.testing.assert_allclose(found[n], slow_sums(body, base.head, blocks), rtol=1e-5, err_msg=f"{where} {n}")


def test_the_base_against_itself_changes_nothing(bert):
    blocks = blocks_of(bert)
    before = base_cross_entropy(bert, blocks)
    for where in ("last", "first", "single"):
        assert np.array_equal(replaced_cross_entropy(bert, bert, where, blocks), np.tile(before, (bert.layers, 1)))


def test_a_model_in_training_is_asked_as_in_use_and_goes_on_training(bert):
    blocks, body = blocks_of(bert), copy.deepcopy(bert.body)
    for part in body.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.5
    body.train()
    assert np.array_equal(cross_entropy(body, bert.head, blocks), cross_entropy(bert.body, bert.head, blocks))
    assert body.training


def test_layers_that_are_shared_cannot_be_put_back(encoder_of):
    albert = encoder_of("albert")
    with pytest.raises(NotReplaceable, match="one set of weights"):
        replaced_cross_entropy(albert, albert, "last", blocks_of(albert))
