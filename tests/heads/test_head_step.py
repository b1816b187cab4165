"""A step is the textbook's step, and an epoch visits what the recipe says."""

import json
import multiprocessing
import os
import shutil
import sys
from types import ModuleType

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModelForMaskedLM, get_linear_schedule_with_warmup

from probing.heads.files import head_path, validation_losses
from probing.heads.recipe import LATER, VERSION, HeadRecipe, batches, mask_rows, most_positions, steps_per_epoch
from probing.heads.states import StatesCache
from probing.heads.train import HeadStep, start_of, train_head, train_heads
from probing.kernel.errors import HeadError
from probing.kernel.models.load import load_encoder
from tests.heads.test_head_training import TRAIN, VALID, masked_states, recipe

IN_BLOCKS = {"pieces_per_block": 20, "blocks_per_step": 4, "positions": 0}


def test_options_that_came_later_are_left_out_of_the_recipe_at_their_default():
    shipped = json.loads(recipe().canonical())
    assert not set(shipped) & set(LATER)
    assert set(shipped) | set(LATER) == set(HeadRecipe.model_fields)
    later = {
        "pieces_per_block": 512,
        "blocks_per_step": 4,
        "precision": "bfloat16",
        "states_dtype": "float16",
        "steps": 9,
    }
    for name, value in later.items():
        stored = {"pieces_per_block": "pieces_a_block", "blocks_per_step": "blocks_a_step"}.get(name, name)
        made = recipe(**{name: value})
        assert json.loads(made.canonical()) == {**shipped, stored: value}
        assert HeadRecipe(**json.loads(made.canonical())) == made


def test_the_rate_goes_up_in_a_line_and_down_to_nothing():
    wanted = recipe(learning_rate=1.0, warm_up=0.2)
    assert [round(wanted.rate(step, 10), 3) for step in range(10)] == [
        0.5,
        1.0,
        1.0,
        0.875,
        0.75,
        0.625,
        0.5,
        0.375,
        0.25,
        0.125,
    ]


def test_a_recipe_of_version_2_has_the_rates_of_transformers():
    wanted = recipe(learning_rate=0.3, warm_up=0.2, version=VERSION)
    weight = torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.SGD([weight], lr=0.3)
    schedule = get_linear_schedule_with_warmup(optimiser, 2, 10)
    for step in range(10):
        assert wanted.rate(step, 10) == optimiser.param_groups[0]["lr"]
        optimiser.step()
        schedule.step()


def test_an_earlier_recipe_keeps_its_fingerprint_and_a_new_one_says_its_version():
    assert json.loads(recipe(version=VERSION).canonical()) == {**json.loads(recipe().canonical()), "version": VERSION}
    closed = recipe("least_squares", version=VERSION).canonical()
    assert closed == recipe("least_squares").canonical(), "a closed form takes no steps"
    with pytest.raises(HeadError, match="got version 3 of the recipe"):
        recipe(version=3).check()


