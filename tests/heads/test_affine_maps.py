"""Heads behind an affine map to the last layer: the closed form, its fold, and what it falls back to."""

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from probing.heads import lenses as affine_maps
from probing.heads import states as masked_states
from probing.heads.files import head_path, load_head, read_identity, validation_losses
from probing.heads.lenses import least_squares, sums_of
from probing.heads.recipe import FROM_LEAST_SQUARES
from probing.heads.states import LayerStates, MaskedStates, StatesCache, states_bytes
from probing.heads.train import HeadStep, train_heads
from probing.kernel.errors import HeadError, ModelError
from probing.kernel.models.head import PARTS, fresh_copy
from probing.kernel.models.load import BaseSource, load_encoder
from tests.heads.test_head_training import TRAIN, VALID, recipe

CPU = torch.device("cpu")
#: Kind and start of every head that needs the last layer's states.
FOLLOWING = [
    ("least_squares", "pre-trained"),
    ("tuned_lens", FROM_LEAST_SQUARES),
    ("tied", FROM_LEAST_SQUARES),
    ("full", FROM_LEAST_SQUARES),
]


def some_states(seed, positions=300, hidden=16, windows=3):
    """Made-up states in several windows."""
    values = np.random.default_rng(seed).normal(size=(positions, hidden)).astype(np.float32)
    return values, LayerStates(np.array_split(values, windows), np.zeros(positions, dtype=int))


def trained(encoder, wanted, folder, **more):
    """Folder of the heads of all layers."""
    train_heads(encoder, TRAIN, VALID, wanted, folder / "heads", StatesCache(folder / "cache"), **more)
    return folder / "heads"


@pytest.fixture()
def tuned_copy(bert_copy):
    """A body that fine-tuning has changed, stored without a head."""
    weights = load_file(bert_copy / "model.safetensors")
    generator = torch.Generator().manual_seed(3)
    for name, tensor in weights.items():
        if ".layer." in name:
            tensor += 0.2 * torch.randn(tensor.shape, generator=generator)
    save_file(
        {n: t for n, t in weights.items() if not n.startswith("cls.")},
        bert_copy / "model.safetensors",
        metadata={"format": "pt"},
    )
    return bert_copy


def test_the_map_is_that_of_numpys_least_squares():
    (h, states), (z, target) = some_states(1), some_states(2, hidden=7)
    found = least_squares(sums_of(states, target, CPU), 0.0)
    solved = np.linalg.lstsq(
        np.column_stack([h, np.ones(len(h))]).astype(np.float64), z.astype(np.float64), rcond=None
    )[0]
    assert np.allclose(found.weight.numpy(), solved[:-1].T, atol=1e-8)
    assert np.allclose(found.bias.numpy(), solved[-1], atol=1e-8)


def test_sums_of_windows_are_the_sums_at_once_and_one_window_is_read_at_a_time(monkeypatch):
    (h, states), (z, target) = some_states(1), some_states(2)
    read, real = [], LayerStates.at
    monkeypatch.setattr(LayerStates, "at", lambda self, positions: read.append(len(positions)) or real(self, positions))
    monkeypatch.setattr(affine_maps, "WINDOW", 32)
    found = sums_of(states, target, CPU)
    assert max(read) == 32 and sum(read) == 2 * len(h)
    own = np.column_stack([h, np.ones(len(h))]).astype(np.float64)
    assert found.squares.dtype == torch.float64
    assert np.allclose(found.squares.numpy(), own.T @ own, rtol=1e-12)
    assert np.allclose(found.products.numpy(), own.T @ z.astype(np.float64), rtol=1e-12, atol=1e-10)


def test_a_ridge_is_a_share_of_the_mean_diagonal():
    (h, states), (z, target) = some_states(1), some_states(2)
    own = np.column_stack([h, np.ones(len(h))]).astype(np.float64)
    squares = own.T @ own
    slow = np.linalg.solve(
        squares + 0.5 * np.trace(squares) / len(squares) * np.eye(len(squares)), own.T @ z.astype(np.float64)
    )
    assert np.allclose(least_squares(sums_of(states, target, CPU), 0.5).weight.numpy(), slow[:-1].T, atol=1e-8)


def test_states_without_a_map_are_named():
    _, states = some_states(1, positions=5, windows=1)
    with pytest.raises(HeadError, match="too few or not finite"):
        least_squares(sums_of(states, states, CPU), 0.0)


