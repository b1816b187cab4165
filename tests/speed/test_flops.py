"""What the benchmark of FLOP/s counts, against torch's own counter."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from probing.models.encoders.load import load_encoder
from tests.models import tiny_models
from tests.speed.flops import flops, product, shapes


@pytest.mark.bench
@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_the_count_is_torchs_own_for_rows_without_padding(architecture, tmp_path):
    encoder = load_encoder(tiny_models.save(architecture, tmp_path / architecture), device="cpu")
    encoder.body.set_attn_implementation("eager")
    heads = encoder.layers
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        for length in (5, 9):
            ids = torch.full((1, length), 7)
            states = encoder.body(input_ids=ids, output_hidden_states=True).hidden_states
            for state in states:
                encoder.head(state[0, 1:2])
    assert flops(encoder, [5, 9], heads) == counter.get_total_flops()


@pytest.mark.bench
def test_a_product_is_counted_by_its_shape(tmp_path):
    encoder = load_encoder(tiny_models.save("bert", tmp_path / "bert"), device="cpu")
    for m, k, n in shapes(encoder).values():
        assert m >= 2048 and min(k, n) >= encoder.hidden
    call, size = product(4, 3, 5)
    with FlopCounterMode(display=False) as counter:
        assert call().shape == (4, 5)
    assert size == counter.get_total_flops() == 2 * 4 * 3 * 5