@pytest.mark.parametrize("settings", [{}, IN_BLOCKS])
def test_an_epoch_visits_every_position_once_in_an_order_of_its_own(settings, bert):
    wanted = recipe(**settings)
    text = mask_rows(bert, TRAIN, wanted, wanted.positions, 0)
    epochs = [list(batches(wanted, text, 1, epoch)) for epoch in (0, 1)]
    for steps in epochs:
        assert sorted(np.concatenate(steps)) == list(range(len(text.labels)))
        assert len(steps) == steps_per_epoch(wanted, text)
        assert max(map(len, steps)) <= most_positions(wanted, text)
        assert all((np.diff(step) > 0).all() for step in steps)
    assert any(not np.array_equal(a, b) for a, b in zip(*epochs, strict=True))
    assert not np.array_equal(epochs[0][0], next(batches(wanted, text, 2, 0)))
    if settings:
        rows = [np.unique(np.searchsorted(text.cumulative, step, side="right")) for step in epochs[0]]
        assert {len(blocks) for blocks in rows[:-1]} == {4}, "a step is four whole blocks"


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_steps_are_those_of_the_straightforward_procedure(kind, bert, folder_of, tmp_path):
    """The whole model on whole blocks, logits at every position, loss on the masked ones, torch's own backward and
    AdamW.
    """
    wanted, layer = recipe(kind, **IN_BLOCKS), 2
    states = masked_states(bert, TRAIN, wanted, wanted.positions, 0, tmp_path)
    text, at_layer = states.text, states.layer(layer)
    total = steps_per_epoch(wanted, text)
    ours = HeadStep(bert, wanted, total, most_positions(wanted, text))
    start = ours.weights()
    head = start_of(bert, wanted)
    own = {name: p.requires_grad_() for name, p in head.trainable(kind).items()}
    optimiser = torch.optim.AdamW(own.values(), lr=1.0, weight_decay=wanted.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: wanted.rate(step, total))
    model = AutoModelForMaskedLM.from_pretrained(folder_of("bert")).eval()
    for step, positions in enumerate(batches(wanted, text, layer, 0)):
        ours.take(step, at_layer.at(positions), at_layer.labels[positions])
        rows = np.unique(np.searchsorted(text.cumulative, positions, side="right"))
        labels = torch.full((len(rows), wanted.pieces_per_block), -100)
        for row, block in enumerate(rows):
            masked = text.positions_of(block)
            labels[row, text.index[masked]] = torch.from_numpy(text.labels[masked])
        with torch.no_grad():
            ids = torch.tensor([text.row(block) for block in rows])
            hidden = model(input_ids=ids, output_hidden_states=True).hidden_states[layer]
        loss = F.cross_entropy(head(hidden).flatten(0, 1), labels.flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(own.values(), 1.0)
        optimiser.step()
        schedule.step()
    for name, weight in ours.weights().items():
        assert (weight - start[name]).norm() > 0.01 * start[name].norm(), "training moved it"
        assert (weight - own[name]).norm() < 1e-4 * own[name].norm(), name


def test_heads_train_on_blocks(bert, tmp_path):
    wanted = recipe("full", learning_rate=0.03, epochs=4, **IN_BLOCKS)
    train_heads(bert, TRAIN, VALID, wanted, tmp_path / "heads", StatesCache(tmp_path / "cache"), layers=[1])
    row = validation_losses(tmp_path / "heads", [1])[0]
    assert row["best"] < 0.7 * row["start"]


@pytest.mark.parametrize("seed", [0, 4])
def test_bfloat16_reaches_the_validation_loss_of_float32(seed, bert, tmp_path):
    best = {}
    for precision in ("float32", "bfloat16"):
        wanted = recipe("full", precision=precision, epochs=6, learning_rate=0.03, seed=seed)
        train_heads(bert, TRAIN, VALID, wanted, tmp_path / precision, StatesCache(tmp_path / "cache"), layers=[2])
        row = validation_losses(tmp_path / precision, [2])[0]
        best[precision] = row["best"]
        assert row["best"] < 0.7 * row["start"]
    assert best["bfloat16"] != best["float32"]
    assert best["bfloat16"] == pytest.approx(best["float32"], abs=0.05)


def one_bit(place):
    return lambda content: content[:-place] + bytes([content[-place] ^ 1]) + content[len(content) - place + 1 :]


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-300], lambda _: b"", one_bit(8), one_bit(800), one_bit(8000)]
)
def test_a_damaged_checkpoint_is_not_gone_on_from(damage, bert, tmp_path, monkeypatch):
    wanted = recipe("full")
    data = [
        masked_states(bert, text, wanted, n, seed, tmp_path / "cache")
        for text, n, seed in ((TRAIN, 200, 0), (VALID, 50, 1))
    ]
    whole = train_head(bert, 0, wanted, *data, tmp_path / "whole", torch.float32)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("probing.heads.train.save_head", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        train_head(bert, 0, wanted, *data, tmp_path / "again", torch.float32)
    partial = next((tmp_path / "again").glob("*.partial.sealed"))
    partial.write_bytes(damage(partial.read_bytes()))
    again = train_head(bert, 0, wanted, *data, tmp_path / "again", torch.float32)
    assert again.read_bytes() == whole.read_bytes()


def _train_in_a_process(model, folder, cache):
    torch.set_num_threads(1)
    # As in tests/conftest.py, which a process does not read: each of its checkpoints would wait for all that other
    # tests write.
    os.fsync = lambda handle: None
    train_heads(load_encoder(model, device="cpu"), TRAIN, VALID, recipe("full"), folder, StatesCache(cache))


def test_two_processes_that_train_the_same_heads_give_the_bytes_of_one(bert, folder_of, tmp_path, monkeypatch):
    # A page that another test opened may have left its script as the main module, which a new process would run.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    alone = train_heads(bert, TRAIN, VALID, recipe("full"), tmp_path / "alone", StatesCache(tmp_path / "cache-of-one"))
    # One process imports torch and everything else, and both are its forks.
    there = multiprocessing.get_context("forkserver")
    there.set_forkserver_preload([__name__])
    arguments = (folder_of("bert"), tmp_path / "both", tmp_path / "cache-of-both")
    both = [there.Process(target=_train_in_a_process, args=arguments) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert [head_path(tmp_path / "both", layer).read_bytes() for layer in range(4)] == [
        path.read_bytes() for path in alone
    ]
    left = {path.name for path in (tmp_path / "both").iterdir()} - {path.name for path in alone}
    assert left == {f"seconds-{layer:02d}.json" for layer in range(4)}, "nothing partial is left"


def test_finished_heads_need_no_states(bert, tmp_path, monkeypatch):
    paths = train_heads(bert, TRAIN, VALID, recipe(), tmp_path / "heads", StatesCache(tmp_path / "cache"))
    shutil.rmtree(tmp_path / "cache")
    monkeypatch.setattr("probing.heads.states.head_states", lambda *_: pytest.fail("computed again"))
    assert train_heads(bert, TRAIN, VALID, recipe(), tmp_path / "heads", StatesCache(tmp_path / "cache")) == paths
    assert not (tmp_path / "cache").exists()
    paths[1].unlink()
    with pytest.raises(HeadError, match="one layer takes"):
        train_heads(bert, TRAIN, VALID, recipe(), tmp_path / "heads", StatesCache(tmp_path / "cache", 10))
