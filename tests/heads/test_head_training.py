import json
import math

import numpy as np
import pytest
import torch

from probing.heads import train as training
from probing.heads.files import head_path, load_head, read_identity, read_seconds, validation_losses
from probing.heads.recipe import HeadRecipe, text_sha256
from probing.heads.states import MaskedStates, StatesCache, masked_text_of, place_of
from probing.heads.train import HeadStep, start_of, train_head, train_heads
from probing.kernel.errors import HeadError

#: A text with a rule: what is asked is always answered by the same word.
TRAIN = [f"the capital of {land} is {city} ." for land, city in (("france", "paris"), ("italy", "rome"))] * 120
VALID = TRAIN[:80]


def recipe(kind="tied", **more):
    settings = {"positions": 200, "validation_positions": 50, "epochs": 2, "batch": 32, "learning_rate": 0.01}
    return HeadRecipe(kind=kind, text_sha256=text_sha256(TRAIN, VALID), **{**settings, **more})


def masked_states(encoder, sentences, wanted, positions, seed, cache):
    """States of all layers, computed."""
    text = masked_text_of(encoder, sentences, wanted, positions, seed, cache)
    place = place_of(encoder, wanted, positions, seed, cache)
    found = MaskedStates(encoder, text, range(encoder.layers), wanted.window_dtype, place)
    found.compute()
    return found


@pytest.fixture()
def states(bert, tmp_path):
    """Training and validation states in a cache of the test's own."""

    def make(wanted):
        cache = tmp_path / "states"
        train = masked_states(bert, TRAIN, wanted, wanted.positions, 0, cache)
        return train, masked_states(bert, VALID, wanted, wanted.validation_positions, 1, cache)

    return make


def curve(folder, layer=0):
    return json.loads(read_identity(head_path(folder, layer)).validation)


def test_validation_loss_is_the_mean_cross_entropy_in_nats(bert, states):
    _, valid = states(recipe())
    layer = valid.layer(1)
    ours = HeadStep(bert, recipe(), steps=1, max_positions=7).validation_loss(layer)
    logits = bert.head(torch.from_numpy(layer.at(np.arange(len(layer))))).tolist()
    slow = [
        math.log(sum(math.exp(score) for score in row)) - row[label]
        for row, label in zip(logits, layer.labels.tolist(), strict=True)
    ]
    assert ours == pytest.approx(sum(slow) / len(slow), abs=1e-4)


@pytest.mark.parametrize("kind", ["tied", "full"])
def test_the_loss_goes_down_on_a_text_with_a_rule(kind, bert, tmp_path):
    folder = tmp_path / kind
    paths = train_heads(
        bert, TRAIN, VALID, recipe(kind, epochs=8, learning_rate=0.03), folder, StatesCache(tmp_path / "cache")
    )
    assert [path.name for path in paths] == [f"layer-{n:02d}.safetensors" for n in range(bert.layers)]
    for row in validation_losses(folder, range(bert.layers)):
        assert row["best"] < 0.7 * row["start"]
    # 200 positions in batches of 32 are 7 steps an epoch.
    assert [step for step, _ in curve(folder)] == [7 * epoch for epoch in range(9)]


def test_a_tied_head_leaves_the_vocabulary_matrix_untouched_and_a_full_one_changes_it(bert, states, tmp_path):
    before = bert.head.vocabulary.weight.clone()
    loaded = {}
    for kind in ("tied", "full"):
        wanted = recipe(kind)
        train_head(bert, 1, wanted, *states(wanted), tmp_path / kind, torch.float32)
        loaded[kind] = load_head(tmp_path / kind, bert, 1, kind)
    assert torch.equal(bert.head.vocabulary.weight, before)
    assert torch.equal(loaded["tied"].vocabulary.weight, before)
    assert not torch.equal(loaded["full"].vocabulary.weight, before)
    for head in loaded.values():
        assert not torch.equal(head.dense.weight, bert.head.dense.weight)
        assert not torch.equal(head.vocabulary.bias, bert.head.vocabulary.bias)


def test_training_changes_neither_body_nor_pretrained_head(bert, states, tmp_path):
    parameters = [*bert.body.parameters(), *bert.head.parameters()]
    before = [p.clone() for p in parameters]
    train_head(bert, 2, recipe("full"), *states(recipe("full")), tmp_path / "full", torch.float32)
    assert all(torch.equal(a, b) for a, b in zip(before, parameters, strict=True))
    assert not any(p.requires_grad for p in parameters)


@pytest.mark.parametrize("rate", [0.0, 1e6])
def test_the_start_is_kept_where_training_only_harms(rate, bert, states, tmp_path):
    wanted = recipe(learning_rate=rate)
    train_head(bert, 0, wanted, *states(wanted), tmp_path / "tied", torch.float32)
    head = load_head(tmp_path / "tied", bert, 0, "tied")
    for name, tensor in bert.head.state_dict().items():
        assert torch.equal(head.state_dict()[name], tensor), name
    assert validation_losses(tmp_path / "tied", [0])[0]["best_step"] == 0


