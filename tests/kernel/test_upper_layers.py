"""The upper layers of every architecture run on given states, against hooks in whole models of plain transformers."""

import pytest
import torch

from probing.kernel.models.layer_swap import NO_CUT, NOT_ALONE, NotReplaceable, layers_of, no_cut, run_from
from probing.kernel.models.states import all_hidden_states, tokenize
from tests import tiny_models

ALONE = sorted((tiny_models.KINDS | tiny_models.WHOLE).keys() - NOT_ALONE.keys())
PROMPTS = ["paris is the capital of [MASK] and it was red", "rome is the capital of [MASK] and it was blue"]


@pytest.fixture
def asked(encoder_of):
    """Gives an encoder, two rows of one length, and their states; the place of the gap."""

    def of(kind):
        encoder = encoder_of(kind)
        rows = tokenize([PROMPTS[0], PROMPTS[0]], encoder)
        other = tokenize(PROMPTS[1:], encoder)[0]
        rows[1] = other if len(other) == len(rows[0]) else [*reversed(rows[0])]
        return encoder, rows, all_hidden_states(rows, encoder), rows[0].index(encoder.tokenizer.mask_token_id)

    return of


def whole(encoder, rows, hooks):
    """The last states of the whole model, run by transformers with hooks on its layers."""
    layers, ids = layers_of(encoder.body), torch.tensor(rows)
    made = [layers[place].register_forward_hook(hook, with_kwargs=True) for place, hook in hooks]
    try:
        with torch.no_grad():
            return encoder.body(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    finally:
        for hook in made:
            hook.remove()


@pytest.mark.parametrize("kind", ALONE)
def test_unchanged_states_give_the_model_itself_and_others_what_hooks_give(asked, kind):
    encoder, rows, states, gap = asked(kind)
    for layer in range(encoder.layers - 1):
        assert torch.equal(run_from(encoder, layer, states[layer], rows), states[-1]), layer
    for layer in range(1, encoder.depth):
        put = states[layer].clone()
        put[0, gap] = states[layer][1, gap + 1]

        def swap(_module, _args, _kwargs, output, put=put):
            tensor = output[0] if isinstance(output, tuple) else output
            tensor = tensor.clone()
            tensor[0, gap] = put[0, gap]
            return (tensor, *output[1:]) if isinstance(output, tuple) else tensor

        # The convolution of DeBERTa-v2 lies between the first layer and the states after it.
        if kind == "deberta-v2" and layer == 1:
            continue
        found = run_from(encoder, layer, put, rows)
        torch.testing.assert_close(found, whole(encoder, rows, [(layer - 1, swap)]), rtol=1e-5, atol=1e-6)
        assert not torch.equal(found[0], states[-1][0]) and torch.equal(found[1], states[-1][1])


@pytest.mark.parametrize("kind", sorted(set(ALONE) - NO_CUT.keys()))
def test_a_cut_hides_tokens_from_one_token_in_every_layer_above(asked, kind):
    encoder, rows, states, gap = asked(kind)
    size, hidden, last = len(rows[0]), [gap - 1, gap - 2], encoder.depth - 1
    cut = torch.zeros(2, size, size, dtype=torch.bool)
    for layer in range(encoder.depth):
        assert torch.equal(run_from(encoder, layer, states[layer], rows, cut=cut), states[-1]), "no cut, no change"
    cut[0, gap, hidden] = True
    found = run_from(encoder, last, states[last], rows, cut=cut)
    changed = (found - states[-1]).abs().amax(-1) > 0
    assert changed.nonzero().tolist() == [[0, gap]], "in one layer only the token itself is affected"
    other = states[last].clone()
    other[:, hidden] = -other[:, hidden]
    assert torch.equal(run_from(encoder, last, other, rows, cut=cut)[0, gap], found[0, gap]), "nothing of them is seen"
    assert not torch.equal(run_from(encoder, last, other, rows)[0, gap], states[-1][0, gap])
    lower = run_from(encoder, 0, states[0], rows, cut=cut)
    assert not torch.equal(lower[0, gap], found[0, gap]) and torch.equal(lower[1], states[-1][1])


def test_attention_of_the_gap_to_the_hidden_tokens_is_nought_and_of_all_others_as_before(encoder_of):
    encoder = encoder_of("bert")
    rows = tokenize(PROMPTS[:1], encoder)
    states, gap, size = all_hidden_states(rows, encoder), 6, len(rows[0])
    assert rows[0][gap] == encoder.tokenizer.mask_token_id
    cut = torch.zeros(1, size, size, dtype=torch.bool)
    cut[0, gap, [1, 2]] = True
    found, layer = run_from(encoder, encoder.depth - 1, states[-2], rows, cut=cut), layers_of(encoder.body)[-1]
    own = layer.attention.self
    with torch.no_grad():
        parts = [
            getattr(own, name)(states[-2]).view(1, size, own.num_attention_heads, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        ]
        query, key, value = parts
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        scores[:, :, gap, [1, 2]] = -torch.inf
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(1, size, -1)
        inner = layer.attention.output(mixed, states[-2])
        slow = layer.output(layer.intermediate(inner), inner)
    torch.testing.assert_close(found, slow)


@pytest.mark.parametrize("kind", sorted(NOT_ALONE))
def test_what_has_no_layers_as_modules_is_refused_with_the_reason(encoder_of, kind):
    with pytest.raises(NotReplaceable, match=f"'{kind}', and its layers cannot be run alone"):
        layers_of(encoder_of(kind).body)


def test_where_tokens_cannot_be_hidden_the_reason_is_given(encoder_of):
    assert all("no token can be kept from seeing others: in " in no_cut(encoder_of(kind).body) for kind in NO_CUT)
    assert not no_cut(encoder_of("bert").body)
