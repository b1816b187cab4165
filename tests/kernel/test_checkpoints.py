"""Checkpoints as users have them: whose head reads them, which base belongs to them, and what is read wrongly without a
word.
"""

import json
import re
import shutil

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoConfig, AutoModelForMaskedLM, BertTokenizer, ElectraForPreTraining

from probing.facts.candidates import cut_in
from probing.finetuning.examples import mask_tokens
from probing.kernel.errors import HeadError, ModelError, NoOwnHead, PromptError
from probing.kernel.models.check import configuration_digest, tokens_of
from probing.kernel.models.checkpoint import Shape, unlike, warn_of_drift
from probing.kernel.models.load import BaseSource, encoder_of, load_encoder
from probing.live.ask import LiveModel
from probing.live.page_live_models import Choice, bases
from probing.own_model.check import check_model_folder
from tests import tiny_models
from tests.kernel.test_architectures import cut_at, probabilities

PROMPT = "The capital of France is [MASK]."


def tuned(folder, base, kind, **settings):
    """A body of the base's tokens with the head of a task, saved as a Trainer saves it."""
    torch.manual_seed(3)
    config = AutoConfig.from_pretrained(base, **settings)
    model = getattr(transformers, f"AutoModelFor{kind}").from_config(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)
    for path in base.glob("tokenizer*"):
        shutil.copy(path, folder)
    return model.eval()


def read(encoder):
    """(layers, tokens of the head) probabilities at the gap."""
    row = encoder.tokenizer(PROMPT.replace("[MASK]", encoder.tokenizer.mask_token), return_tensors="pt")
    at = row["input_ids"][0].tolist().index(encoder.tokenizer.mask_token_id)
    with torch.inference_mode():
        states = encoder.body(input_ids=row["input_ids"], output_hidden_states=True).hidden_states
        return (
            torch.stack([encoder.head(state[0, at]).softmax(0) for state in states]),
            row["input_ids"][0].tolist(),
            at,
        )


def plain(model, base, row, at, rows=None):
    """The same by transformers alone: the base with the model's body; ``rows`` of its vocabulary."""
    whole = AutoModelForMaskedLM.from_pretrained(base).eval()
    head = {
        "modernbert": lambda state: whole.decoder(whole.head(state)),
        "bert": whole.cls if hasattr(whole, "cls") else None,
    }
    with torch.inference_mode():
        states = model.base_model(input_ids=torch.tensor([row]), output_hidden_states=True).hidden_states
        return torch.stack([head[whole.config.model_type](state[0, at])[:rows].softmax(0) for state in states])


def edit(folder, file="config.json", **changes):
    found = json.loads((folder / file).read_text()) | changes
    (folder / file).write_text(json.dumps({key: value for key, value in found.items() if value is not ...}))
    return folder


@pytest.mark.parametrize(
    "kind", ["SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice"]
)
def test_a_modernbert_classifier_is_read_by_its_bases_head_at_every_layer(kind, folder_of, tmp_path):
    base = folder_of("modernbert")
    model = tuned(tmp_path / "tuned", base, kind)
    found = check_model_folder(tmp_path / "tuned")
    assert (
        "name its base" in found.why_no_head and unlike(found.shape(), check_model_folder(base).shape(), "base") == ""
    )
    with pytest.raises(NoOwnHead, match="name its base model"):
        load_encoder(tmp_path / "tuned", device="cpu")
    encoder = load_encoder(tmp_path / "tuned", base=BaseSource(base), device="cpu")
    ours, row, at = read(encoder)
    assert torch.allclose(ours, plain(model, base, row, at), atol=1e-6)
    in_memory = encoder_of(model, encoder.tokenizer, base=lambda: load_encoder(base, device="cpu"), device="cpu")
    assert torch.allclose(read(in_memory)[0], ours, atol=1e-6)


@pytest.mark.parametrize("named", [..., ["BertModel"], ["MyBertForMLM"]])
@pytest.mark.parametrize("stored", ["safetensors", "bin"])
def test_a_head_among_the_weights_is_found_whatever_the_configuration_names(named, stored, bert_copy, folder_of):
    edit(bert_copy, architectures=named)
    if stored == "bin":
        torch.save(load_file(bert_copy / "model.safetensors"), bert_copy / "pytorch_model.bin")
        (bert_copy / "model.safetensors").unlink()
    assert check_model_folder(bert_copy).why_no_head == ""
    ours, row, at = read(load_encoder(bert_copy, device="cpu"))
    assert ours[2].tolist() == pytest.approx(probabilities(cut_at(folder_of("bert"), 2), row, at), abs=1e-6)