def test_the_best_epoch_is_kept_and_not_the_last(bert, states, tmp_path, monkeypatch):
    losses = iter([3.0, 2.0, 1.0, 2.5])
    kept = []
    monkeypatch.setattr(
        HeadStep, "validation_loss", lambda step, _: kept.append(step.head.dense.weight.clone()) or next(losses)
    )
    wanted = recipe(epochs=3)
    train_head(bert, 0, wanted, *states(wanted), tmp_path / "tied", torch.float32)
    assert torch.equal(load_head(tmp_path / "tied", bert, 0, "tied").dense.weight, kept[2])
    assert [loss for _, loss in curve(tmp_path / "tied")] == [3.0, 2.0, 1.0, 2.5]


@pytest.mark.parametrize(
    ("kind", "seconds", "again", "more"),
    [
        ("tied", 300.0, 2, {}),
        ("full", 300.0, 2, {}),
        ("full", 0.0, 0, {}),
        ("tied", 300.0, 2, {"start": "least-squares"}),
        ("tuned_lens", 300.0, 2, {"start": "least-squares"}),
        ("tuned_lens", 0.0, 0, {"start": "pre-trained"}),
        ("tied", 300.0, 1, {"start": "least-squares", "steps": 20, "validate_every": 4, "patience": 5}),
    ],
)
def test_killed_and_called_again_the_head_has_the_same_bytes(
    kind, seconds, again, more, bert, states, tmp_path, monkeypatch
):
    wanted, taken = recipe(kind, epochs=3, **more), []
    train, valid = states(wanted)
    target = train.layer(bert.depth) if wanted.follows else None
    whole = train_head(bert, 1, wanted, train, valid, tmp_path / "whole", torch.float32, target)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", seconds)
    # 7 steps an epoch: killed in the middle of the second and of the third.
    for die_at in (9, 17):
        real = HeadStep.take

        def killed(step, number, *batch, real=real, die_at=die_at):
            if number == die_at:
                raise KeyboardInterrupt
            taken.append(number)
            real(step, number, *batch)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(HeadStep, "take", killed)
            train_head(bert, 1, wanted, train, valid, tmp_path / "resumed", torch.float32, target)
        assert not head_path(tmp_path / "resumed", 1).is_file()
    resumed = train_head(bert, 1, wanted, train, valid, tmp_path / "resumed", torch.float32, target)
    assert resumed.read_bytes() == whole.read_bytes()
    # Without checkpoints inside the epoch its first two steps are taken again, with one after every step none is.
    assert len(taken) - len(set(taken)) == again
    assert sorted(path.name for path in resumed.parent.iterdir()) == [resumed.name, "seconds-01.json"], (
        "nothing partial is left"
    )
    seconds_of = [read_seconds(folder, 1, wanted.canonical()) for folder in (tmp_path / "whole", tmp_path / "resumed")]
    assert all(0 < one < 600 for one in seconds_of) and read_seconds(tmp_path / "whole", 1, "another recipe") is None


@pytest.mark.parametrize(
    ("losses", "patience", "tolerance", "steps"),
    [
        ([3.0, 2.0, 2.1, 2.2, 1.0, 0.5, 0.4], 2, 0.0, [0, 4, 8, 12]),
        ([3.0, 2.0, 2.1, 1.9, 1.95, 0.5, 0.4], 2, 0.0, [0, 4, 8, 12, 16, 20, 22]),
        ([3.0, 2.0, 1.95, 1.0, 0.5, 0.4, 0.3], 1, 0.1, [0, 4, 8]),
        ([3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6], 0, 0.0, [0, 4, 8, 12, 16, 20, 22]),
    ],
)
def test_training_ends_when_the_validation_loss_has_stopped_falling(
    losses, patience, tolerance, steps, bert, states, tmp_path, monkeypatch
):
    given = iter(losses)
    monkeypatch.setattr(HeadStep, "validation_loss", lambda *_: next(given))
    wanted = recipe(steps=22, validate_every=4, patience=patience, tolerance=tolerance)
    train_head(bert, 0, wanted, *states(wanted), tmp_path / "tied", torch.float32)
    assert curve(tmp_path / "tied") == [list(point) for point in zip(steps, losses, strict=False)]


