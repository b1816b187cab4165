"""A benchmark whose two sides differ ends with an error: faults are planted, each must be noticed."""

import math

import numpy as np
import pytest
import torch

from probing.core.errors import ProbingError
from probing.core.facts.fact import Fact
from probing.models.encoders.load import load_encoder
from probing.models.heads.masked_states import MaskedStates
from probing.models.heads.masked_text import mask_rows
from probing.models.heads.recipe import HeadRecipe
from probing.models.heads.step import HeadStep
from tests.models import tiny_models
from tests.speed import fill_mask, heads, probing
from tests.speed.measurement import require_equal
from tests.speed.trex_prompts import Asked

pytestmark = pytest.mark.slow

SCORES = {5: 0.5, 9: 0.2, 7: 0.1}
WANTED = [{"token": token, "score": score} for token, score in SCORES.items()]
IDS, LOGS = list(SCORES), [math.log(score) for score in SCORES.values()]


def test_a_difference_is_an_error():
    require_equal(True, "nothing")
    with pytest.raises(ProbingError, match="two sides differ: the tokens"):
        require_equal(False, "the tokens")


@pytest.mark.parametrize(
    ("ids", "logs", "near"),
    [
        (IDS, LOGS, True),
        (IDS, [log + 1e-6 for log in LOGS], True),
        ([5, 9, 8], LOGS, True),  # Ties with the last one that the other kept.
        ([9, 5, 7], LOGS, False),
        ([6, 10, 8], LOGS, False),
        ([5, 8, 7], LOGS, False),
        (IDS, [log - 0.01 for log in LOGS], False),
        ([9, 5, 7], [LOGS[1], LOGS[0], LOGS[2]], False),
        (IDS, [math.nan, *LOGS[1:]], False),
    ],
)
def test_best_tokens_are_the_same_but_for_near_scores(ids, logs, near):
    assert (fill_mask.far_apart(ids, logs, WANTED) < fill_mask.NEAR) is near


@pytest.mark.parametrize("shift", [0, 1])
def test_tokens_that_are_not_the_pipelines_end_the_benchmark_of_probing(shift, tmp_path):
    encoder = load_encoder(tiny_models.save("bert", tmp_path / "bert"), device="cpu")
    fact = Fact("trex", "P36", "France", "Paris", "The capital of [X] is [Y].", "The capital of France is [MASK].")
    columns = {"top_ids": np.array([[IDS]]) + shift, "top_logp": np.array([[LOGS]])}
    arguments = (columns, [WANTED], ["The capital of France is [MASK]."], encoder, Asked([fact], [5], 1))
    if shift:
        with pytest.raises(ProbingError, match="two sides differ"):
            probing._agreement(*arguments)
    else:
        assert "of 1 prompts; of 0 more" in probing._agreement(*arguments)


@pytest.mark.parametrize("fault", ["", "masks", "gradients"])
def test_heads_that_are_not_the_straightforward_ones_end_the_benchmark_of_heads(fault, tmp_path, monkeypatch):
    folder = tiny_models.save("bert", tmp_path / "bert")
    encoder, steps = load_encoder(folder, device="cpu"), 3
    recipe = HeadRecipe(kind="full", text_sha256="", positions=0, pieces_per_block=16, blocks_per_step=2, warm_up=1 / steps)
    text = mask_rows(encoder, ["the capital of france is paris ."] * 40, recipe, 0, 0)
    monkeypatch.setattr(heads, "LAYER", 1)
    states = MaskedStates(encoder, text, range(encoder.layers), torch.float32, tmp_path / "states")
    layer = states.layer(1)
    if fault == "masks":
        layer.labels = np.roll(layer.labels, 1)
    if fault == "gradients":
        real = HeadStep.take
        monkeypatch.setattr(HeadStep, "take", lambda step, n, at, labels: real(step, n, at[: len(at) // 2], labels[: len(labels) // 2]))
    arguments = (encoder, encoder.body, recipe, text, layer, steps, 1.0)
    if fault:
        with pytest.raises(ProbingError, match="two sides differ"):
            heads._against_straightforward(*arguments)
    else:
        assert len(heads._against_straightforward(*arguments)) == 2