def test_a_folded_map_reads_as_the_map_before_the_head(architecture, encoder_of):
    encoder = encoder_of(architecture)
    generator = torch.Generator().manual_seed(1)
    weight = (
        torch.randn((encoder.hidden, encoder.hidden), generator=generator, dtype=torch.float64) / encoder.hidden**0.5
    )
    bias = torch.randn(encoder.hidden, generator=generator, dtype=torch.float64)
    states = torch.randn((50, encoder.hidden), generator=generator)
    folded = fresh_copy(encoder.head, "least_squares")
    folded.fold(weight, bias)
    with torch.inference_mode():
        unfolded = encoder.head((states.double() @ weight.T + bias).float())
        assert (folded(states) - unfolded).abs().max() <= 1e-5 * unfolded.abs().max().clamp(min=1)
    assert folded.dense.bias is not None
    assert folded.vocabulary.weight.data_ptr() == encoder.head.vocabulary.weight.data_ptr()


@pytest.mark.parametrize("kind", ["least_squares", "tuned_lens"])
def test_a_layer_that_is_an_invertible_image_of_the_last_is_read_as_the_last(kind, bert, tmp_path, monkeypatch):
    real, rng = masked_states.head_states, np.random.default_rng(5)
    turns = [torch.from_numpy(np.linalg.qr(rng.normal(size=(16, 16)))[0] * (1 + n)).float() for n in range(bert.depth)]
    shifts = [torch.from_numpy(rng.normal(size=16)).float() for _ in range(bert.depth)]

    def planted(rows, encoder):
        last = real(rows, encoder)[-1]
        return (*(last @ turn + shift for turn, shift in zip(turns, shifts, strict=True)), last)

    monkeypatch.setattr(masked_states, "head_states", planted)
    # A model of random weights reads its own last layer no better than any other: here the map always wins.
    losses = itertools.count(0, -1)
    monkeypatch.setattr(HeadStep, "validation_loss", lambda *_: float(next(losses)))
    start = {"start": FROM_LEAST_SQUARES, "learning_rate": 1e-9} if kind == "tuned_lens" else {}
    folder = trained(bert, recipe(kind, ridge=1e-12, **start), tmp_path)
    # Of the last layer's own, which fill no more than a plane of the space.
    z = real([[5 + (7 * n) % 60 for n in range(40)]], bert)[-1][0]
    with torch.inference_mode():
        expected = bert.head(z)
        for layer in range(bert.depth):
            found = load_head(folder, bert, layer, kind)(z @ turns[layer] + shifts[layer])
            assert (found - expected).abs().max() < 1e-4 * expected.abs().max(), layer


#: Full heads store all that the others do, and tied ones are trained for every architecture by ``test_head_training``.
MADE = [
    *((*one, "bert") for one in FOLLOWING[:-1]),
    *((*FOLLOWING[-1], architecture) for architecture in sorted(PARTS)),
]


@pytest.mark.parametrize(("kind", "start", "architecture"), MADE)
def test_heads_of_a_map_are_made_for_every_architecture_and_come_back(kind, start, architecture, encoder_of, tmp_path):
    encoder = encoder_of(architecture)
    wanted = recipe(kind, start=start, positions=120, validation_positions=40, epochs=1, learning_rate=1e-3)
    folder = trained(encoder, wanted, tmp_path)
    for row in validation_losses(folder, range(encoder.depth)):
        assert row["start"] == min(row["logit_lens"], row["map"])
        assert row["best"] <= row["start"]
    assert "map" not in validation_losses(folder, [encoder.depth])[0], "the last layer is mapped to itself"
    for layer in range(encoder.layers):
        head = load_head(folder, encoder, layer, kind)
        assert head.dense.bias is not None
        assert ("vocabulary.weight" in load_file(head_path(folder, layer))) == (kind == "full")
        assert head.dense.out_features == encoder.head.dense.out_features


def test_the_last_layer_of_a_base_is_read_by_the_pretrained_head(bert, tmp_path):
    for kind in ("least_squares", "tuned_lens"):
        folder = trained(bert, recipe(kind), tmp_path / kind)
        head = load_head(folder, bert, bert.depth, kind)
        assert all(torch.equal(tensor, head.state_dict()[name]) for name, tensor in bert.head.state_dict().items())
        assert read_identity(head_path(folder, bert.depth)).starts == ""


@pytest.mark.parametrize("kind", ["least_squares", "tied"])
def test_where_the_map_is_worse_than_the_logit_lens_it_is_left_out_and_the_file_says_so(
    kind, bert, tmp_path, monkeypatch
):
    losses = itertools.count(1)
    monkeypatch.setattr(HeadStep, "validation_loss", lambda *_: float(next(losses)))
    folder = trained(bert, recipe(kind, start=FROM_LEAST_SQUARES), tmp_path)
    for layer in range(bert.depth):
        starts = json.loads(read_identity(head_path(folder, layer)).starts)
        assert starts["map"] == starts["lens"] + 1
        assert validation_losses(folder, [layer])[0]["best"] == starts["lens"]
        head = load_head(folder, bert, layer, kind)
        assert all(torch.equal(tensor, head.state_dict()[name]) for name, tensor in bert.head.state_dict().items())


