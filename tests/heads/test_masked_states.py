"""States at masked positions: the encoder's own, whole whatever was killed or damaged, and within their budget."""

import contextlib
import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from probing.heads import recipe as text_module
from probing.heads import states as module
from probing.heads.files import head_path
from probing.heads.recipe import mask_rows
from probing.heads.states import StatesCache, plan, states_bytes
from probing.heads.train import train_heads
from probing.kernel.errors import HeadError
from probing.kernel.locks import shared_lock
from tests.heads.test_head_training import TRAIN, VALID, masked_states, recipe
from tests.tiny_models import as_read


@pytest.fixture()
def small_windows(monkeypatch):
    """About ten windows for 200 positions."""
    monkeypatch.setattr(module, "WINDOW", 20)


def everything(states):
    """(layers, positions, hidden) of all layers."""
    return np.stack([states.layer(layer).at(np.arange(len(states.text.labels))) for layer in states.layers])


def test_states_have_every_layer_and_only_ordinary_tokens_as_labels(bert, tmp_path):
    train = masked_states(bert, TRAIN, recipe(), 200, 0, tmp_path)
    assert everything(train).shape == (bert.layers, 200, bert.hidden)
    assert not set(train.text.labels.tolist()) & set(bert.tokenizer.all_special_ids)


@pytest.mark.parametrize("blocks", [0, 24])
def test_eighty_of_a_hundred_chosen_pieces_become_the_mask_and_ten_stay(blocks, bert):
    text = mask_rows(bert, TRAIN * 100, recipe(pieces_per_block=blocks), 3000, 0)
    rows = range(len(text.cumulative))
    now = [text.row(row)[text.index[position]] for row in rows for position in text.positions_of(row)]
    masked = np.mean([token == bert.tokenizer.mask_token_id for token in now])
    kept = np.mean(np.array(now) == text.labels)
    assert 3000 <= len(text.labels) == len(now) < 3000 + (blocks or 1)
    # Two standard deviations of 3,000 throws are 0.015 and 0.011.
    assert masked == pytest.approx(0.8, abs=0.03)
    assert kept == pytest.approx(0.1, abs=0.03)
    everything = sum(len(text.row(row)) - 2 for row in rows)
    assert 3000 / everything == pytest.approx(0.15, abs=0.1)


