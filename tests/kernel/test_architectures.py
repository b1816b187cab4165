"""Every architecture with a known head answers as transformers does at every layer; others are refused by their
configuration alone.
"""

import json
import random

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForMaskedLM, EsmTokenizer, pipeline
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from probing.facts.askable import answer_ids
from probing.facts.candidates import cut_in
from probing.kernel.errors import HeadError, ModelError, NoOwnHead
from probing.kernel.fact import SEVERAL_TOKENS, TOO_LONG, Fact
from probing.kernel.models.check import longest_input, with_offsets
from probing.kernel.models.checkpoint import REFUSED, why_unusable
from probing.kernel.models.load import load_encoder
from probing.kernel.models.states import all_hidden_states, mask_positions, states_at, tokenize, weight_drift
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


#: Every architecture that can be asked.
EVERY = pytest.mark.parametrize("architecture", sorted(tiny_models.KINDS | tiny_models.WHOLE))


def lists_of_layers(body) -> list[torch.nn.ModuleList]:
    """The lists that have a module per layer; ALBERT has one for all."""
    lists = [module for module in body.modules() if isinstance(module, torch.nn.ModuleList)]
    return [one for one in lists if len(one) == tiny_models.LAYERS] or lists[:1]


def cut_at(folder, layer, **settings):
    """The model of transformers, of which only the first layers are left."""
    model = AutoModelForMaskedLM.from_pretrained(folder, **settings).eval()
    body = getattr(model, model.base_model_prefix)
    for one in lists_of_layers(body):
        del one[layer if len(one) == tiny_models.LAYERS else len(one) :]
    # ALBERT calls its one layer so often, and XLM counts its layers once.
    if body.config.model_type == "albert":
        body.config.num_hidden_layers = layer
    body.n_layers = layer
    return model


def probabilities(model, row, position) -> list[float]:
    """What a model of transformers predicts; nothing of ours is used."""
    ids = torch.tensor([row])
    with torch.inference_mode():
        return model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, position].softmax(0).tolist()


def by_token(layer) -> list[float]:
    """The probabilities of all tokens of a layer's answer, by token id."""
    found = {token.ids[0]: token.probability for token in layer.tokens}
    return [found[number] for number in range(len(found))]


def assert_parity(folder, encoder, **settings):
    """Every layer of the logit lens equals transformers' own model cut there, and the last one is ``fill-mask``."""
    mask, size = encoder.tokenizer.mask_token, len(encoder.tokenizer)
    answer = load_live(encoder, "logit_lens", None).ask(PROMPT, top=size)
    row = encoder.tokenizer.convert_tokens_to_ids(list(answer.pieces))
    for layer in answer.layers[1:]:
        expected = probabilities(cut_at(folder, layer.layer, **settings), row, answer.mask_position)
        assert by_token(layer) == pytest.approx(expected, abs=1e-6), layer.layer
    # The pipeline asks byte-level tokenizers that keep the space before their mask beside that space.
    if not settings and encoder.tokenizer(PROMPT.replace("[MASK]", mask))["input_ids"] == row:
        filled = pipeline("fill-mask", model=str(folder), device="cpu", top_k=size)(PROMPT.replace("[MASK]", mask))
        assert by_token(answer.layers[-1]) == pytest.approx(
            [one["score"] for one in sorted(filled, key=lambda one: one["token"])], abs=1e-6
        )


@EVERY
def test_every_layer_answers_as_the_model_cut_at_it_and_the_last_as_fill_mask(architecture, folder_of, encoder_of):
    assert_parity(folder_of(architecture), encoder_of(architecture))