@pytest.mark.parametrize("named", [["ElectraForPreTraining"], ..., ["ElectraForMaskedLM"]])
def test_a_discriminator_is_refused_in_the_same_words_by_folder_page_and_memory(named, folder_of, tmp_path):
    folder = shutil.copytree(folder_of("electra"), tmp_path / "electra")
    model = ElectraForPreTraining(AutoConfig.from_pretrained(folder))
    model.save_pretrained(folder)
    words = check_model_folder(edit(folder, architectures=named)).why_no_head
    assert words.startswith("is ELECTRA's discriminator")
    with pytest.raises((ModelError, HeadError), match=words):
        load_encoder(folder, device="cpu")
    with pytest.raises((ModelError, HeadError), match=words):
        encoder_of(model, tiny_models.wordpiece(), device="cpu")
    assert load_encoder(folder, base=BaseSource(folder_of("electra")), device="cpu").base == "tiny-electra"
    with pytest.raises(HeadError, match=f"the base .*{words}"):
        load_encoder(folder, base=BaseSource(folder), device="cpu")


@pytest.mark.parametrize("named", [..., ["DebertaV2ForMaskedLM"]])
@pytest.mark.parametrize("stored", ["safetensors", "bin"])
def test_a_discriminator_that_holds_its_generators_head_is_refused_as_a_model_and_as_a_base(
    named, stored, folder_of, tmp_path
):
    """Released DeBERTa-v3 models have ``lm_predictions``, which read the generator, beside ``mask_predictions``."""
    folder = shutil.copytree(folder_of("deberta-v2"), tmp_path / "v3")
    assert check_model_folder(folder).why_no_head == "", "trained on with a masked-LM head"
    tensors = {
        name.replace("cls.predictions.", "lm_predictions.lm_head.").replace("transform.", ""): tensor
        for name, tensor in load_file(folder / "model.safetensors").items()
    }
    tensors |= {"mask_predictions.classifier.weight": torch.ones(1, 16), "mask_predictions.dense.bias": torch.ones(16)}
    (folder / "model.safetensors").unlink()
    if stored == "bin":
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    edit(folder, architectures=named)
    tuned(tmp_path / "tuned", folder_of("deberta-v2"), "SequenceClassification")
    words = "is DeBERTa-v3's discriminator, .*pytorch_model.generator.bin.*microsoft/deberta-base"
    assert re.match(words, check_model_folder(folder).why_no_head)
    assert bases({"v3": Choice("v3", str(folder), "local")}, Choice("mine", str(tmp_path / "tuned"), "local")) == []
    with pytest.raises(NoOwnHead, match=words):
        load_encoder(folder, device="cpu")
    with pytest.raises(HeadError, match=f"the base .*{words}"):
        load_encoder(tmp_path / "tuned", base=BaseSource(folder), device="cpu")
    on_page = check_model_folder(tmp_path / "tuned").unfit(check_model_folder(folder), "v3")
    assert re.match(f"has no own masked-LM head, and its base v3 {words}", on_page)


def with_holes(folder):
    """An uncased WordPiece model whose list has lines twice, so that ids are without a token, and other rows, too."""
    tiny_models.save("bert", folder, padded=5)
    tokens = list(tiny_models.wordpiece().get_vocab())
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    twice = [*tokens[:5], "paris", "of", *[token for token in tokens[5:] if token != "berlin"], "berlin"]
    (folder / "vocab.txt").write_text("\n".join(twice) + "\n", encoding="utf-8")
    edit(folder, vocab_size=len(tokens) + 5)
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder, [number for number, token in enumerate(twice) if token not in twice[number + 1 :]]