def test_a_fine_tuned_body_is_mapped_to_its_bases_last_layer_and_so_is_its_own_last(
    bert, tuned_copy, folder_of, tmp_path
):
    encoder = load_encoder(tuned_copy, base=BaseSource(folder_of("bert")), device="cpu")
    folder = trained(encoder, recipe("least_squares", positions=0), tmp_path)
    parts = {}
    for source, layer in ((bert, bert.depth), (encoder, encoder.depth)):
        text = masked_states.masked_text_of(source, TRAIN, recipe(positions=0), 0, 0, tmp_path / "slow")
        states = MaskedStates(source, text, [layer], torch.float32, tmp_path / "slow" / source.weights_id)
        states.compute()
        parts[source.weights_id] = states.layer(layer).at(np.arange(len(text.labels))).astype(np.float64)
    h, z = parts[encoder.weights_id], parts[bert.weights_id]
    own = np.column_stack([h, np.ones(len(h))])
    squares = own.T @ own
    solved = np.linalg.solve(squares + 1e-3 * np.trace(squares) / len(squares) * np.eye(len(squares)), own.T @ z)
    starts = json.loads(read_identity(head_path(folder, encoder.depth)).starts)
    assert starts["map"] < starts["lens"]
    dense = load_head(folder, encoder, encoder.depth, "least_squares").dense
    before = bert.head.dense
    assert np.allclose(dense.weight, before.weight.double().numpy() @ solved[:-1].T, atol=1e-4)
    assert np.allclose(
        dense.bias, before.weight.double().numpy() @ solved[-1] + before.bias.double().numpy(), atol=1e-4
    )


