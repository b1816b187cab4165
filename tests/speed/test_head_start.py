"""The contest of starts: wider heads are the same heads, and the cheapest training that is as good counts."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from probing.models.encoders.head import DecodingHead
from probing.models.encoders.load import load_encoder
from probing.models.heads.masked_states import MaskedStates
from probing.models.heads.masked_text import mask_rows
from probing.models.heads.recipe import HeadRecipe
from tests.models import tiny_models
from tests.speed.head_start import Contest, Side, Trained, Widened, contest, from_the_map, widen_head


def parts(hidden, tokens):
    return DecodingHead(nn.Linear(hidden, hidden), nn.GELU(), nn.LayerNorm(hidden), nn.Linear(hidden, tokens)).requires_grad_(False)


def test_a_head_made_wider_gives_the_same_distribution_for_states_that_are_side_by_side():
    torch.manual_seed(0)
    narrow, wide = SimpleNamespace(hidden=8, head=parts(8, 20)), SimpleNamespace(hidden=32, head=parts(32, 27))
    widen_head(narrow, wide)
    states = torch.randn(5, 8)
    own = narrow.head(states).log_softmax(1)
    other = wide.head(states.repeat(1, 4)).log_softmax(1)
    torch.testing.assert_close(other[:, :20], own, atol=1e-5, rtol=0)
    assert other[:, 20:].exp().max() < 1e-6, "made-up tokens take no probability"


def test_the_fewest_steps_from_the_map_that_are_as_good_as_today_count():
    today = Trained(354, 5.0, 10.0, 4)
    mapped = (Trained(0, 5.2, 1.0, 2), Trained(25, 4.9, 2.0, 3), Trained(50, 4.8, 3.0, 3))
    assert Side(2, today, mapped).reached.steps == 25
    assert Side(2, today, mapped[:1]).reached.steps == 0, "where none is as good, the longest"
    assert Side(2, today, mapped).map_alone.steps == 0


@pytest.mark.bench
def test_both_starts_train_on_the_same_states_with_their_validations_counted(tmp_path):
    encoder = load_encoder(tiny_models.save("bert", tmp_path / "bert"), device="cpu")
    recipe = HeadRecipe(kind="tied", text_sha256="made up", positions=64, validation_positions=32, batch=32, epochs=1)
    text = ["paris is the capital of france and rome is the capital of italy"] * 60
    states = [MaskedStates(encoder, mask_rows(encoder, text, recipe, 64, n), range(4), torch.float32, tmp_path / str(n)) for n in (0, 1)]
    for part in states:
        part.compute()
    (side,) = contest(Contest("tiny", encoder, *states, [2], 0.0, 4, ""), recipe, tmp_path)
    assert (side.today.steps, side.today.validations) == (2, 2)
    assert (side.mapped[0].steps, side.mapped[0].validations) == (0, 2), "the map alone is validated with and without the map"
    assert all((one.steps, one.validations) == (25, 3) for one in side.mapped[1:2])
    assert side.alike[-1].steps == 100 and [one.steps for one in side.alike[:-1]] in ([], [side.reached.steps])
    assert Widened(states[0], 2).layer(1).at(range(3)).shape == (3, 2 * encoder.hidden)
    assert from_the_map(recipe, 0).kind == "least_squares"