def test_ids_without_a_token_are_no_answers_no_words_and_no_random_tokens(tmp_path, caplog):
    folder, ids = with_holes(tmp_path / "twice")
    encoder = load_encoder(folder, device="cpu")
    last, other = ids[-1], sorted({*range(encoder.body.config.vocab_size)} - {*ids})
    assert len(encoder.tokenizer) <= last, "the list's end is beyond the number of tokens"
    assert encoder.token_ids.tolist() == ids and not caplog.records and not check_model_folder(folder).notes
    assert tokens_of(encoder.tokenizer) == list(check_model_folder(folder).tokens)
    # A head that prefers ids without a token, then the last one, to all others.
    encoder.head.vocabulary.bias.data[:] = 0
    encoder.head.vocabulary.bias.data[other] = 1000.0
    encoder.head.vocabulary.bias.data[last] = 500.0
    live = LiveModel(encoder, [encoder.head] * encoder.layers, "logit_lens")
    assert live.fill_left_to_right("the capital is [MASK] .")[0] == "the capital is berlin ."
    (best, *_) = live.ask("the capital is [MASK] .", pieces=2).layers[-1].tokens
    assert best.ids == (last, last)
    with pytest.raises(PromptError, match=f"expected 1 to {len(ids)}"):
        live.ask("the capital is [MASK] .", top=len(ids) + 1)
    row = encoder.tokenizer("the capital of france is paris . " * 2)["input_ids"]
    batch = {"input_ids": torch.tensor([row] * 1000)}
    mask_tokens(batch, encoder.tokenizer, 0.9, np.random.default_rng(0))
    drawn = {*batch["input_ids"].flatten().tolist()}
    assert last in drawn and not drawn & {*other}


def test_a_small_vocabulary_with_a_padded_matrix_is_read(tmp_path):
    folder = tiny_models.save("bert", tmp_path / "padded", padded=127)
    assert not check_model_folder(folder).notes
    assert load_encoder(folder, device="cpu").body.config.vocab_size == len(tiny_models.wordpiece()) + 127


def test_a_base_with_other_tokens_is_refused_by_folder_page_and_memory(bert_copy, folder_of, tmp_path):
    model = tuned(tmp_path / "tuned", bert_copy, "SequenceClassification")
    tokenizer = json.loads((bert_copy / "tokenizer.json").read_text())
    tokens = tokenizer["model"]["vocab"]
    tokens["paris"], tokens["berlin"] = tokens["berlin"], tokens["paris"]
    (bert_copy / "tokenizer.json").write_text(json.dumps(tokenizer))
    words = "2 of 144 ids belong to other tokens: 5 is 'paris' against 'berlin', 6 is 'berlin' against 'paris'"
    assert words in unlike(
        check_model_folder(tmp_path / "tuned").shape(), check_model_folder(bert_copy).shape(), "copy"
    )
    with pytest.raises(HeadError, match=words):
        load_encoder(tmp_path / "tuned", base=BaseSource(bert_copy), device="cpu")
    with pytest.raises(HeadError, match=words):
        encoder_of(model, tiny_models.wordpiece(), base=lambda: load_encoder(bert_copy, device="cpu"), device="cpu")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "ernie"}, "architecture ernie against bert"),
        ({"depth": 4}, "number of layers 4 against 3; name the model that it was fine-tuned from"),
        (
            {"depth": 2},
            "number of layers 2 against 3; name .*, or, for a student of base, put that model's head into it",
        ),
        ({"hidden": 8}, "width 8 against 16"),
        ({"tokens": None, "rows": 4}, "size of the vocabulary 4 against 3"),
        ({"tokens": ("a", "x", "c")}, "1 of 3 ids belong to other tokens: 1 is 'x' against 'b'"),
        ({"tokens": ("a", "b", "c", "[E1]"), "rows": 8}, ""),
        ({"tokens": ("a", "b"), "rows": 2}, ""),
    ],
)
def test_what_a_base_has_in_common_with_its_model(changes, words):
    base = Shape("bert", 3, 16, 3, ("a", "b", "c"))
    said = unlike(base._replace(**changes), base, "base")
    assert re.search(words, said) and bool(words) == bool(said)
    free = base._replace(tokens=("a", "[unused1]", "c"))
    assert unlike(base, free, "base") == "" and unlike(free, base, "base") == ""


@pytest.mark.parametrize("memory", [False, True])
def test_added_tokens_have_no_place_in_the_bases_head_and_the_others_have_its_numbers(
    memory, folder_of, tmp_path, caplog
):
    base, folder = folder_of("bert"), tmp_path / "tuned"
    size = AutoConfig.from_pretrained(base).vocab_size
    model = tuned(folder, base, "TokenClassification", vocab_size=size + 8)
    tokenizer = tiny_models.wordpiece()
    tokenizer.add_tokens(["[E1]", "aspirin"])
    tokenizer.save_pretrained(folder)
    if memory:
        encoder = encoder_of(model, tokenizer, base=lambda: load_encoder(base, device="cpu"), device="cpu")
    else:
        encoder = load_encoder(folder, base=BaseSource(base), device="cpu")
    assert f"has {size + 2} tokens, its base" in caplog.text and "such as [e1]" in caplog.text
    ours, row, at = read(encoder)
    assert ours.shape[1] == size + 2 and not ours[:, size:].any()
    assert torch.allclose(ours[:, :size], plain(model, base, row, at), atol=1e-6)
    cut = cut_in(PROMPT, ["aspirin", "paris"], encoder)
    assert (cut.pieces, cut.reasons) == (((), (5,)), ("object is unknown to the vocabulary", ""))


