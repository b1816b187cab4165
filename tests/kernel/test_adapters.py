"""Adapters of PEFT: merged, they are the model that was trained; what cannot be merged is refused by name."""

import json
import shutil
import sys
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from probing.kernel.errors import ModelError
from probing.kernel.models.catalogue import open_encoder
from probing.live.page_live_models import base_of, choices
from probing.own_model.check import check_model_folder, refuse_unfit
from tests.kernel.test_model_folders import file
from tests.own_model.test_commands import change_weights, noisy
from tests.tiny_models import save

peft = pytest.importorskip("peft", reason="the extra adapters")
LORA = {"r": 2, "lora_alpha": 6, "target_modules": ["query", "value", "dense"]}
SEQ, TOKEN, ANSWERS = "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"
TASKS = {SEQ: "SEQ_CLS", TOKEN: "TOKEN_CLS", ANSWERS: "QUESTION_ANS"}


def trained(base, folder, kind="ForMaskedLM", method="Lora", added=0, **more):
    """A base with an adapter of random weights before it is merged; saved to ``folder``."""
    model = getattr(transformers, f"AutoModel{kind}").from_pretrained(base)
    if added:
        model.resize_token_embeddings(model.config.vocab_size + added)
    config = getattr(peft, f"{method}Config")(task_type=TASKS.get(kind), **(LORA if method == "Lora" else {}) | more)
    wrapped = peft.get_peft_model(model, config)
    torch.manual_seed(5)
    for parameter in filter(lambda parameter: parameter.requires_grad, wrapped.parameters()):
        parameter.data += 0.3 * torch.randn_like(parameter)
    wrapped.save_pretrained(folder)
    return wrapped.eval()


def states(model, rows):
    """(layers, rows, tokens, hidden) of a model's body."""
    with torch.inference_mode():
        return torch.stack(model(input_ids=rows, output_hidden_states=True).hidden_states)


RANKS = {"rank_pattern": {"bert.encoder.layer.0.attention.self.query": 3}, "alpha_pattern": {"layer.1.+value": 9}}
IA3 = {"method": "IA3", "target_modules": ["key", "output.dense"], "feedforward_modules": ["output.dense"]}
CASES: dict[str, dict[str, Any]] = {
    **{task: {"kind": kind} for kind, task in TASKS.items()},
    "a bare body": {"kind": ""},
    "masked": {"use_rslora": True},
    "the head": {"target_modules": ["query", "decoder"]},
    "DoRA": {"use_dora": True, "kind": SEQ},
    "IA3": IA3,
    "ranks by layer": RANKS,
    "biases": {"bias": "all", "lora_bias": True},
    "two layers": {"layers_to_transform": [0, 2], "layers_pattern": "layer"},
    "norms": {"modules_to_save": ["LayerNorm"], "kind": SEQ},
    "embeddings": {"target_modules": ["word_embeddings"]},
    "embeddings of a classifier": {"target_modules": ["word_embeddings"], "kind": SEQ},
    "embeddings trained whole": {"modules_to_save": ["word_embeddings"]},
    "single tokens": {"trainable_token_indices": [4, 7]},
    "single tokens of a classifier": {"trainable_token_indices": {"word_embeddings": [4, 7]}, "kind": TOKEN},
    "new tokens": {"added": 3, "trainable_token_indices": [4, 44], "kind": SEQ},
    "new tokens in the head": {"added": 3},
}


@pytest.mark.parametrize("case", CASES)
def test_a_merged_adapter_computes_what_it_does_unmerged_and_what_peft_merges(case, tiny_model, tmp_path):
    theirs = trained(tiny_model, tmp_path / "adapter", **CASES[case])
    ours = open_encoder(str(tmp_path / "adapter"), device="cpu")
    rows = torch.arange(theirs.config.vocab_size)[-12:][None]
    found = states(ours.body, rows)
    assert torch.allclose(found, states(theirs, rows), atol=1e-6)
    assert (ours.base == "adapter") == ("kind" not in CASES[case])
    if ours.base == "adapter":
        with torch.inference_mode():
            logits = theirs(input_ids=rows).logits[0]
        # PEFT has no bias beside single tokens of a tied matrix before they are merged.
        logits = logits + (theirs.base_model.model.cls.predictions.bias if case == "single tokens" else 0)
        assert torch.allclose(ours.head(found[-1, 0]), logits, atol=1e-5)
    # PEFT merges an adapter of the vocabulary matrix into the embeddings, too, which it was not trained on.
    if case != "the head":
        assert torch.allclose(found, states(theirs.merge_and_unload(), rows), atol=1e-6)