#: SqueezeBERT calls its layers past all hooks.
@pytest.mark.parametrize("architecture", sorted({*tiny_models.KINDS, *tiny_models.WHOLE} - {"squeezebert"}))
def test_the_state_of_a_layer_is_what_a_hook_on_it_sees(architecture, encoder_of, tmp_path):
    encoder = encoder_of(architecture)
    if architecture == "deberta-v2":
        # The convolution that some have on top of their first layer is no layer.
        folder = tiny_models.save(architecture, tmp_path / "model", conv_kernel_size=0)
        encoder = load_encoder(folder, device="cpu")
    seen: list[list[torch.Tensor]] = [[] for _ in range(encoder.depth)]
    first = lists_of_layers(encoder.body)[0][0]
    begins: list[torch.Tensor] = []
    hooks = [first.register_forward_pre_hook(lambda _module, given: begins.append(given[0]))]
    hooks += [
        module.register_forward_hook(
            lambda _module, _given, output, place=place: seen[place].append(
                output if isinstance(output, torch.Tensor) else output[0]
            )
        )
        for one in lists_of_layers(encoder.body)
        for place, module in enumerate(one)
    ]
    states = all_hidden_states(tokenize([PROMPT], encoder), encoder)
    for hook in hooks:
        hook.remove()
    # XLM has a list for each kind of part of a layer, the last of which is its end; ALBERT calls one layer L times.
    ends = seen[0] if architecture == "albert" else [outputs[-1] for outputs in seen]
    inner = [begins[0], *ends[:-1], *([] if encoder.on_top else ends[-1:])]
    for state, end in zip(states, inner, strict=False):
        # Longformer works on whole windows.
        assert torch.equal(state, end[:, : state.shape[1]])


@EVERY
def test_neither_padding_nor_batches_nor_what_is_too_long_changes_an_answer(architecture, encoder_of):
    encoder = encoder_of(architecture)
    long = " ".join(["it is red and"] * encoder.max_pieces) + " [MASK]"
    prompts = [PROMPT, "It is [MASK].", "The capital of France is [MASK] and it plays music in a blue city."]
    facts = [Fact("own", "", "Rocky", "paris", prompt, prompt) for prompt in (*prompts, long)]
    ids = answer_ids(facts, encoder)
    assert ids[-1] == TOO_LONG or (architecture == "esm" and ids[-1] == SEVERAL_TOKENS)
    rows = tokenize(prompts, encoder)
    assert all(len(row) < encoder.max_pieces for row in rows)
    places = mask_positions(rows, encoder)
    together = states_at(rows, places, encoder, tokens=4096)
    for number, (row, place) in enumerate(zip(rows, places, strict=True)):
        assert states_at([row], [place], encoder)[:, 0] == pytest.approx(together[:, number], abs=1e-5)
    # The longest input is one that the model takes.
    row = [encoder.tokenizer.mask_token_id] * encoder.max_pieces
    assert all_hidden_states([row], encoder)[-1].shape[1] == encoder.max_pieces


@EVERY
def test_a_masked_prompt_is_the_filled_one_with_the_mask_in_place_of_the_word(architecture, encoder_of):
    encoder = encoder_of(architecture)
    for word in ("red", "music"):
        (ids,) = cut_in(PROMPT, [word], encoder).pieces
        filled = encoder.tokenizer(PROMPT.replace("[MASK]", word))["input_ids"]
        (row,) = tokenize([PROMPT], encoder)
        (place,) = mask_positions([row], encoder)
        assert [*row[:place], *ids, *row[place + 1 :]] == filled


def test_every_masked_language_model_of_transformers_is_read_or_refused_with_its_reason():
    known = {*tiny_models.KINDS, *tiny_models.WHOLE, *REFUSED}
    assert known == {*MODEL_FOR_MASKED_LM_MAPPING_NAMES}
    assert {kind for kind in known if why_unusable(kind, 3, False)} == {*REFUSED}


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
    assert [(token.ids[0], token.probability) for token in answer.layers[-1].tokens] == [
        (one["token"], pytest.approx(one["score"], abs=1e-6)) for one in filled
    ]
    w = own.convert_tokens_to_ids("W")
    assert cut_in(sequence, ["W", "WW"], encoder).pieces == ((w,), (w, w))


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
        *(({"model_type": kind}, "causal models") for kind in ("gpt2", "llama", "t5")),
        *(({"model_type": kind}, reason[:40]) for kind, reason in REFUSED.items()),
    ],
)
def test_an_architecture_is_refused_by_its_configuration_alone(config, named, tmp_path):
    # There is nothing else in the folder: neither weights nor a tokenizer are looked at first.
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError) as refused:
        load_encoder(tmp_path, device="cpu")
    assert named in str(refused.value) and not isinstance(refused.value, NoOwnHead)


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


def test_trained_heads_need_known_parts_which_is_said_before_a_text_is_read(run, cache, folder_of):
    with pytest.raises(HeadError, match=r"convbert cannot be trained.*albert.*--head logit_lens"):
        run("train-heads", "--model", folder_of("convbert"), "--head", "tied")
