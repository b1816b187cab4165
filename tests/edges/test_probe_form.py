"""A probe is the authors': its form, its start, its loss and its optimiser, against plain torch."""

import math

import numpy as np
import pytest
import torch

from probing.edges.probes import (
    ProbeKey,
    Shape,
    dropout_of,
    keys_of,
    logits_of,
    mask_of,
    mixing_weights,
    start_of,
    unpacked,
)
from probing.edges.requests import EdgeRecipe
from probing.edges.states import TrainingData, batch_of
from probing.edges.training import train_probes
from tests.edges.planted import arrays_of, drawn, drawn_part
from tests.reference.edge_probe import SlowProbe

CPU = torch.device("cpu")


def read_by(key: ProbeKey) -> list[int]:
    return [key.layer] if key.kind == "at" else list(range(key.layer + 1))


def slow_probes(keys: list[ProbeKey], shape: Shape, flat: torch.Tensor) -> list[SlowProbe]:
    given = unpacked(flat, shape)
    return [
        SlowProbe(read_by(key), shape.hidden, shape.spans, shape.width, shape.labels).take(
            {name: one[n] for name, one in given.items()}
        )
        for n, key in enumerate(keys)
    ]


def slow_logits(probe: SlowProbe, arrays, states, targets) -> torch.Tensor:
    rows = []
    for target in targets:
        spans = [states.states[span.of(np.array([target]))[0]] for span in arrays.spans]
        rows.append(probe([torch.from_numpy(one) for one in spans]))
    return torch.stack(rows)


@pytest.mark.parametrize("spans", [1, 2])
def test_probes_side_by_side_answer_as_each_does_in_plain_torch(spans):
    arrays, states = drawn_part(spans)
    keys = keys_of(["cumulative", "at", "full"], ["task"], [0, 1], 2)
    shape = Shape(3, 6, spans, 7, 5)
    draw = torch.Generator().manual_seed(3)
    flat = torch.randn((len(keys), shape.size), generator=draw) * 0.5
    targets = np.array([5, 3, 88, 40, 41])
    found = logits_of(flat, shape, mask_of(keys, 3), batch_of(arrays, states, targets, CPU))
    wanted = torch.stack([slow_logits(probe, arrays, states, targets) for probe in slow_probes(keys, shape, flat)])
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


def test_spans_of_one_piece_each_are_answered_as_among_longer_ones():
    arrays, states = drawn_part(1)
    single = np.flatnonzero(np.diff(arrays.spans[0].starts) == 1)[:6]
    longer = np.flatnonzero(np.diff(arrays.spans[0].starts) > 2)[:1]
    keys = keys_of(["cumulative"], ["task"], [0], 2)
    shape = Shape(3, 6, 1, 7, 5)
    flat = torch.stack([start_of(shape, 4)] * 3)
    alone, among = (
        logits_of(flat, shape, mask_of(keys, 3), batch_of(arrays, states, chosen, CPU))
        for chosen in (single, np.concatenate([single, longer]))
    )
    torch.testing.assert_close(alone, among[:, :6], rtol=1e-6, atol=1e-6)


def test_a_probe_starts_from_an_even_mix_and_maps_as_torch_draws_them():
    shape = Shape(5, 48, 2, 32, 9)
    flat = start_of(shape, 0)[None]
    weights, gamma = mixing_weights(flat, shape, mask_of([ProbeKey("cumulative", 3, "task", 0)], 5))
    assert weights[0].tolist() == [0.25, 0.25, 0.25, 0.25, 0.0] and gamma.tolist() == [1.0]
    for name, one in unpacked(flat, shape).items():
        if name.startswith(("project", "attend", "hidden", "out")):
            fan_in = {"project": 48, "attend": 32, "hidden": 64, "out": 32}[name.split(".")[0].rstrip("12")]
            assert one.abs().max() <= 1 / math.sqrt(fan_in)
            assert one.numel() < 200 or abs(one.std() * math.sqrt(3 * fan_in) - 1) < 0.1, name
    assert not torch.equal(flat[0], start_of(shape, 1)) and torch.equal(flat[0], start_of(shape, 0))