def test_blocks_are_the_text_end_to_end_between_special_tokens(bert):
    text = mask_rows(bert, TRAIN, recipe(pieces_per_block=20), 0, 0)
    pieces = [token for line in TRAIN for token in bert.tokenizer(line, add_special_tokens=False)["input_ids"]]
    blocks = {tuple(pieces[i : i + 18]) for i in range(0, len(pieces) - 17, 18)}
    ends = bert.tokenizer("")["input_ids"]
    for number in range(len(text.cumulative)):
        row = text.row(number)
        for position in text.positions_of(number):
            row[text.index[position]] = text.labels[position]
        assert [row[0], row[-1]] == ends
        assert tuple(row[1:-1]) in blocks
    # A block of 18 pieces has no mask with probability 0.85 ** 18, about 1 in 19.
    assert 0.8 * (len(pieces) // 18) < len(text.cumulative) <= len(pieces) // 18
    with pytest.raises(HeadError, match="expected 3 to 48 for"):
        mask_rows(bert, TRAIN, recipe(pieces_per_block=49), 0, 0)


@pytest.mark.parametrize("blocks", [0, 24])
def test_states_are_the_encoders_own_at_the_chosen_places(blocks, architecture, encoder_of, tmp_path, small_windows):
    encoder = encoder_of(architecture)
    train = masked_states(encoder, TRAIN, recipe(pieces_per_block=blocks), 60, 0, tmp_path)
    found, text = everything(train), train.text
    assert len(train.windows) > 1
    for row in range(len(text.cumulative)):
        with torch.inference_mode():
            hidden = encoder.body(input_ids=torch.tensor([text.row(row)]), output_hidden_states=True).hidden_states
        where = text.positions_of(row)
        for layer, state in enumerate(as_read(hidden, encoder)):
            np.testing.assert_allclose(found[layer, where], state[0, text.index[where]].numpy(), atol=1e-4)


def test_some_positions_of_a_layer_are_those_of_all(bert, tmp_path, small_windows):
    states = masked_states(bert, TRAIN, recipe(), 200, 0, tmp_path).layer(2)
    whole = states.at(np.arange(200))
    chosen = np.array([0, 3, 19, 20, 77, 198, 199])
    assert np.array_equal(states.at(chosen), whole[chosen])


def test_states_and_masks_are_read_from_disk_the_second_time(bert, tmp_path, monkeypatch):
    first = everything(masked_states(bert, TRAIN, recipe(), 200, 0, tmp_path))
    monkeypatch.setattr(module, "head_states", lambda *_: pytest.fail("computed again"))
    monkeypatch.setattr(text_module, "mask_rows", lambda *_: pytest.fail("masked again"))
    again = everything(masked_states(bert, TRAIN, recipe(kind="full", seed=3), 200, 0, tmp_path))
    assert np.array_equal(first, again)


def test_killed_in_the_middle_only_the_missing_windows_are_computed(bert, tmp_path, monkeypatch, small_windows):
    whole = everything(masked_states(bert, TRAIN, recipe(), 200, 0, tmp_path / "a"))
    real, computed = module.MaskedStates._compute, []

    def killed(states, number):
        if len(computed) == 4:
            raise KeyboardInterrupt
        computed.append(number)
        real(states, number)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module.MaskedStates, "_compute", killed)
        masked_states(bert, TRAIN, recipe(), 200, 0, tmp_path / "b")
    monkeypatch.setattr(
        module.MaskedStates, "_compute", lambda states, number: computed.append(number) or real(states, number)
    )
    again = masked_states(bert, TRAIN, recipe(), 200, 0, tmp_path / "b")
    assert sorted(computed) == list(range(len(again.windows)))
    assert np.array_equal(whole, everything(again))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_windows_that_are_read_are_no_open_files(dtype, bert, tmp_path, small_windows):
    states = masked_states(bert, TRAIN, recipe(states_dtype=dtype), 200, 0, tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    layer = states.layer(1)
    assert len(states.windows) >= 8 and len(layer.at(np.arange(200))) == 200
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("damage", ["truncated", "a bit turned", "missing", "foreign"])
def test_a_damaged_window_is_noticed_and_made_again(damage, bert, tmp_path, small_windows, caplog):
    states = masked_states(bert, TRAIN, recipe(), 200, 0, tmp_path)
    whole, path = everything(states), states._path(3)
    content = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(content[:-100])
    elif damage == "a bit turned":
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    elif damage == "missing":
        path.unlink()
    else:
        path.write_bytes(bytes(len(content)))
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(everything(states), whole)
    assert "window 3" in caplog.text
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-30], lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b"nothing of ours"]
)
def test_damaged_masks_are_noticed_and_made_again(damage, bert, tmp_path):
    masked_states(bert, TRAIN, recipe(), 200, 0, tmp_path)
    path = next(tmp_path.rglob("text.safetensors"))
    content = path.read_bytes()
    path.write_bytes(damage(content))
    masked_states(bert, TRAIN, recipe(), 200, 0, tmp_path)
    assert path.read_bytes() == content