def test_tokens_that_only_the_base_has_are_no_answers(bert_copy, folder_of, tmp_path):
    model, tokenizer = tiny_models.build("bert", padded=4)
    tokenizer.add_tokens(["[E1]", "aspirin"])
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    body = tuned(tmp_path / "tuned", bert_copy, "SequenceClassification")
    ours, row, at = read(load_encoder(tmp_path / "tuned", base=BaseSource(tmp_path / "base"), device="cpu"))
    assert torch.allclose(ours, plain(body, tmp_path / "base", row, at, rows=144), atol=1e-6)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"vocab_size": 150},
            r"word_embeddings.weight of size 144 x 16, its config.json says 150 x 16.*resized in one place only",
        ),
        (
            {"intermediate_size": 40},
            r"intermediate.dense.bias of size 32, its config.json says 40.*another model's config",
        ),
    ],
)
def test_a_configuration_that_is_not_the_weights_is_said_in_own_words(changed, words, bert_copy):
    with pytest.raises(ModelError, match=words) as raised:
        load_encoder(edit(bert_copy, **changed), device="cpu")
    assert "above report" not in str(raised.value)


def test_code_of_its_own_is_said_where_all_weights_fit_and_refused_where_not(bert_copy, folder_of):
    edit(bert_copy, auto_map={"AutoModel": "own.Model"})
    encoder = load_encoder(bert_copy, device="cpu")
    ours, row, at = read(encoder)
    assert ours[2].tolist() == pytest.approx(probabilities(cut_at(folder_of("bert"), 2), row, at), abs=1e-6)
    assert "own.Model" in encoder.notes[0]
    weights = load_file(bert_copy / "model.safetensors")
    del weights["bert.embeddings.position_embeddings.weight"]
    save_file(weights, bert_copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks 1 weights of its body.*its own code .*own\.Model.* cannot be used"):
        load_encoder(bert_copy, device="cpu")


class Adapted(nn.Module):
    """A linear map with an unmerged adapter of low rank, in the layout of PEFT: its weight and bias are the inner
    map's.
    """

    def __init__(self, inner):
        super().__init__()
        self.base_layer, self.dropout = inner, nn.Dropout(0.5)
        self.lora_A, self.lora_B = (
            nn.Linear(inner.in_features, 2, bias=False),
            nn.Linear(2, inner.out_features, bias=False),
        )

    weight = property(lambda self: self.base_layer.weight)
    bias = property(lambda self: self.base_layer.bias)

    def forward(self, given):
        return self.base_layer(given) + 2 * self.lora_B(self.lora_A(self.dropout(given)))


@pytest.mark.parametrize("training", [False, True])
def test_an_adapter_on_the_vocabulary_matrix_is_part_of_what_is_read(training):
    model, tokenizer = tiny_models.build("bert")
    model.cls.predictions.decoder = Adapted(model.cls.predictions.decoder)
    model.train(training)
    ours, row, at = read(encoder_of(model, tokenizer, device="cpu"))
    with torch.inference_mode():
        theirs = model.eval()(input_ids=torch.tensor([row])).logits[0, at].softmax(0)
    assert torch.allclose(ours[-1], theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("modernbert", {"classifier_activation": "relu"}),
        ("modernbert", {"classifier_bias": True}),
        ("esm", {"token_dropout": True}),
    ],
)
def test_every_setting_that_body_or_head_reads_counts(kind, setting):
    assert configuration_digest(AutoConfig.for_model(kind, **setting)) != configuration_digest(
        AutoConfig.for_model(kind)
    )
    unread = AutoConfig.for_model("bert", classifier_activation="relu")
    assert configuration_digest(unread) == configuration_digest(AutoConfig.for_model("bert"))