def test_a_training_that_has_stopped_is_not_gone_on_with_after_a_kill(bert, states, tmp_path, monkeypatch):
    given = iter([3.0, 2.0, 2.5, 1.0])
    monkeypatch.setattr(HeadStep, "validation_loss", lambda *_: next(given))
    wanted = recipe(steps=22, validate_every=4, patience=1)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(training, "save_head", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        train_head(bert, 0, wanted, *states(wanted), tmp_path / "tied", torch.float32)
    monkeypatch.setattr(HeadStep, "take", lambda *_: pytest.fail("gone on with"))
    train_head(bert, 0, wanted, *states(wanted), tmp_path / "tied", torch.float32)
    assert curve(tmp_path / "tied") == [[0, 3.0], [4, 2.0], [8, 2.5]]


def test_steps_may_be_fewer_than_an_epoch_or_more_than_all_epochs(bert, states, tmp_path):
    for steps, points in ((3, [0, 3]), (16, [0, 7, 14, 16])):
        wanted = recipe(steps=steps)
        train_head(bert, 0, wanted, *states(wanted), tmp_path / str(steps), torch.float32)
        assert [step for step, _ in curve(tmp_path / str(steps))] == points


def test_a_checkpoint_of_another_recipe_is_not_gone_on_from(bert, states, tmp_path, monkeypatch):
    wanted, other = recipe(seed=1), recipe(seed=2)
    train, valid = states(wanted)
    whole = train_head(bert, 0, wanted, train, valid, tmp_path / "whole", torch.float32)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(training, "save_head", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        train_head(bert, 0, other, train, valid, tmp_path / "b", torch.float32)
    assert list((tmp_path / "b").glob("*.partial.sealed"))
    again = train_head(bert, 0, wanted, train, valid, tmp_path / "b", torch.float32)
    assert again.read_bytes() == whole.read_bytes()


def test_states_of_another_thread_count_are_not_taken(bert, tmp_path, monkeypatch):
    here = place_of(bert, recipe(), 200, 0, tmp_path)
    assert place_of(bert, recipe(seed=3), 200, 0, tmp_path) == here, "seeds share states"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    assert place_of(bert, recipe(), 200, 0, tmp_path) != here


def test_the_second_run_does_nothing(bert, tmp_path, monkeypatch):
    folder = tmp_path / "tied"
    paths = train_heads(bert, TRAIN, VALID, recipe(), folder, StatesCache(tmp_path / "cache"))
    before = [(path.stat().st_mtime_ns, path.read_bytes()) for path in paths]
    monkeypatch.setattr(training, "fresh_copy", lambda *_: pytest.fail("trained again"))
    assert train_heads(bert, TRAIN, VALID, recipe(), folder, StatesCache(tmp_path / "cache")) == paths
    assert [(path.stat().st_mtime_ns, path.read_bytes()) for path in paths] == before


def test_a_checkpoint_that_outlived_its_head_is_deleted_by_the_next_call(bert, tmp_path):
    folder = tmp_path / "heads"
    train_heads(bert, TRAIN, VALID, recipe(), folder, StatesCache(tmp_path / "cache"), layers=[0, 1])
    for layer in (0, 2):
        training.checkpoint_path(folder, layer).write_bytes(b"killed before it was deleted")
    train_heads(bert, TRAIN, VALID, recipe(), folder, StatesCache(tmp_path / "cache"), layers=[0, 1])
    assert [path.name for path in folder.glob("*.partial.sealed")] == ["layer-02.partial.sealed"], (
        "layer 2 is not finished"
    )


def test_a_head_of_another_recipe_is_not_overwritten(bert, states, tmp_path):
    train_head(bert, 0, recipe(), *states(recipe()), tmp_path, torch.float32)
    with pytest.raises(HeadError, match="another recipe"):
        train_head(bert, 0, recipe(seed=9), *states(recipe()), tmp_path, torch.float32)


def test_a_head_stored_in_another_format_is_named_and_not_taken_for_the_asked_one(bert, tmp_path):
    folder = tmp_path / "heads"
    train_heads(bert, TRAIN, VALID, recipe(), folder, StatesCache(tmp_path / "cache"), layers=[0])
    with pytest.raises(HeadError, match="is stored in float32, expected float16"):
        train_heads(bert, TRAIN, VALID, recipe(), folder, StatesCache(tmp_path / "cache"), torch.float16, layers=[0])


def test_seeds_give_different_heads_and_equal_seeds_equal_ones(bert, states, tmp_path):
    data = states(recipe())
    found = [
        train_head(bert, 0, recipe(seed=s), *data, tmp_path / str(n), torch.float32) for n, s in enumerate((0, 0, 1))
    ]
    weights = [load_head(path.parent, bert, 0, "tied").dense.weight for path in found]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_random_start_forgets_the_pretrained_head(bert):
    head = start_of(bert, recipe("full", start="random"))
    again = start_of(bert, recipe("full", start="random"))
    assert not torch.equal(head.dense.weight, bert.head.dense.weight)
    assert not torch.equal(head.vocabulary.weight, bert.head.vocabulary.weight)
    assert torch.equal(head.dense.weight, again.dense.weight)
    with pytest.raises(
        HeadError, match="got 'warm' as a head's start, expected one of 'pre-trained', 'least-squares', 'random'"
    ):
        start_of(bert, recipe(start="warm"))


def test_heads_train_for_every_architecture(architecture, encoder_of, tmp_path):
    encoder = encoder_of(architecture)
    wanted = recipe(positions=60, validation_positions=20, epochs=1)
    train_heads(encoder, TRAIN, VALID, wanted, tmp_path / "heads", StatesCache(tmp_path / "cache"))
    assert len(validation_losses(tmp_path / "heads", range(encoder.layers))) == encoder.layers
