"""Nothing is left behind on the CPU where a model is on another device; shown on a device that only pretends to be
one.
"""

import itertools
from contextlib import ExitStack

import numpy as np
import pytest
import torch

from probing.facts.askable import answer_ids
from probing.facts.probe import ProbeWork, probe_layers
from probing.kernel.models import states as hidden_states
from probing.kernel.models.head import fresh_copy
from probing.kernel.models.load import load_encoder
from probing.kernel.models.states import all_hidden_states
from probing.live.ask import LiveModel
from tests.facts.test_probing import FACTS, config_for
from tests.kernel.other_device import ELSEWHERE, Elsewhere, OtherDevice, moved

PROMPT = "Rocky Balboa was born in [MASK]."


@pytest.fixture()
def elsewhere(folder_of, encoder_of, monkeypatch):
    """Loads a tiny model of an architecture and puts it on the other device, which is there from then on."""
    make = torch.tensor
    with ExitStack() as until_the_end:

        def load(name):
            encoder_of(name)  # The one on the CPU, to compare with, is kept ready too.
            encoder = load_encoder(folder_of(name), device="cpu")
            # Tensors that wrap others cannot tell views apart in inference mode; without gradients the operations are
            # the same.
            monkeypatch.setattr(torch, "inference_mode", torch.no_grad)
            # Numbers of Python's go to a device inside torch, unseen; here they are made on the CPU and then moved.
            monkeypatch.setattr(torch, "tensor", lambda numbers, device="cpu", **more: make(numbers, **more).to(device))
            until_the_end.enter_context(OtherDevice())
            return moved(encoder)

        yield load


def heads_of(encoder):
    """A head of every kind, at one layer or another."""
    kinds = itertools.islice(itertools.cycle(("logit_lens", "tied", "full")), encoder.layers)
    return [encoder.head if kind == "logit_lens" else fresh_copy(encoder.head, kind) for kind in kinds]


def test_the_other_device_refuses_what_is_not_there():
    with OtherDevice():
        here, there = torch.ones(3), torch.arange(3.0).to(ELSEWHERE)
        assert there.device.type == ELSEWHERE.type and (there + 1).device.type == ELSEWHERE.type
        assert (there * 2).cpu().tolist() == [0, 2, 4] and type(there.cpu()) is torch.Tensor
        assert isinstance(torch.zeros(2, device=ELSEWHERE), Elsewhere)
        with pytest.raises(RuntimeError, match="one device"):
            here + there
        with pytest.raises(RuntimeError, match="numpy"):
            there.numpy()


def test_hidden_states_are_computed_where_the_model_is(architecture, elsewhere, encoder_of):
    encoder = elsewhere(architecture)
    rows = hidden_states.tokenize([PROMPT, "It is [MASK]."], encoder)
    assert all(isinstance(state, Elsewhere) for state in all_hidden_states(rows, encoder))
    at = hidden_states.mask_positions(rows, encoder)
    np.testing.assert_allclose(
        hidden_states.states_at(rows, at, encoder),
        hidden_states.states_at(rows, at, encoder_of(architecture)),
        atol=1e-5,
    )


def test_a_run_is_probed_where_the_model_is(architecture, elsewhere, encoder_of, tmp_path):
    found = []
    for name, encoder in (("elsewhere", elsewhere(architecture)), ("here", encoder_of(architecture))):
        answers = answer_ids(FACTS, encoder)
        config = config_for(encoder, FACTS, answers)
        found.append(probe_layers(ProbeWork(encoder, heads_of(encoder), FACTS, answers, config, tmp_path / name)))
    for name in ("gold_rank", "answer_rank", "other_rank", "top_ids"):
        assert np.array_equal(found[0][name], found[1][name]), name
    np.testing.assert_allclose(found[0]["top_logp"], found[1]["top_logp"], atol=1e-4)


@pytest.mark.parametrize("pieces", [1, 2])
def test_a_sentence_is_answered_where_the_model_is(pieces, architecture, elsewhere, encoder_of):
    encoder = elsewhere(architecture)
    theirs, ours = (
        LiveModel(one, heads_of(one), "full").ask(PROMPT, 5, ("philadelphia",), None, pieces)
        for one in (encoder, encoder_of(architecture))
    )
    assert theirs.device == str(ELSEWHERE)
    for one, other in zip(theirs.layers, ours.layers, strict=True):
        assert [token.ids for token in one.tokens] == [token.ids for token in other.tokens]
        assert one.watched[0].rank == other.watched[0].rank
