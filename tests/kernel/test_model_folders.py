"""What a user may name as a model, what is known of it without loading it, and what a reader calls it."""

import json
import pickle
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from probing.kernel.errors import ModelError
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.load import load_encoder
from probing.kernel.models.names import (
    FINETUNING,
    base_entry,
    find_entry,
    finetuning_note,
    known_model,
    short_names,
    variant_and_seed,
)
from probing.kernel.objectives import TASKS
from probing.kernel.registry import name_of_model, read_registry
from probing.kernel.success import training_of
from probing.live.page_live_models import Choice, base_of
from probing.own_model.check import check_model_folder


def test_a_model_is_looked_up_without_torch():
    code = (
        "import sys; from probing.kernel.models.names import find_entry; find_entry('nesia-mini'); print('torch' in"
        " sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )


def test_the_note_beside_a_model_names_its_base(tmp_path):
    assert finetuning_note(tmp_path) == {} and find_entry(str(tmp_path)).base == ""
    (tmp_path / FINETUNING).write_text(json.dumps({"base": "nesia-mini", "objective": "QA-SQuAD-1"}), encoding="utf-8")
    entry = find_entry(str(tmp_path))
    assert (entry.base, entry.objective, base_entry(entry).name) == ("nesia-mini", "QA-SQuAD-1", "nesia-mini")


@pytest.mark.parametrize("text", ["[half", "[]", '"text"', "\0"])
def test_a_damaged_note_is_an_error_where_the_model_is_opened_and_no_note_elsewhere(tmp_path, monkeypatch, text):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    folder = tmp_path / "models" / "mine"
    folder.mkdir(parents=True)
    (folder / FINETUNING).write_text(text, encoding="utf-8")
    for read in (finetuning_note, variant_and_seed, lambda place: find_entry(str(place))):
        with pytest.raises(
            ModelError, match=r"finetuning\.json is not what finetune writes .*; fine-tune the model again"
        ):
            read(folder)
    assert training_of("mine") is None
    assert base_of(Choice("mine", str(folder), "")) == ""


def test_models_that_differ_by_the_seed_of_their_fine_tuning_alone_have_one_variant(tmp_path):
    def noted(name, **fields):
        folder = tmp_path / name
        folder.mkdir()
        recipe = {"objective": "cola", "base_weights": "w", "data_sha256": "d", "learning_rate": 2e-5} | fields
        (folder / FINETUNING).write_text(
            json.dumps({"base": "b", "objective": "CoLA", "recipe": recipe}), encoding="utf-8"
        )
        return variant_and_seed(folder)

    first = noted("first")
    assert first[1] == 1 and len(first[0]) == 12 and int(first[0], 16) >= 0
    assert noted("second", seed=2) == (first[0], 2)
    # What an old recipe does not say is what its defaults say.
    assert noted("said", pooling="first", schedule="linear", beta2=0.999, dropout=None, fresh_pooler=False) == first
    others = [{"steps": 5}, {"pooling": "mean"}, {"beta2": 0.99}]
    assert len({first[0], *(noted(f"other-{n}", **one)[0] for n, one in enumerate(others))}) == 4
    assert variant_and_seed(tmp_path) == ("", None)
    (tmp_path / FINETUNING).write_text(
        json.dumps({"base": "b", "objective": "CoLA", "recipe": {"rate": 1}}), encoding="utf-8"
    )
    with pytest.raises(ModelError, match="is not what finetune writes"):
        variant_and_seed(tmp_path)


REGISTRY = read_registry()
SHIPPED = [entry.name for entry in REGISTRY.models if entry.shipped]


def named(*models: str | tuple[str, str, str]) -> dict[str, str]:
    rows = [(model, "", "") if isinstance(model, str) else model for model in models]
    return short_names([known_model(REGISTRY, *row) for row in rows])


def test_a_shipped_model_is_called_by_its_objective_and_a_base_by_its_name():
    names = named(*SHIPPED, "bert-base-uncased")
    assert names["nesia-mini-qa-squad-1"] == "QA-SQuAD-1" and names["nesia-mini-control"] == "control"
    assert names["nesia-mini"] == "nesia-mini" and names["bert-base-uncased"] == "bert-base-uncased"


def test_a_further_seed_of_which_only_results_ship_is_called_by_objective_and_seed():
    names = named(
        "nesia-mini",
        "nesia-mini-sst-2",
        *(("nesia-mini-sst-2-seed-2", "nesia-mini", "SST-2"), ("mine-seed-2", "nesia-mini", "SST-2")),
    )
    assert list(names.values()) == ["nesia-mini", "SST-2", "SST-2, seed 2", "mine-seed-2"]


def test_what_finetune_names_by_itself_is_called_by_its_objective_and_another_folder_by_its_name():
    standard, own = ("roberta-base-mlm-squad", "roberta-base", "MLM-SQuAD"), ("my-model", "roberta-base", "MLM-SQuAD")
    assert named("roberta-base", standard, own) == {
        "roberta-base": "roberta-base",
        "roberta-base-mlm-squad": "MLM-SQuAD",
        "my-model": "my-model",
    }


def test_the_name_of_a_model_of_ones_own_never_hides_a_shipped_one():
    names = named("nesia-mini", "nesia-mini-qa-squad-1", "qa-squad-1", ("QA-SQuAD-2", "", ""), "nesia-mini-qa-squad-2")
    assert names["nesia-mini-qa-squad-1"] == "nesia-mini · QA-SQuAD-1" and names["qa-squad-1"] == "qa-squad-1"
    assert names["nesia-mini-qa-squad-2"] == "nesia-mini · QA-SQuAD-2"


@pytest.mark.parametrize("seed", range(40))
def test_any_set_of_models_has_names_that_differ_and_do_not_depend_on_their_order(seed):
    draw = random.Random(seed)
    listed = [entry.name for entry in REGISTRY.models]
    objectives = ["", "unknown", "pre-training", *(task.label for task in TASKS.values())]
    slugs = [f"{base}-{slug}" for base in ("nesia-mini", "roberta-base", "own") for slug in TASKS]
    odd = [
        "control",
        "QA-SQuAD-1",
        "qa-squad-1",
        "nesia-mini · QA-SQuAD-1",
        "x" * 70,
        "x" * 71,
        "…",
        "a/checkpoint-1",
        "b/checkpoint-1",
    ]
    long = [f"{'run-' * draw.randint(5, 20)}{draw.choice('ab')}{'-more' * draw.randint(3, 9)}" for _ in range(8)]
    pool = sorted({*listed, *slugs, *odd, *long})
    chosen = draw.sample(pool, draw.randint(1, len(pool)))
    models = [
        known_model(REGISTRY, name, draw.choice(["", *listed, "own"]), draw.choice(objectives)) for name in chosen
    ]
    names = short_names(models)
    assert set(names) == set(chosen)
    assert len(set(names.values())) == len(names), "two models have one name"
    assert not any(short in names and short != full for full, short in names.items()), (
        "a model has the full name of another"
    )
    draw.shuffle(models)
    assert short_names(models) == names
    assert all(len(short) <= len(full) or " · " in short or short in objectives for full, short in names.items())


CONFIG = {
    "model_type": "bert",
    "architectures": ["BertForMaskedLM"],
    "num_hidden_layers": 2,
    "hidden_size": 4,
    "intermediate_size": 8,
    "vocab_size": 3,
}
NAMES = ("bert.embeddings.word_embeddings.weight", "cls.predictions.bias")
ENDS = ("weight", "bias")
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"


def weights(folder, *names, dtype="F32"):
    content = json.dumps(
        {name: {"dtype": dtype, "shape": [3], "data_offsets": [0, 0]} for name in names or NAMES}
    ).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(content)) + content)