@pytest.mark.parametrize(("more", "scale"), [({}, 6 / 2), ({"use_rslora": True}, 6 / 2**0.5)])
def test_a_merged_matrix_is_the_base_and_the_scaled_product(more, scale, tiny_model, tmp_path):
    trained(tiny_model, tmp_path / "adapter", **more)
    part = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    base = load_file(tiny_model / "model.safetensors")
    for name, weight in open_encoder(str(tmp_path / "adapter"), device="cpu").body.named_parameters():
        at = f"base_model.model.bert.{name.removesuffix('.weight')}.lora_"
        product = part[f"{at}B.weight"] @ part[f"{at}A.weight"] if f"{at}A.weight" in part else 0
        assert torch.allclose(weight, base[f"bert.{name}"] + scale * product, atol=1e-6)


@pytest.fixture
def adapter(tiny_model, tmp_path):
    """A classifier's adapter, called mine, beside its base, called base."""
    trained(shutil.copytree(tiny_model, tmp_path / "base"), tmp_path / "mine", SEQ)
    return tmp_path / "mine"


def settings(**changed):
    def change(folder):
        path = folder / "adapter_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))

    return change


def weights(change):
    def rewrite(folder):
        path = folder / "adapter_model.safetensors"
        save_file(change(load_file(path)), path, {"format": "pt"})

    return rewrite


#: By the files alone, and by the weights.
REFUSED = {
    "prompts": (settings(peft_type="PREFIX_TUNING"), 'merged: peft_type .* is "PREFIX_TUNING", expected .*"LORA"'),
    "another library": (file("adapter_config.json", {"config": {}}), "merged: peft_type .* is null"),
    "generates": (settings(task_type="CAUSAL_LM"), 'merged: task_type .* is "CAUSAL_LM"'),
    "changes the base": (settings(init_lora_weights="pissa"), 'merged: init_lora_weights .* is "pissa"'),
    "a model beside it": (file("model.safetensors"), r"a model .model\.safetensors. and an adapter"),
    "no weights": (lambda folder: (folder / "adapter_model.safetensors").unlink(), "no weights of its adapter"),
    "weights: another base": (lambda folder: save("bert", folder.parent / "base", num_hidden_layers=1), "base lacks"),
    "weights: cut": (
        weights(lambda all_of: {name: one for name, one in all_of.items() if ".1.attention.self" not in name}),
        r"no weights for bert\.encoder\.layer\.1\.attention\.self\.query, which its settings adapt; it is cut",
    ),
    "weights: whole numbers": (
        weights(lambda all_of: {name: one.to(torch.int8) for name, one in all_of.items()}),
        "weights of int8; expected floating-point",
    ),
    "weights: another rank": (settings(r=3), "size mismatch"),
    "weights: another method": (settings(use_dora=True), "weights that do not fit its adapter_config.json"),
    "weights: when a token is seen": (settings(alora_invocation_tokens=[1]), "does not support merging"),
    "weights: no model": (lambda folder: settings(base_model_name_or_path=str(folder))(folder), "is an adapter itself"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_merged_is_refused_by_name(case, adapter):
    change, words = REFUSED[case]
    change(adapter)
    with pytest.raises(ModelError, match=words):
        open_encoder(str(adapter))
    if not case.startswith("weights"):
        with pytest.raises(ModelError, match=words):
            check_model_folder(adapter)


def test_its_base_is_the_recorded_one_or_is_named_and_both_are_its_identity(adapter, tmp_path, monkeypatch):
    own = open_encoder(str(adapter), device="cpu")
    found = {own.weights_id, open_encoder(str(adapter.parent / "base"), device="cpu").weights_id}
    moved = str((tmp_path / "base").rename(tmp_path / "moved"))
    refuse_unfit(str(adapter), moved)
    for recorded, words in (
        (str(tmp_path / "base"), "the base of .*mine, .*/base, cannot be used: no folder.*--base"),
        ("some/base", "the base of .*mine, some/base, cannot be used: some/base is not in the hub's cache.*--base"),
        (None, "holds changes of its base model alone; name that base .--base"),
    ):
        settings(base_model_name_or_path=recorded)(adapter)
        for opens in (lambda: open_encoder(str(adapter)), lambda: check_model_folder(adapter)):
            with pytest.raises(ModelError, match=words):
                opens()
    for change in (lambda _: None, settings(lora_alpha=7), lambda _: change_weights(tmp_path / "moved", noisy(0.01))):
        change(adapter)
        found.add(open_encoder(str(adapter), base=moved, device="cpu").weights_id)
    assert own.base == "base" and len(found) == 5
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ModelError, match=r"needs peft; install it with: pip install 'bertnesia-explorer\[adapters\]'"):
        check_model_folder(adapter, base=moved)


def test_an_adapter_is_probed_beside_its_base_and_offered_by_its_folder(adapter, run, cache, facts_file, monkeypatch):
    base = adapter.parent / "base"
    last = run("own", "--model", adapter, "--base", base, "--facts", facts_file).output.splitlines()[-1]
    assert "mine knows" in last and "base" in last
    monkeypatch.setenv("PROBING_MODELS", str(adapter.parent))
    assert choices()["mine"].location == str(adapter) and base_of(choices()["mine"]) == "base"
