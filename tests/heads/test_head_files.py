import json
import shutil

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from probing.heads.files import (
    HeadIdentity,
    head_path,
    heads_fingerprint,
    load_head,
    load_heads,
    read_identity,
    save_head,
    validation_losses,
)
from probing.kernel.errors import HeadError
from probing.kernel.models.head import fresh_copy
from probing.kernel.models.load import load_encoder


def identity(encoder, layer, kind):
    losses = "[[0, 2.5], [10, 1.5], [20, 1.75]]"
    return HeadIdentity(
        encoder.name, encoder.weights_id, layer, kind, '{"kind":"x"}', losses, configuration=encoder.configuration
    )


def rewrite(path, tensors):
    """Other tensors under the identity that the file has."""
    with safe_open(path, framework="pt") as stream:
        metadata = stream.metadata()
    save_file(tensors, path, metadata=metadata)


def changed_head(encoder, kind):
    """A head that differs from the start in every own parameter."""
    head = fresh_copy(encoder.head, kind)
    with torch.no_grad():
        for parameter in head.trainable(kind).values():
            parameter += 0.25
    return head


@pytest.fixture()
def saved(bert, tmp_path):
    """A folder with a tied head for every layer."""
    for layer in range(bert.layers):
        save_head(changed_head(bert, "tied"), identity(bert, layer, "tied"), tmp_path / "heads")
    return tmp_path / "heads"


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_a_saved_head_comes_back_with_every_weight(kind, architecture, encoder_of, tmp_path):
    encoder = encoder_of(architecture)
    head = changed_head(encoder, kind)
    path = save_head(head, identity(encoder, 2, kind), tmp_path)
    assert path.name == "layer-02.safetensors"
    loaded = load_head(tmp_path, encoder, 2, kind)
    for name, tensor in head.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    assert read_identity(path) == identity(encoder, 2, kind)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_tied_head_leaves_the_vocabulary_matrix_out_and_shares_it(bert, saved):
    assert "vocabulary.weight" not in load_file(head_path(saved, 0))
    heads = load_heads(saved, bert, "tied")
    assert len(heads) == bert.layers
    assert {head.vocabulary.weight.data_ptr() for head in heads} == {bert.head.vocabulary.weight.data_ptr()}


def test_heads_stored_in_half_precision_are_read_as_float32(bert, tmp_path):
    head = changed_head(bert, "tied")
    save_head(head, identity(bert, 0, "tied"), tmp_path, torch.float16)
    loaded = load_head(tmp_path, bert, 0, "tied")
    assert loaded.dense.weight.dtype == torch.float32
    assert torch.equal(loaded.dense.weight, head.dense.weight.half().float())


def test_equal_heads_have_equal_bytes(bert, tmp_path):
    paths = [save_head(changed_head(bert, "tied"), identity(bert, 0, "tied"), tmp_path / name) for name in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_lens_is_the_pretrained_head_at_every_layer(bert):
    assert load_heads(None, bert, "logit_lens") == [bert.head] * (bert.layers)
    assert heads_fingerprint(None, bert, "logit_lens") == "pre-trained"


def test_a_head_of_another_model_is_refused(saved, bert, bert_copy):
    weights = load_file(bert_copy / "model.safetensors")
    weights["cls.predictions.bias"][0] += 1
    save_file(weights, bert_copy / "model.safetensors", metadata={"format": "pt"})
    other = load_encoder(bert_copy, device="cpu")
    with pytest.raises(HeadError, match=r"layer-00.*belongs to weights .*tiny-bert"):
        load_heads(saved, other, "tied")


def test_a_head_of_another_layer_is_refused(saved, bert):
    shutil.copy(head_path(saved, 1), head_path(saved, 2))
    with pytest.raises(HeadError, match=r"layer-02.*belongs to layer 1, expected 2"):
        load_heads(saved, bert, "tied")


def test_a_head_of_another_kind_is_refused(saved, bert):
    with pytest.raises(HeadError, match="belongs to kind tied, expected full"):
        load_heads(saved, bert, "full")


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_a_truncated_head_is_named(keep, saved, bert):
    path = head_path(saved, 0)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(HeadError, match=r"layer-00\.safetensors is not a readable safetensors file"):
        load_heads(saved, bert, "tied")


def test_a_foreign_safetensors_file_is_named(saved, bert):
    save_file({"weight": torch.zeros(2)}, head_path(saved, 0))
    with pytest.raises(
        HeadError, match=r"layer-00\.safetensors has no identity of a head .* not written by this project"
    ):
        load_heads(saved, bert, "tied")


@pytest.mark.parametrize("lost", ["dense.weight", "vocabulary.bias"])
def test_a_head_that_lacks_a_part_is_refused(lost, saved, bert):
    path = head_path(saved, 0)
    tensors = load_file(path)
    del tensors[lost]
    rewrite(path, tensors)
    with pytest.raises(HeadError, match="expected exactly"):
        load_heads(saved, bert, "tied")


def test_validation_losses_name_start_and_best_of_every_layer(saved, bert):
    rows = validation_losses(saved, range(bert.layers))
    assert rows == [{"layer": n, "start": 2.5, "best": 1.5, "best_step": 10, "steps": 20} for n in range(bert.layers)]
    assert json.loads(heads_fingerprint(saved, bert, "tied")) == {"kind": "x"}