def test_dropout_is_equal_for_all_probes_of_a_seed_and_another_in_every_step():
    keys = keys_of(["cumulative", "at"], ["task", "control"], [0, 1], 2)
    one = dropout_of(keys, 0.3, 200, 50, 7)
    for first, a in zip(keys, one, strict=True):
        for second, b in zip(keys, one, strict=True):
            assert torch.equal(a, b) == (first.seed == second.seed)
    assert sorted(one.unique().tolist()) == pytest.approx([0.0, 1 / 0.7])
    assert abs((one == 0).float().mean() - 0.3) < 0.01
    few = dropout_of(keys[-2:], 0.3, 200, 50, 7)
    assert torch.equal(few[0], one[-1]), "other probes change nothing"
    assert not torch.equal(few[0], dropout_of(keys[-2:], 0.3, 200, 50, 8)[0])
    assert dropout_of(keys, 0.0, 5, 5, 1) is None


@pytest.mark.parametrize("spans", [1, 2])
@pytest.mark.parametrize("clip", [5.0, 0.05])
def test_three_steps_are_those_of_torch_s_adam_with_amsgrad_and_clipping(spans, clip):
    data = drawn(spans, targets=24)
    keys = [ProbeKey("cumulative", 2, "task", 0), ProbeKey("at", 1, "control", 0)]
    recipe = EdgeRecipe(width=7, dropout=0.0, learning_rate=0.02, batch=1000, clip=clip, check_every=3, most_checks=1)
    trained = train_probes(data, keys, recipe, CPU)
    for number, key in enumerate(keys):
        probe = slow_probes([key], trained.shape, start_of(trained.shape, 0)[None])[0]
        optimiser = torch.optim.Adam(probe.parameters(), lr=0.02, amsgrad=True)
        gold = torch.from_numpy(data.train.gold[int(key.labels == "control")]).float()
        for _ in range(3):
            optimiser.zero_grad()
            logits = slow_logits(probe, data.train, data.train_states, range(len(data.train)))
            torch.nn.functional.binary_cross_entropy(torch.sigmoid(logits), gold).backward()
            torch.nn.utils.clip_grad_norm_(probe.parameters(), clip)
            optimiser.step()
        found = {name: one[number] for name, one in unpacked(trained.flat, trained.shape).items()}
        for name, wanted in probe.given(3).items():
            # Adam divides by the size of the gradient: of those that are 0 except for rounding it makes anything up to
            # the rate.
            if not name.startswith("attend") or not name.endswith("bias"):
                torch.testing.assert_close(
                    found[name],
                    wanted,
                    rtol=1e-3,
                    atol=1e-4,
                    msg=lambda text, name=name, key=key: f"{key} {name}: {text}",
                )


def test_layers_that_a_probe_does_not_read_have_no_weight_and_change_no_byte():
    data = drawn(2)
    keys = keys_of(["cumulative", "at"], ["task"], [0], 2)
    recipe = EdgeRecipe(width=7, learning_rate=0.01, batch=8, most_checks=2)
    trained = train_probes(data, keys, recipe, CPU)
    weights, _ = mixing_weights(trained.flat, trained.shape, mask_of(keys, 3))
    for number, key in enumerate(keys):
        unread = sorted(set(range(3)) - set(read_by(key)))
        assert (weights[number, unread] == 0).all() and abs(float(weights[number].double().sum()) - 1) < 1e-6
    draw = np.random.default_rng(9)
    for layer in range(3):
        above = [n for n, key in enumerate(keys) if max(read_by(key)) < layer]
        noisy = []
        for states in (data.train_states, data.dev_states):
            changed = states.states.copy()
            changed[:, layer:] = draw.normal(size=changed[:, layer:].shape) * 50
            noisy.append(type(states)(changed))
        again = train_probes(TrainingData(data.train, noisy[0], data.dev, noisy[1], data.counted), keys, recipe, CPU)
        for number in above:
            assert torch.equal(again.flat[number], trained.flat[number]), (keys[number], layer)
        if layer:
            assert not torch.equal(again.flat[2], trained.flat[2])


def test_a_span_counts_its_own_pieces_only():
    gold = np.zeros((1, 2, 1), bool)
    states = drawn_part(1)[1]
    arrays = arrays_of(gold, [[[0, 1], [1, 2, 3]]])
    shape = Shape(3, 6, 1, 7, 1)
    flat, mask = start_of(shape, 0)[None], mask_of([ProbeKey("full", 2, "task", 0)], 3)
    before = logits_of(flat, shape, mask, batch_of(arrays, states, np.array([0, 1]), CPU))
    states.states[3] += 1
    after = logits_of(flat, shape, mask, batch_of(arrays, states, np.array([0, 1]), CPU))
    assert torch.equal(before[0, 0], after[0, 0]) and not torch.equal(before[0, 1], after[0, 1])