def model(folder: Path, **changed) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | changed))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[MASK]\n")
    weights(folder)
    return folder


def case_named(begin):
    """Weights whose names begin otherwise."""
    return lambda folder: weights(
        folder, begin.removesuffix("bare.") + NAMES[0].removeprefix("bert." if begin.endswith("bare.") else "")
    )


def file(name, content: bytes | str | object = b"x", *gone):
    """Another file, without those that are gone."""

    def put(folder):
        for one in gone:
            (folder / one).unlink()
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())

    return put


def bin_of(content, protocol=2):
    content = content if isinstance(content, bytes) else pickle.dumps(content, protocol)
    return file("pytorch_model.bin", content, "model.safetensors")


def only(*made):
    """Nothing but folders with models, or files."""

    def put(folder):
        for one in folder.iterdir():
            one.unlink()
        for name in made:
            if name.endswith("/"):
                model(folder / name)
            else:
                file(name)(folder)

    return put


MINE = dict.fromkeys(NAMES, 1.0)
WAYS = {
    "a pointer to weights": (
        file("model.safetensors", POINTER),
        "git-lfs pointer in place of model.safetensors.*git lfs pull",
    ),
    "a pointer to a pickle": (
        file("pytorch_model.bin", POINTER, "model.safetensors"),
        "git-lfs pointer in place of pytorch_model.bin",
    ),
    "a pointer to a configuration": (file("config.json", POINTER), "git-lfs pointer in place of config.json"),
    "a run": (
        only("checkpoint-500/", "checkpoint-1000/", "trainer_state.json"),
        "has one inside: name .*checkpoint-1000$",
    ),
    "an old sentence transformer": (only("0_Transformer/", "modules.json"), "has one inside: name .*0_Transformer$"),
    "the hub's cache": (
        only("snapshots/old/", "snapshots/main-commit/", "refs/main"),
        "has one inside: name .*main-commit$",
    ),
    "a state of accelerate": (
        only("model.safetensors", "random_states_0.pkl"),
        r"no config.json.*accelerate: unwrap_model\(model\)",
    ),
    "TensorFlow": (file("tf_model.h5", b"x", "model.safetensors"), "but tf_model.h5.*from_tf"),
    "TensorFlow's checkpoint": (
        only("bert_config.json", "bert_model.ckpt.index"),
        "but bert_model.ckpt.index.*TensorFlow",
    ),
    "Flax": (file("flax_model.msgpack", b"x", "model.safetensors"), "but flax_model.msgpack.*from_flax"),
    "ONNX": (file("model.onnx", b"x", "model.safetensors"), "but model.onnx"),
    "DeepSpeed": (only("global_step9/x", "zero_to_fp32.py"), r"but global_step9.*zero_to_fp32\.py"),
    "another name": (file("weights.pth", b"x", "model.safetensors"), "but weights.pth.*save_pretrained"),
    "integers": (
        bin_of({**MINE, "x": torch.CharStorage}),
        "stores weights as torch.CharStorage, expected floating-point",
    ),
    "nothing": (only(), "no config.json; save the model itself with save_pretrained"),
    "code of a new kind": (
        lambda folder: model(folder, model_type="mine", auto_map={"AutoConfig": "own.Config"}),
        r"is a mine model.*own code .own\.Config",
    ),
    "no kind": (lambda folder: model(folder, model_type=None), 'no "model_type"'),
    "a page for a configuration": (file("config.json", b"<html>"), "config.json that cannot be read"),
    "an old configuration": (
        lambda folder: (folder / "config.json").rename(folder / "bert_config.json"),
        "rename its bert_config.json",
    ),
    "a million layers": (lambda folder: model(folder, num_hidden_layers=10**6), "1000000 layers, expected 1 to 255"),
    "a decoder": (lambda folder: model(folder, is_decoder=True), "is a decoder"),
    "a whole model": (bin_of({**MINE, "made": Path("x")}), r"objects of Python \(pathlib.*save_pretrained"),
    "a later protocol": (bin_of(MINE, 4), "pickle of protocol 4.*save_pretrained"),
    "a page for weights": (
        bin_of(b"<!DOCTYPE html>"),
        "pytorch_model.bin, which is missing, damaged .*web page; copy or download",
    ),
    "a part of the weights": (file("model.safetensors", b"\xff" * 9), "model.safetensors, which is missing, damaged"),
    "a missing shard": (
        file("model.safetensors.index.json", {"weight_map": {"a": "model-1.safetensors"}}, "model.safetensors"),
        "model-1.* is missing",
    ),
    "no list of shards": (
        file("model.safetensors.index.json", {"weight_map": ["model-1.safetensors"]}, "model.safetensors"),
        "has no weight files",
    ),
    "a nested state": (
        bin_of({"epoch": 3, "model_state_dict": MINE}),
        "under the key 'model_state_dict'.*load_state_dict",
    ),
    **{
        f"names that begin with {begin}": (
            case_named(begin),
            f"begin with '{begin.removesuffix('bare.')}'.*save_pretrained",
        )
        for begin in (
            "module.",
            "_orig_mod.",
            "_orig_mod.module.",
            "model.",
            "anything.at.all.",
            "bert_model.bare.",
            "encoder.bare.",
        )
    },
    "names of a pickle": (bin_of({f"module.{name}": 1.0 for name in NAMES}), "begin with 'module.'"),
    "a slow tokenizer": (
        file("tokenizer_config.json", {"tokenizer_class": "PhobertTokenizer"}),
        "Python only.*cannot be used",
    ),
    "a slow tokenizer of the configuration": (
        lambda folder: model(folder, tokenizer_class="BertJapaneseTokenizer"),
        "Python only .BertJapaneseTokenizer",
    ),
    "a tokenizer with code of its own": (
        file("tokenizer_config.json", {"tokenizer_class": "Mine", "auto_map": {"AutoTokenizer": ["own.Mine", None]}}),
        "only .Mine",
    ),
    "more tokens than rows": (
        file("added_tokens.json", {"[E1]": 3, "[E2]": 4}),
        "has 5 tokens.*2 more than the 3.*resize_token",
    ),
    **{
        f"a tokenizer of {kind} in Python": (
            lambda folder, kind=kind: model(folder, model_type=kind, emb_dim=4, n_layers=2),
            f"Python only .{name}",
        )
        for kind, name in (("xlm", "XLM"), ("flaubert", "Flaubert"), ("roc_bert", "RoCBert"))
    },
    "a tokenizer of few tokens": (
        lambda folder: model(folder, vocab_size=3 + 129),
        "tokenizer of this model has 3 tokens, its head 132",
    ),
    **{
        f"the longest input {longest!r}": (
            file("tokenizer_config.json", {"model_max_length": longest}),
            f"model_max_length {longest!r} .*leave it out",
        )
        for longest in ("512", "", 2, -1)
    },
    **{
        f"quantised by {how!r}": (
            lambda folder, how=how: model(folder, quantization_config=how),
            f"quantised .*{name}.*use the original weights",
        )
        for how, name in (({"quant_method": "gptq"}, "gptq"), ({"quant_method": "compressed-tensors"}, "compressed"))
    },
    **{
        f"weights in {dtype}": (
            lambda folder, dtype=dtype: weights(folder, dtype=dtype),
            f"stores .* as {dtype}.*quantised.*use the original weights",
        )
        for dtype in ("F8_E4M3", "F8_E5M2", "I8")
    },
    **{
        f"a weight named {end}": (
            lambda folder, end=end: weights(folder, *NAMES, f"bert.encoder.layer.0.output.dense{end}"),
            f"stores .*{end}.*quantised.*use the original weights",
        )
        for end in (".qweight", ".weight_packed", ".weight_scale", ".zero_point")
    },
    "an adapter's weights that are not merged": (
        lambda folder: weights(folder, *NAMES, "base_model.model.bert.encoder.lora_A.default.weight"),
        r"not merged, such as .*lora_A.*merge_and_unload\(\)",
    ),
    "the same in a pickle": (bin_of({**MINE, "bert.x.base_layer.weight": 1.0}), "not merged, such as .*base_layer"),
    "half of a float8 in a pickle": (
        lambda folder: (
            torch.save({NAMES[0]: torch.ones(3).to(torch.float8_e4m3fn)}, folder / "pytorch_model.bin"),
            (folder / "model.safetensors").unlink(),
        ),
        "stores weights as torch.float8_e4m3fn.*quantised",
    ),
    **{
        f"the variant in {name}": (file(name, b"x", "model.safetensors"), r'variant="fp16"\), and save it')
        for name in ("model.fp16.safetensors", "model.fp16-00001-of-00002.safetensors", "pytorch_model.fp16.bin")
    },
    "X-MOD without a language": (
        lambda folder: model(folder, model_type="xmod", languages=["de_DE", "en_XX"]),
        r'languages \(de_DE, en_XX\).*names none: put "default_language": "de_DE" into it',
    ),
    "X-MOD in a language that it has not": (
        lambda folder: model(folder, model_type="xmod", languages=["de_DE"], default_language="fr_FR"),
        "names fr_FR: put .*de_DE",
    ),
    "code of its own without a kind": (
        lambda folder: model(folder, model_type=None, auto_map={"AutoModel": "own.Model"}),
        "is a new kind of model with its own code .own.Model.*not run here",
    ),
    **{
        f"{len(numbers)} layers of two": (
            lambda folder, numbers=numbers: weights(
                folder, *NAMES, *(f"bert.encoder.layer.{n}.output.dense.{end}" for n in numbers for end in ENDS)
            ),
            f"{words}.*number of layers",
        )
        for numbers, words in (
            ((1,), r"lacks 2 weights of its body, such as bert\.encoder\.layer\.0\.output\.dense\.bias"),
            ((0, 1, 2), r"has 2 weights of its body that its config\.json does not define, such as bert\..*\.2\."),
        )
    },
    "an undeclared mask": (
        file("tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"}),
        r'put "mask_token": "\[MASK\]" into',
    ),
    "a mask that stands for unknown words": (
        file("tokenizer_config.json", {"mask_token": "[UNK]", "unk_token": "[UNK]"}),
        r'put "mask_token": "\[MASK\]" into',
    ),
}


