"""Every architecture with a known head answers as transformers does at every layer; others are refused by their
configuration alone.
"""

import json
import random

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForMaskedLM, EsmTokenizer, pipeline

from probing.facts.askable import one_token_ids
from probing.facts.fact import SEVERAL_TOKENS
from probing.kernel.errors import ModelError, NoOwnHead
from probing.kernel.models.check import longest_input, with_offsets
from probing.kernel.models.load import load_encoder
from probing.kernel.models.states import all_hidden_states, weight_drift
from probing.live.ask import load_live
from tests import tiny_models

PROMPT = "Rocky was born in [MASK] and it is red."
#: Architectures that count positions from the one after the padding id.
FROM_PADDING = (
    "camembert",
    "data2vec-text",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
)
#: The tokens of the released ESM models, in their order.
AMINO_ACIDS = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]


def transformers_probabilities(folder, row, position, layer, **settings) -> list[float]:
    """What the model of transformers itself predicts if its body ended with this layer's hidden state; nothing of ours
    is used.
    """
    model = AutoModelForMaskedLM.from_pretrained(folder, **settings).eval()
    body = getattr(model, model.base_model_prefix)

    def ends_with_the_layer(_module, _given, output):
        output.last_hidden_state = output.hidden_states[layer]
        return output

    body.register_forward_hook(ends_with_the_layer)
    with torch.inference_mode():
        return model(input_ids=torch.tensor([row]), output_hidden_states=True).logits[0, position].softmax(0).tolist()


def by_token(layer) -> list[float]:
    """The probabilities of all tokens of a layer's answer, by token id."""
    found = {token.id: token.probability for token in layer.tokens}
    return [found[number] for number in range(len(found))]


def assert_parity(folder, encoder, **settings):
    """Every layer of the logit lens equals transformers' own head on that layer, and the last one is ``fill-mask``."""
    mask, size = encoder.tokenizer.mask_token, len(encoder.tokenizer)
    answer = load_live(encoder, "logit_lens", None).ask(PROMPT, top=size)
    row = encoder.tokenizer.convert_tokens_to_ids(list(answer.pieces))
    for layer in answer.layers:
        expected = transformers_probabilities(folder, row, answer.mask_position, layer.layer, **settings)
        assert by_token(layer) == pytest.approx(expected, abs=1e-6), layer.layer
    # The pipeline asks byte-level tokenizers that keep the space before their mask beside that space.
    if not settings and encoder.tokenizer(PROMPT.replace("[MASK]", mask))["input_ids"] == row:
        filled = pipeline("fill-mask", model=str(folder), device="cpu", top_k=size)(PROMPT.replace("[MASK]", mask))
        assert by_token(answer.layers[-1]) == pytest.approx(
            [one["score"] for one in sorted(filled, key=lambda one: one["token"])], abs=1e-6
        )


def test_every_layer_answers_as_transformers_own_head_on_it_and_the_last_as_fill_mask(
    architecture, folder_of, encoder_of
):
    assert_parity(folder_of(architecture), encoder_of(architecture))


@pytest.mark.parametrize("architecture", FROM_PADDING)
def test_the_longest_input_leaves_out_the_positions_below_the_padding_id(architecture, tmp_path):
    model, tokenizer = tiny_models.build(architecture, max_position_embeddings=20)
    body, tokenizer.model_max_length = getattr(model, model.base_model_prefix), 1 << 30
    assert longest_input(body, tokenizer) == 18
    row = [tokenizer.mask_token_id] * 18
    assert body(input_ids=torch.tensor([row])).last_hidden_state.shape[1] == 18
    with pytest.raises((IndexError, RuntimeError)):
        body(input_ids=torch.tensor([[*row, tokenizer.mask_token_id]]))


def test_esm_with_a_table_of_positions_leaves_them_out_too_and_with_rotary_positions_has_none():
    for kind, longest in (("absolute", 46), ("rotary", 48)):
        model, tokenizer = tiny_models.build("esm", position_embedding_type=kind)
        assert longest_input(model.esm, tokenizer) == longest


@pytest.mark.parametrize(("architecture", "legacy"), [("deberta", True), ("deberta-v2", False)])
def test_both_layouts_of_debertas_head_are_read(architecture, legacy, tmp_path):
    folder = tiny_models.save(architecture, tmp_path / "deberta", legacy=legacy)
    assert_parity(folder, load_encoder(folder, device="cpu"))