def test_a_base_with_another_tokenizer_is_refused_in_plain_words(tuned_copy, folder_of, tmp_path):
    base = shutil.copytree(folder_of("bert"), tmp_path / "base")
    encoder = load_encoder(tuned_copy, base=BaseSource(base), device="cpu")
    tokenizer = json.loads((base / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["paris"], vocabulary["rome"] = vocabulary["rome"], vocabulary["paris"]
    (base / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(HeadError, match="split the text into different tokens, expected equal tokenizers"):
        trained(encoder, recipe("least_squares"), tmp_path)
    trained(encoder, recipe("tied", epochs=1), tmp_path / "pretrained")


def test_where_the_base_cuts_the_text_into_other_tokens_the_usual_start_is_the_pretrained_head(
    tuned_copy, folder_of, tmp_path, monkeypatch
):
    from probing.heads.training_run import Wish, recipe_for

    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    base = shutil.copytree(folder_of("bert"), tmp_path / "base")
    encoder = load_encoder(tuned_copy, base=BaseSource(base), device="cpu")
    wish, lines = Wish("tied", 0, "made up", {"positions": 200}), []
    assert recipe_for(wish, encoder, TRAIN, [tmp_path / "none"], lines.append).start == FROM_LEAST_SQUARES and not lines
    tokenizer = json.loads((base / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary["paris"], vocabulary["rome"] = vocabulary["rome"], vocabulary["paris"]
    (base / "tokenizer.json").write_text(json.dumps(tokenizer))
    found = recipe_for(wish, encoder, TRAIN, [tmp_path / "none"], lines.append)
    assert (found.start, found.steps, found.epochs) == ("pre-trained", 0, 3)
    assert len(lines) == 1 and "split the text into different tokens" in lines[0]
    asked = Wish("tied", 0, "made up", {"positions": 200, "start": FROM_LEAST_SQUARES})
    assert recipe_for(asked, encoder, TRAIN, [tmp_path / "none"], lines.append).start == FROM_LEAST_SQUARES, (
        "what is asked for is not changed"
    )


def test_a_base_that_changed_since_its_head_was_borrowed_is_refused(tuned_copy, folder_of, tmp_path):
    base = shutil.copytree(folder_of("bert"), tmp_path / "base")
    encoder = load_encoder(tuned_copy, base=BaseSource(base), device="cpu")
    weights = load_file(base / "model.safetensors")
    weights["cls.predictions.bias"][0] += 1
    save_file(weights, base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"the base .* has weights .* was fine-tuned from"):
        trained(encoder, recipe("least_squares"), tmp_path)


@pytest.mark.parametrize("source", ["own", "base"])
def test_maps_of_layer_groups_are_the_bytes_of_all_layers_at_once_and_leave_no_states(
    source, bert, tuned_copy, folder_of, tmp_path
):
    encoder = bert if source == "own" else load_encoder(tuned_copy, base=BaseSource(folder_of("bert")), device="cpu")
    arguments = (encoder, TRAIN, VALID, recipe("least_squares"))
    whole = train_heads(*arguments, tmp_path / "whole", StatesCache(tmp_path / "a"))
    budget = states_bytes(2, 250, encoder.hidden) + states_bytes(1, 200, encoder.hidden)
    grouped = train_heads(*arguments, tmp_path / "grouped", StatesCache(tmp_path / "b", budget))
    assert [path.read_bytes() for path in grouped] == [path.read_bytes() for path in whole]
    assert not list((tmp_path / "b").rglob("*.states"))


def test_a_base_that_has_its_states_already_is_not_run_again(bert, tuned_copy, folder_of, tmp_path, monkeypatch):
    trained(bert, recipe(epochs=1), tmp_path)
    encoder = load_encoder(tuned_copy, base=BaseSource(folder_of("bert")), device="cpu")
    computed, real = [], MaskedStates._compute
    monkeypatch.setattr(
        MaskedStates, "_compute", lambda states, n: computed.append(states.encoder.weights_id) or real(states, n)
    )
    train_heads(encoder, TRAIN, VALID, recipe("least_squares"), tmp_path / "tuned", StatesCache(tmp_path / "cache"))
    assert set(computed) == {encoder.weights_id}


def test_a_closed_form_has_no_settings_of_steps_in_its_recipe_and_no_seed():
    assert (
        recipe("least_squares").canonical()
        == recipe("least_squares", epochs=9, batch=1, steps=4, patience=2).canonical()
    )
    assert json.loads(recipe("least_squares").canonical())["ridge"] == 1e-3
    with pytest.raises(HeadError, match="no other seed"):
        recipe("least_squares", seed=1).check()
    with pytest.raises(HeadError, match="no random start"):
        recipe("tuned_lens", start="random").check()


def test_recipes_of_shipped_heads_keep_their_bytes(repo_root):
    from probing.heads.recipe import HeadRecipe

    found = [*Path(repo_root, "data/models").rglob("layer-*.safetensors")]
    assert len(found) > 10
    for path in found:
        said = read_identity(path)
        assert HeadRecipe(**json.loads(said.recipe)).canonical() == said.recipe
        assert bool(said.starts) == (said.layer < 8), "the last layer's head begins with the pre-trained one"


def test_the_start_is_chosen_on_the_first_positions_and_the_better_one_is_validated_on_all(bert, tmp_path):
    every = trained(bert, recipe("tied", start=FROM_LEAST_SQUARES, epochs=1), tmp_path / "every")
    some = trained(bert, recipe("tied", start=FROM_LEAST_SQUARES, epochs=1, start_positions=16), tmp_path / "some")
    for whole, part in zip(
        validation_losses(every, range(bert.depth)), validation_losses(some, range(bert.depth)), strict=True
    ):
        assert (whole["start"], whole["best"]) == pytest.approx((part["start"], part["best"]), abs=2e-5), (
            "on all positions"
        )
        assert part["positions"] == 16 and "positions" not in whole
        assert (part["logit_lens"], part["map"]) != (whole["logit_lens"], whole["map"])
    assert "positions" not in validation_losses(some, [bert.depth])[0], "the last layer has nothing to choose"


def test_fewer_positions_are_read_where_the_start_is_chosen_on_some(bert, tmp_path, monkeypatch):
    read = []
    original = LayerStates.at
    monkeypatch.setattr(
        LayerStates, "at", lambda self, positions: read.append(len(positions)) or original(self, positions)
    )
    counted = []
    for some in (0, 16):
        read.clear()
        trained(
            bert,
            recipe("tied", start=FROM_LEAST_SQUARES, epochs=1, start_positions=some),
            tmp_path / str(some),
            layers=[1],
        )
        counted.append(sum(read))
    assert counted[0] - counted[1] == 50 - 16


def test_a_closed_form_is_compared_on_all_positions_and_no_other_head_keeps_how_many_chose():
    assert recipe("least_squares", start_positions=16).canonical() == recipe("least_squares").canonical()
    assert recipe("tied", start_positions=16).canonical() == recipe("tied").canonical()
    assert (
        recipe("tied", start=FROM_LEAST_SQUARES, start_positions=16).canonical()
        != recipe("tied", start=FROM_LEAST_SQUARES).canonical()
    )
    assert "start_positions" not in recipe("tied", start=FROM_LEAST_SQUARES).canonical()
