import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForMaskedLM, BertForMaskedLM, BertTokenizer

from probing.kernel.errors import HeadError, ModelError
from probing.kernel.models.hub import weights_id_of
from probing.kernel.models.load import BaseSource, load_encoder
from probing.kernel.models.states import all_hidden_states, tokenize
from tests import tiny_models

PROMPT = "Rocky was born in [MASK]."


def keep_weights(folder, wanted):
    """Rewrites a model folder with only the weights whose name ``wanted`` accepts."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    kept = {name: tensor for name, tensor in weights.items() if wanted(name)}
    assert 0 < len(kept) < len(weights)
    save_file(kept, path, metadata={"format": "pt"})


def test_the_universal_head_gives_transformers_logits_for_every_architecture(architecture, folder_of, encoder_of):
    encoder = encoder_of(architecture)
    row = tokenize([PROMPT], encoder)
    ours = encoder.head(all_hidden_states(row, encoder)[-1][0])
    model = AutoModelForMaskedLM.from_pretrained(folder_of(architecture)).eval()
    with torch.inference_mode():
        theirs = model(input_ids=torch.tensor(row)).logits[0]
    assert torch.equal(ours, theirs)
    assert encoder.depth == tiny_models.LAYERS and encoder.hidden == tiny_models.HIDDEN


def test_head_and_body_share_no_memory(encoder_of):
    encoder = encoder_of("bert")
    body = encoder.body.get_input_embeddings().weight
    assert torch.equal(body, encoder.head.vocabulary.weight)
    assert body.data_ptr() != encoder.head.vocabulary.weight.data_ptr()


def test_a_loaded_encoder_is_frozen_and_without_dropout(architecture, encoder_of):
    encoder = encoder_of(architecture)
    assert not encoder.body.training and not encoder.head.training
    assert not any(p.requires_grad for p in [*encoder.body.parameters(), *encoder.head.parameters()])


def test_float64_goes_through_body_and_head(architecture, encoder_of):
    encoder = encoder_of(architecture, torch.float64)
    state = all_hidden_states(tokenize([PROMPT], encoder), encoder)[-1][0]
    assert encoder.head(state).dtype == torch.float64


def test_a_body_only_checkpoint_takes_its_bases_complete_head_vocabulary_matrix_included(bert_copy, folder_of):
    weights = load_file(bert_copy / "model.safetensors")
    body = {name: tensor + 0.1 for name, tensor in weights.items() if not name.startswith("cls.")}
    save_file(body, bert_copy / "model.safetensors", metadata={"format": "pt"})
    encoder = load_encoder(bert_copy, base=BaseSource(folder_of("bert")), device="cpu")
    base = BertForMaskedLM.from_pretrained(folder_of("bert"))
    assert torch.equal(encoder.head.vocabulary.weight, base.cls.predictions.decoder.weight)
    assert torch.equal(encoder.head.vocabulary.bias, base.cls.predictions.bias)
    assert torch.equal(encoder.head.dense.weight, base.cls.predictions.transform.dense.weight)
    # Its own word embeddings have moved away, and they stay in the body.
    own = body["bert.embeddings.word_embeddings.weight"]
    assert torch.equal(encoder.body.get_input_embeddings().weight, own)
    assert not torch.equal(encoder.head.vocabulary.weight, own)
    assert (encoder.name, encoder.base) == ("copy", "tiny-bert")


@pytest.mark.parametrize("layout", ["prefixed", "bare"])
def test_without_a_base_a_body_only_checkpoint_is_a_head_error(layout, bert_copy):
    if layout == "bare":
        BertForMaskedLM.from_pretrained(bert_copy).bert.save_pretrained(bert_copy)
    else:
        keep_weights(bert_copy, lambda name: name.startswith("bert."))
    with pytest.raises(HeadError, match="name its base model"):
        load_encoder(bert_copy, device="cpu")


@pytest.mark.parametrize(
    "lost",
    [
        ("cls.predictions.transform.dense.weight",),
        ("cls.predictions.bias",),
        # All but one: still an incomplete head and not a body without one.
        (
            "cls.predictions.transform.dense.weight",
            "cls.predictions.transform.dense.bias",
            "cls.predictions.transform.LayerNorm.weight",
            "cls.predictions.transform.LayerNorm.bias",
        ),
    ],
)
def test_a_head_with_missing_keys_is_an_error_even_with_a_base(lost, bert_copy, folder_of):
    keep_weights(bert_copy, lambda name: name not in lost)
    with pytest.raises(HeadError, match=lost[0]):
        load_encoder(bert_copy, base=BaseSource(folder_of("bert")), device="cpu")


def test_old_checkpoints_with_gamma_and_beta_are_complete(bert_copy, folder_of):
    weights = load_file(bert_copy / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in weights.items()
    }
    assert set(old) != set(weights)
    save_file(old, bert_copy / "model.safetensors", metadata={"format": "pt"})
    encoder, wanted = load_encoder(bert_copy, device="cpu"), load_encoder(folder_of("bert"), device="cpu")
    assert torch.equal(encoder.head.norm.weight, wanted.head.norm.weight)


def test_a_tokenizer_of_the_wrong_size_is_refused(bert_copy):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "paris"]
    BertTokenizer(vocab={token: n for n, token in enumerate(tokens)}).save_pretrained(bert_copy)
    with pytest.raises(ModelError, match=r"the tokenizer of .* has 6 tokens"):
        load_encoder(bert_copy, device="cpu")


def test_a_body_without_a_tokenizer_takes_its_bases(bert_copy, folder_of):
    keep_weights(bert_copy, lambda name: name.startswith("bert."))
    for path in bert_copy.glob("tokenizer*"):
        path.unlink()
    encoder = load_encoder(bert_copy, base=BaseSource(folder_of("bert")), device="cpu")
    assert encoder.tokenizer.get_vocab() == tiny_models.wordpiece().get_vocab()


def test_identity_follows_the_weights_and_not_the_place(bert_copy, folder_of):
    assert weights_id_of(bert_copy) == weights_id_of(folder_of("bert"))
    weights = load_file(bert_copy / "model.safetensors")
    weights["cls.predictions.bias"][0] += 1
    save_file(weights, bert_copy / "model.safetensors", metadata={"format": "pt"})
    assert weights_id_of(bert_copy) != weights_id_of(folder_of("bert"))


def test_a_body_with_another_bases_head_has_another_identity(bert_copy, folder_of, tmp_path):
    other = shutil.copytree(bert_copy, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    weights["cls.predictions.bias"][0] += 1
    save_file(weights, other / "model.safetensors", metadata={"format": "pt"})
    keep_weights(bert_copy, lambda name: name.startswith("bert."))
    identities = {
        load_encoder(bert_copy, base=BaseSource(base), device="cpu").weights_id for base in (folder_of("bert"), other)
    }
    assert len(identities) == 2


def test_roberta_keeps_two_positions_for_itself(encoder_of):
    assert (encoder_of("roberta").max_pieces, encoder_of("bert").max_pieces) == (48, 48)