@pytest.mark.parametrize("architecture", ["deberta", "deberta-v2"])
def test_a_deberta_checkpoint_older_than_the_setting_is_read_by_the_head_that_it_holds(architecture, tmp_path):
    """The released checkpoints: a head under its own names, a table of positions for a decoder of the authors, no
    ``legacy``.
    """
    folder = tiny_models.save(architecture, tmp_path / "deberta", legacy=False)
    config = json.loads((folder / "config.json").read_text())
    del config["legacy"]
    (folder / "config.json").write_text(json.dumps(config))
    weights = load_file(folder / "model.safetensors") | {
        "deberta.embeddings.position_embeddings.weight": torch.ones(48, 16)
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert AutoConfig.from_pretrained(folder).legacy
    assert_parity(folder, load_encoder(folder, device="cpu"), legacy=False)


def test_another_spare_table_of_embeddings_is_still_refused(bert_copy):
    weights = load_file(bert_copy / "model.safetensors") | {
        "bert.embeddings.second_embeddings.weight": torch.ones(48, 16)
    }
    save_file(weights, bert_copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="second_embeddings"):
        load_encoder(bert_copy, device="cpu")


@pytest.fixture(scope="module")
def esm(tmp_path_factory):
    """A tiny ESM with the alphabet of the released ones and its folder."""
    folder = tmp_path_factory.mktemp("esm")
    (folder / "tokens.txt").write_text("\n".join(AMINO_ACIDS))
    tokenizer = EsmTokenizer(str(folder / "tokens.txt"))
    size = len(AMINO_ACIDS) - len(tiny_models.letters_of_esm())
    model, _ = tiny_models.build("esm", padded=size, emb_layer_norm_before=False)
    model.config.mask_token_id = model.esm.embeddings.mask_token_id = tokenizer.mask_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder, load_encoder(folder, device="cpu"), tokenizer


def test_esms_tokenizer_with_offsets_cuts_every_sequence_as_its_own_does(esm):
    _, encoder, own = esm
    assert not own.is_fast and encoder.tokenizer.is_fast
    dice = random.Random(0)
    for alphabet in (
        ["<mask>", *"LAGVSERTIDPKQ.-"],
        ["<mask>", "<unk>", "<null_1>", " ", "  ", "\n", "é", "☃", "Paris", *"LAxyz.-"],
    ):
        for _ in range(60):
            text = "".join(dice.choices(alphabet, k=dice.randint(0, 20)))
            assert encoder.tokenizer(text)["input_ids"] == own(text)["input_ids"], text
    assert encoder.tokenizer("MK", "TL")["input_ids"] == own("MK", "TL")["input_ids"]
    assert with_offsets(encoder.tokenizer) is encoder.tokenizer


def test_a_masked_residue_of_a_protein_is_one_token_and_is_filled_as_fill_mask_does(esm):
    folder, encoder, own = esm
    sequence = "MKT[MASK]LLVAGG"
    answer = load_live(encoder, "logit_lens", None).ask(sequence, top=3, watch=("A",))
    assert (
        answer.pieces == ("<cls>", *"MKT", "<mask>", *"LLVAGG", "<eos>") and answer.layers[-1].watched[0].token == "A"
    )
    filled = pipeline("fill-mask", model=str(folder), device="cpu", top_k=3)(sequence.replace("[MASK]", "<mask>"))
    assert [(token.id, token.probability) for token in answer.layers[-1].tokens] == [
        (one["token"], pytest.approx(one["score"], abs=1e-6)) for one in filled
    ]
    assert one_token_ids([sequence] * 2, ["W", "WW"], encoder) == [own.convert_tokens_to_ids("W"), SEVERAL_TOKENS]


def test_an_esm_without_the_weights_of_its_contact_prediction_is_complete(folder_of, encoder_of, tmp_path):
    model, tokenizer = tiny_models.build("esm")
    model.save_pretrained(
        tmp_path, state_dict={name: value for name, value in model.state_dict().items() if "contact_head" not in name}
    )
    tokenizer.save_pretrained(tmp_path)
    row = [encoder_of("esm").tokenizer("It is red")["input_ids"]]
    found = all_hidden_states(row, load_encoder(tmp_path, device="cpu"))
    assert all(
        torch.equal(one, other) for one, other in zip(found, all_hidden_states(row, encoder_of("esm")), strict=True)
    )


@pytest.mark.parametrize(
    ("config", "named"),
    [
        *(({"model_type": kind}, "causal models") for kind in ("gpt2", "llama", "t5", "bart")),
        ({"model_type": "convbert"}, "xlm-roberta-xl"),
        ({"model_type": "mobilebert"}, "xlm-roberta-xl"),
    ],
)
def test_an_architecture_is_refused_by_its_configuration_alone(config, named, tmp_path):
    # There is nothing else in the folder: neither weights nor a tokenizer are looked at first.
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError) as refused:
        load_encoder(tmp_path, device="cpu")
    assert (
        named in str(refused.value)
        and config["model_type"] in str(refused.value).lower()
        and not isinstance(refused.value, NoOwnHead)
    )


def test_the_drift_of_the_embeddings_counts_no_positions_that_attention_adds(encoder_of):
    body = encoder_of("deberta-v2").body
    before, after = dict(body.named_parameters()), {}
    for name, weight in before.items():
        after[name] = weight * 2 if name == "encoder.rel_embeddings.weight" else weight
    assert {row["drift"] for row in weight_drift(before, after)} == {0.0}
    embeddings = sum(weight.numel() for name, weight in before.items() if name.startswith("embeddings."))
    assert weight_drift(before, before)[0]["parameters"] == embeddings


def test_a_head_that_does_not_fit_its_vocabulary_is_named(encoder_of):
    from probing.kernel.models.head import own_head

    model, _ = tiny_models.build("deberta-v2", legacy=False)
    model.lm_predictions.lm_head.dense = torch.nn.Linear(16, 8)
    with pytest.raises(ModelError, match="8 values"):
        own_head(model)