@pytest.mark.parametrize("case", WAYS)
def test_a_case_says_what_it_is_and_the_way_out_on_the_page_as_in_the_commands(case, tmp_path):
    change, words = WAYS[case]
    change(model(tmp_path / "mine"))
    with pytest.raises(ModelError, match=f"mine {'.*' if not words.startswith('is') else ''}{words}") as page:
        check_model_folder(tmp_path / "mine")
    with pytest.raises(ModelError) as loaded:
        load_encoder(tmp_path / "mine", device="cpu")
    assert str(loaded.value) == str(page.value) and "\n" not in str(page.value)


@pytest.mark.parametrize("longest", [None, 1e30, float("inf"), 3])
def test_a_folder_may_have_no_longest_input(longest, bert_copy):
    settings = json.loads((bert_copy / "tokenizer_config.json").read_text())
    (bert_copy / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": longest}))
    check_model_folder(bert_copy)
    assert load_encoder(bert_copy, device="cpu").max_pieces == (3 if longest == 3 else 48)


def test_a_folder_that_is_named_without_a_slash_is_a_folder_whatever_fails_in_it(bert_copy, monkeypatch):
    monkeypatch.chdir(bert_copy.parent)

    def fails(*_given, **_more):
        raise OSError("a library is missing")

    monkeypatch.setattr("probing.kernel.models.load.AutoModelForMaskedLM.from_pretrained", fails)
    with pytest.raises(ModelError, match=r"cannot load .*: a library is missing") as raised:
        open_encoder(bert_copy.name)
    assert "registry (" not in str(raised.value)


def test_a_usual_folder_is_no_case(tmp_path):
    assert check_model_folder(model(tmp_path / "mine")).tokens == ("[PAD]", "[UNK]", "[MASK]")
    pickled = model(tmp_path / "pickled", architectures=["BertModel"], auto_map={"AutoModel": "own.Model"})
    bin_of({"bert.embeddings.position_ids": 1, **MINE})(pickled)
    found = check_model_folder(pickled)
    assert found.why_no_head == "" and "code of its own (own.Model)" in found.notes[0]


def test_a_snapshot_of_the_hubs_cache_is_called_by_its_repository_and_commit():
    assert name_of_model(f"/cache/models--some-one--a--model/snapshots/{'1a' * 20}") == "some-one/a--model@1a1a1a1a1a1a"
    assert name_of_model("/cache/models--bert/snapshots/abc") == "bert@abc"
    assert name_of_model("/cache/mine/snapshots/abc") == "abc"
