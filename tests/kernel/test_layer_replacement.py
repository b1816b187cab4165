"""Layers put back to the base's: both ends of the sweep are the two models, and nothing between is a copy."""

from dataclasses import replace

import pytest
import torch

from probing.kernel.models.layer_swap import (
    NOT_ALONE,
    NotReplaceable,
    check_replaceable,
    layers_of,
    replaced_states,
    sharing_copy,
)
from probing.kernel.models.load import load_encoder
from probing.kernel.models.states import all_hidden_states, tokenize
from probing.kernel.questions import NoMask
from probing.live.ask import ask_replaced, load_live
from tests import tiny_models

PROMPT = "Rocky Balboa was born in [MASK]."


def changed(encoder, *, embeddings: bool = False):
    """The encoder after a fine-tuning that moved every layer, and the embeddings if asked."""
    model, _ = tiny_models.build(encoder.body.config.model_type)
    body = getattr(model, model.base_model_prefix)
    body.load_state_dict(encoder.body.state_dict())
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for part in (body.embeddings, layers_of(body)) if embeddings else (layers_of(body),):
            for parameter in part.parameters():
                parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return replace(encoder, name="tuned", body=body.eval(), weights_id="tuned", base=encoder.name)


@pytest.fixture(params=sorted(tiny_models.KINDS.keys() - NOT_ALONE.keys()))
def pair(request, encoder_of):
    """A fine-tuned encoder with its base's embeddings, and the base."""
    base = encoder_of(request.param)
    return changed(base), base


def replace_layers(tuned, base, n, where="last"):
    """The fine-tuned encoder with the last or first n layers of the base, as a whole model; no weight is copied."""
    check_replaceable(tuned, base)
    for encoder in (tuned, base):
        # transformers hooks a model's layers at its first pass. After this call every layer has its hooks exactly once.
        all_hidden_states([[encoder.tokenizer.mask_token_id]], encoder)
    body = sharing_copy(tuned.body)
    for place in range(n) if where == "first" else range(tuned.depth - n, tuned.depth):
        layers_of(body)[place] = layers_of(base.body)[place]
    return replace(tuned, body=body)


def last_states(encoder, row):
    return all_hidden_states([row], encoder)[-1]


@pytest.mark.parametrize("where", ["last", "first"])
def test_no_layer_replaced_is_the_fine_tuned_model_and_all_are_the_base(pair, where):
    tuned, base = pair
    row = tokenize([PROMPT], base)[0]
    assert not torch.equal(last_states(tuned, row), last_states(base, row))
    assert torch.equal(last_states(replace_layers(tuned, base, 0, where), row), last_states(tuned, row))
    assert torch.equal(last_states(replace_layers(tuned, base, base.depth, where), row), last_states(base, row))
    states = replaced_states(row, tuned, base, where)
    assert torch.equal(states[:1], last_states(tuned, row))
    assert torch.equal(states[-1:], last_states(base, row))


@pytest.mark.parametrize("where", ["last", "first"])
def test_shared_computation_gives_what_each_mixed_model_gives(pair, where):
    tuned, base = pair
    tuned = changed(base, embeddings=True)
    row = tokenize([PROMPT], base)[0]
    states = replaced_states(row, tuned, base, where)
    assert states.shape == (base.layers, len(row), base.hidden)
    for n in range(base.layers):
        assert torch.equal(states[n : n + 1], last_states(replace_layers(tuned, base, n, where), row)), n
    assert not torch.equal(states[-1:], last_states(base, row)), "embeddings stay the fine-tuned model's"


def test_only_the_named_layers_change_and_no_weight_is_copied(pair):
    tuned, base = pair
    mixed = replace_layers(tuned, base, 1, "last")
    weights = [[p.data_ptr() for p in layers_of(e.body).parameters()] for e in (mixed, tuned, base)]
    split = len(weights[0]) - len(list(layers_of(base.body)[-1].parameters()))
    assert weights[0] == weights[1][:split] + weights[2][split:]
    assert [p.data_ptr() for p in mixed.body.embeddings.parameters()] == [
        p.data_ptr() for p in tuned.body.embeddings.parameters()
    ]
    first = [p.data_ptr() for p in layers_of(replace_layers(tuned, base, 1, "first").body)[0].parameters()]
    assert first == weights[2][: len(first)]


def test_the_two_models_are_as_they_were_afterwards(pair):
    tuned, base = pair
    row = tokenize([PROMPT], base)[0]
    before = [all_hidden_states([row], encoder) for encoder in pair]
    mixed = replace_layers(tuned, base, 1)
    assert len(all_hidden_states([row], mixed)) == base.layers
    replaced_states(row, tuned, base)
    for states, encoder in zip(before, pair, strict=True):
        assert all(torch.equal(one, two) for one, two in zip(states, all_hidden_states([row], encoder), strict=True))


def test_the_answer_is_read_by_the_fine_tuned_models_own_last_head(encoder_of):
    base = encoder_of("bert")
    live = load_live(changed(base), "logit_lens", None)
    found = ask_replaced(live, base, PROMPT, "last", 4, ("philadelphia", "red green"))
    assert (found.model, found.base, found.reader, found.where) == ("tuned", "tiny-bert", "tiny-bert", "last")
    ends = [
        live.ask(PROMPT, 4, ("philadelphia", "red green")).layers[-1],
        load_live(base, "logit_lens", None).ask(PROMPT, 4, ("philadelphia", "red green")).layers[-1],
    ]
    for step, end in zip((found.answer.layers[0], found.answer.layers[-1]), ends, strict=True):
        assert [token.ids for token in step.tokens] == [token.ids for token in end.tokens]
        assert step.watched == end.watched
    assert [step.layer for step in found.answer.layers] == list(range(base.layers))
    with pytest.raises(NoMask):
        ask_replaced(live, base, "no gap")


def test_layers_that_are_shared_are_refused_by_name(encoder_of):
    albert = encoder_of("albert")
    with pytest.raises(NotReplaceable, match="one set of weights"):
        replace_layers(albert, albert, 1)


def test_another_architecture_or_size_is_refused(encoder_of, tmp_path):
    with pytest.raises(NotReplaceable, match="3 layers of 16"):
        replace_layers(encoder_of("bert"), encoder_of("electra"), 1)
    model, tokenizer = tiny_models.build("bert")
    model.config.num_hidden_layers = 2
    del model.bert.encoder.layer[2]
    model.save_pretrained(tmp_path / "short")
    tokenizer.save_pretrained(tmp_path / "short")
    with pytest.raises(NotReplaceable, match="2 layers"):
        replaced_states([1, 2], encoder_of("bert"), load_encoder(tmp_path / "short", device="cpu"))