def test_layers_are_grouped_into_passes_that_fit_the_budget(bert, caplog):
    one = states_bytes(1, 1000, bert.hidden)
    assert bert.layers == 4
    with caplog.at_level(logging.INFO):
        assert plan(bert, [0, 1, 2, 3], 1000, torch.float32, 4 * one) == [[0, 1, 2, 3]]
        assert plan(bert, [3], 1000, torch.float32, 4 * one) == [[0, 1, 2, 3]], "kept for others too"
        assert not caplog.text
        assert plan(bert, [0, 1, 2, 3], 1000, torch.float32, 3 * one) == [[0, 1], [2, 3]]
    # 4 x 1,000 x 16 x 4 bytes; 3/4 of that are the states of 750 positions.
    for said in (
        "0.3 MB in float32",
        "over the budget of 0.2 MB",
        "2 passes of the encoder for all layers",
        "float16 takes 0.1 MB",
        "750 positions of all layers",
    ):
        assert said in caplog.text
    assert plan(bert, [0, 1, 2, 3], 1000, torch.float32, one) == [[0], [1], [2], [3]]
    assert plan(bert, [2], 1000, torch.float32, one) == [[2]]
    assert plan(bert, [2], 1000, torch.float32, 2 * one) == [[2, 3]], (
        "the layers of one pass do not depend on what is wanted"
    )
    with pytest.raises(HeadError, match=r"one layer takes 0\.1 MB, 999 positions of one layer fit"):
        plan(bert, [0], 1000, torch.float32, one - 1)


def test_heads_of_layer_groups_are_the_bytes_of_heads_of_all_layers_and_leave_no_states(bert, tmp_path):
    arguments = (bert, TRAIN, VALID, recipe())
    whole = train_heads(*arguments, tmp_path / "whole", StatesCache(tmp_path / "a"))
    budget = states_bytes(2, 250, bert.hidden)
    grouped = train_heads(*arguments, tmp_path / "grouped", StatesCache(tmp_path / "b", budget))
    assert [path.read_bytes() for path in grouped] == [path.read_bytes() for path in whole]
    assert not list((tmp_path / "b").rglob("*.states"))
    one = train_heads(
        *arguments, tmp_path / "one", StatesCache(tmp_path / "c", states_bytes(1, 250, bert.hidden)), layers=[2]
    )
    assert one == [head_path(tmp_path / "one", 2)]
    assert one[0].read_bytes() == whole[2].read_bytes()


def test_states_that_another_kind_trains_from_stay_until_it_is_done(bert, tmp_path):
    budget, cache = states_bytes(2, 250, bert.hidden), tmp_path / "cache"
    train_heads(bert, TRAIN, VALID, recipe(), tmp_path / "heads", StatesCache(cache, budget), layers=[0])
    in_use = {path.parent for path in cache.rglob("*.states")}
    assert len(in_use) == 2, "layer 1 is of the same pass and still to be trained"
    with contextlib.ExitStack() as other:
        done = [other.enter_context(shared_lock(folder)) for folder in in_use]
        train_heads(bert, TRAIN, VALID, recipe(), tmp_path / "heads", StatesCache(cache, budget))
        assert {path.parent for path in cache.rglob("*.states")} == in_use
        for remove in done:
            remove()
    assert not list(cache.rglob("*.states"))


def test_layers_trained_one_by_one_share_the_passes_of_their_groups(bert, tmp_path, monkeypatch):
    computed, real = [], module.MaskedStates._compute
    monkeypatch.setattr(
        module.MaskedStates, "_compute", lambda states, n: computed.append(states.layers) or real(states, n)
    )
    for layer in range(4):
        budget = states_bytes(3, 250, bert.hidden)
        train_heads(
            bert, TRAIN, VALID, recipe(), tmp_path / "heads", StatesCache(tmp_path / "cache", budget), layers=[layer]
        )
    # One window of training and one of validation for each of two passes.
    assert computed == [(0, 1), (0, 1), (2, 3), (2, 3)]
    assert not list((tmp_path / "cache").rglob("*.states"))


def test_states_in_float16_take_half_and_are_rounded(bert, tmp_path):
    full, half = (
        masked_states(bert, TRAIN, recipe(states_dtype=dtype), 200, 0, tmp_path) for dtype in ("float32", "float16")
    )
    sizes = [sum(path.stat().st_size for path in states.folder.iterdir()) for states in (full, half)]
    sums = 4 * (bert.layers)
    assert sizes[0] - sums == 2 * (sizes[1] - sums) == states_bytes(4, 200, bert.hidden)
    np.testing.assert_allclose(everything(half), everything(full), rtol=2**-10, atol=1e-6)