@pytest.mark.parametrize(
    ("words", "lower", "warned"),
    [
        (
            ["Paris", "Berlin", "paris"],
            True,
            "2 words, such as Paris, that its tokenizer changes.*do_lower_case.: false",
        ),
        (["café", "años"], True, "2 words, such as café, that its tokenizer changes .*accents.*strip_accents.: false"),
        (["paris", "berlin"], False, "no word with capitals, which its tokenizer keeps.*do_lower_case.: true"),
        (["paris", "[unused1]", "ℝ"], True, ""),
        (["Paris", "berlin"], False, ""),
    ],
)
def test_words_that_a_tokenizer_can_never_produce_are_warned_of(words, lower, warned, bert_copy, caplog):
    for path in bert_copy.glob("tokenizer*"):
        path.unlink()
    own = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    tokens = [*own, *(f"##{n}" for n in range(144 - len(own)))]
    BertTokenizer(vocab={token: n for n, token in enumerate(tokens)}, do_lower_case=lower).save_pretrained(bert_copy)
    notes = load_encoder(bert_copy, device="cpu").notes
    assert len(notes) == bool(warned) and all(re.search(warned, note) and note in caplog.text for note in notes)
    assert len(check_model_folder(bert_copy).notes) == bool(warned) or "accents" in warned, (
        "the page knows before a run"
    )


def without_post_processor(folder):
    edit(folder, "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    edit(folder, "tokenizer.json", post_processor=None)


def second_weights(factor):
    def write(folder):
        tensors = {name: tensor * factor for name, tensor in load_file(folder / "model.safetensors").items()}
        torch.save(tensors, folder / "pytorch_model.bin")

    return write


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (without_post_processor, r"no \[CLS\] and no \[SEP\] around a text"),
        (lambda folder: edit(folder, "tokenizer_config.json", mask_token="<mask>"), r"<mask>, .* later .* \[MASK\]"),
        (
            lambda folder: edit(folder, "tokenizer.json", pre_tokenizer={"type": "WhitespaceSplit"}),
            r"anew: it cuts .*##a ' s .*, tokenizer.json into .*##a ##' ##s ",
        ),
        (second_weights(1), ""),
        (second_weights(2), "other weights in pytorch_model.bin; those in model.safetensors are read"),
        (lambda folder: (folder / "pytorch_model.bin").write_bytes(b"broken"), "other weights in pytorch_model.bin"),
    ],
)
def test_special_tokens_and_weights_that_may_not_be_the_models_are_said(change, note, tmp_path):
    change(folder := tiny_models.save("bert", tmp_path / "mine", padded=3))
    notes = load_encoder(folder, device="cpu").notes
    assert len(notes) == bool(note) and all(re.search(note, said) for said in notes)


def test_a_base_whose_tokenizer_puts_other_tokens_around_a_text_is_refused(bert_copy, tmp_path):
    tuned(tmp_path / "tuned", bert_copy, "SequenceClassification")
    without_post_processor(tmp_path / "tuned")
    with pytest.raises(HeadError, match=r"tokens around a text none against \[CLS\] \[SEP\]"):
        load_encoder(tmp_path / "tuned", base=BaseSource(bert_copy), device="cpu")


@pytest.mark.parametrize("kept", ["cls.predictions.bias", "cls.predictions.decoder.bias"])
def test_an_untied_vocabulary_takes_its_bias_from_the_name_that_the_file_has(kept, tmp_path):
    model, tokenizer = tiny_models.build("bert", tie_word_embeddings=False)
    tokenizer.save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    bias = weights.pop("cls.predictions.decoder.bias")
    weights.pop("cls.predictions.bias")
    save_file(weights | {kept: bias}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    ours, row, at = read(load_encoder(tmp_path, device="cpu"))
    with torch.inference_mode():
        theirs = model(input_ids=torch.tensor([row])).logits[0, at].softmax(0)
    assert torch.allclose(ours[-1], theirs, atol=1e-6)


def test_the_tokens_of_a_folder_are_those_of_its_tokenizer(architecture, folder_of, encoder_of):
    tokens = check_model_folder(folder_of(architecture)).tokens
    assert tokens is None or tokens == tuple(tokens_of(encoder_of(architecture).tokenizer))


def test_a_drift_beyond_the_weights_own_length_is_doubted():
    rows = [{"layer": 0, "drift": 0.2}, {"layer": 2, "drift": 1.4}]
    assert "layer 2 of mine is 1.40 times" in warn_of_drift("mine", "base", rows)
    assert warn_of_drift("mine", "base", rows[:1]) == warn_of_drift("mine", "base", []) == ""
