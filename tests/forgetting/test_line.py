"""``line``: means of the weights of a base and its fine-tuned model, with a tiny model."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertForMaskedLM, BertForSequenceClassification

import probing
from probing.forgetting import line as work
from probing.forgetting.figures_series import line_curve
from probing.forgetting.report_series import LINE_COLUMNS, line_in_words, offered
from probing.kernel.errors import ModelError, OptionError
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.check import check_store
from probing.kernel.store.parquet import read_table
from tests.finetuning.task_files import write_treebank
from tests.fixtures.commands import Killed

HERE = ("--device", "cpu", "--threads", 1)
SUBJECTS = ("france", "germany", "italy", "rocky", "jazz", "music", "sun", "moon")
CAPITALS = {"Paris": "France", "Rome": "Italy", "Berlin": "Germany", "Madrid": "Spain", "London": "England"}
CAPITALS |= {"Tokyo": "Japan", "Moscow": "Russia", "Athens": "Greece", "Vienna": "Austria", "Lisbon": "Portugal"}
ANSWERS = ("paris", "berlin", "rome", "boston", "red", "green", "blue", "water", "stone", "city")


@pytest.fixture()
def facts(tmp_path):
    rows = [f"{one},is,{answer},The {one} is [MASK]." for one in SUBJECTS for answer in ANSWERS]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["subject,relation,object,prompt", *rows]) + "\n")
    return path


def classifier(base, folder, layer):
    """A classifier of the base's body, with the weights of one layer in another order."""
    torch.manual_seed(1)
    model = BertForSequenceClassification.from_pretrained(base, num_labels=3)
    with torch.no_grad():
        for weight in model.bert.encoder.layer[layer].parameters():
            weight.copy_(weight[torch.randperm(len(weight))])
    model.save_pretrained(folder)
    for path in base.glob("tokenizer*"):
        shutil.copyfile(path, folder / path.name)
    return folder


@pytest.fixture()
def tuned(tiny_model, tmp_path):
    return classifier(tiny_model, tmp_path / "classifier", 0)


def points(cache, k=10, half="all"):
    """Weight of the fine-tuned model -> row of the one line that is stored."""
    (path,) = (cache / "runs").glob("series_line-*.parquet")
    rows = read_table(path, "series_line").to_pylist()
    return {row["a"]: row for row in rows if (row["k"], row["half"]) == (k, half)}


def test_between_a_model_and_its_copy_the_line_is_flat_to_the_bit(run, cache, tiny_model, facts, tmp_path):
    copy = shutil.copytree(tiny_model, tmp_path / "copy")
    words = ("line", "--model", copy, "--base", tiny_model, "--facts", facts, *HERE)
    assert "Without a score none is best" in run(*words).output
    assert "exists already" in run(*words).output and check_store([cache / "runs"]) == []
    for half in ("all", "choosing half", "reporting half"):
        rows = [{**row, "a": 0} for row in points(cache, half=half).values()]
        assert len(rows) == 11 and all(row == rows[0] for row in rows)
        assert rows[0]["kept"] == rows[0]["known"] > 0 == rows[0]["gained"] == rows[0]["difference"]
    run("line", "--model", copy, "--base", tiny_model, "--save", 0.3, "--out", tmp_path / "mean", *HERE[:2])
    before, mean = (load_file(one / "model.safetensors") for one in (tiny_model, tmp_path / "mean"))
    assert before.keys() == mean.keys() and all(torch.equal(before[name], mean[name]) for name in before)


def test_a_permuted_layer_loses_facts_on_the_way_and_a_saved_point_answers_as_measured(run, cache, tmp_path, dies):
    base = REPOSITORY / "data" / "models" / "nesia-mini"
    model, facts = classifier(base, tmp_path / "mine", 6), tmp_path / "capitals.csv"
    rows = [f"{city},in,{land},{city} is the capital of [MASK]." for city, land in CAPITALS.items()]
    facts.write_text("\n".join(["subject,relation,object,prompt", *rows]) + "\n")
    of = ("--model", model, "--base", base, *HERE)
    alive = dies(work, "ranks_by_layer", 8)
    with pytest.raises(Killed):
        run("line", *of, "--facts", facts)
    alive()
    dies(work, "ranks_by_layer", 11)
    run("line", *of, "--facts", facts)
    rows = points(cache, k=1)
    assert rows[0]["kept"] == rows[0]["known"] > 5 and rows[0]["kept"] > rows[1]["kept"]
    assert all(row["difference"] == (row["kept"] - rows[1]["kept"]) / row["known"] for row in rows.values())
    before, after = (load_file(one / "model.safetensors") for one in (base, model))
    for a in (0, 0.4, 1):
        out = tmp_path / f"mean-{a}"
        run("line", *of, "--save", a, "--out", out)
        mean = load_file(out / "model.safetensors")
        assert mean.keys() == after.keys() and torch.equal(mean["classifier.weight"], after["classifier.weight"])
        for name in mean.keys() & before.keys():
            expected = (1 - a) * before[name].float() + a * after[name].float()
            assert torch.allclose(mean[name], expected, atol=1e-6), name
        asked = ("probe", "--model", out, "--base", base, "--facts", facts, "--head", "logit_lens", *HERE)
        run(*asked, "--out", tmp_path / f"probed-{a}")
        (path,) = (tmp_path / f"probed-{a}").glob("predictions-*.parquet")
        known = int((read_table(path, "predictions").to_pandas().query("layer == 8")["gold_rank"] <= 1).sum())
        assert known == rows[a]["kept"] + rows[a]["gained"], a
    with pytest.raises(ModelError, match="exists already"):
        run("line", *of, "--save", 0.4, "--out", out)


def test_a_model_of_finetune_is_scored_at_every_point_and_a_saved_one_scores_the_same(
    run, cache, tiny_model, facts, tmp_path
):
    data, mine = write_treebank(tmp_path / "ewt"), cache / "models" / "mine"
    for path in data.iterdir():
        path.write_text(path.read_text() * 8)
    tune = ("finetune", "--model", tiny_model, "--objective", "pos-ewt", "--data", data, "--out", mine)
    run(*tune, "--steps", 40, "--tokens", 300, "--pieces", 48, "--device", "cpu", "--rate", 0.01, "--difference")
    words = ("line", "--model", mine, "--facts", facts, *HERE)
    assert "so the points" not in run(*words, "--data", data).output
    note = json.loads((mine / "finetuning.json").read_text())
    scores = {a: row["score"] for a, row in points(cache).items()}
    assert scores[1] == pytest.approx(note["scores"][0]["value"]) and scores[0] != scores[1]
    # A later line without a score does not hide the scored one.
    assert "the points have no score: no data for pos-ewt" in run(*words).output
    table = probing.results(cache / "runs").report("series", "line", k=10).table
    assert list(table) == list(LINE_COLUMNS) and table["score"].notna().all() and len(table) == 33
    half = table[table["half"] == "choosing half"].set_index("a")
    good = half[half["score"] >= half.loc[1.0, "score"] - 0.01]
    assert half.loc[offered(table), "kept"] == good["kept"].max() and offered(table) in good.index
    assert probing.results(cache / "runs").report("series", "prevention").table.empty
    run("line", "--model", mine, "--save", 0.5, *HERE[:2])
    assert f": {scores[0.5]:.4f}" in run("score", "--model", "mine-mean-0.5", "--data", data).output
    run("own", "--model", "mine-mean-0.5", "--facts", facts, "--base", tiny_model, "--plan")


def test_a_notebook_scores_by_any_function_of_the_model(run, cache, tiny_model, tuned, facts):
    def score(model, tokenizer):
        assert model.classifier.out_features == 3 and tokenizer.mask_token == "[MASK]"
        far = float(model.bert.encoder.layer[0].output.dense.weight.detach().norm())
        return [far > 0] * 30 + [0, 1]

    table = probing.line(tuned, tiny_model, facts, score, called="sun", device="cpu")
    every = table[(table["half"] == "all") & (table["k"] == 10)]
    assert (
        set(every["examples"]) == {32} and np.allclose(every["score"], 31 / 32) and set(table["probe_set"]) == {"sun"}
    )
    assert offered(table[table["k"] == 10]) is not None and line_in_words(table[table["k"] == 10])[1].startswith(
        "Offer"
    )
    assert {trace.name for trace in line_curve(every, base="b", model="m").data} == {"kept", "gained", "score"}
    for wrong in (float("nan"), [[1.0]], [], "0.7", 70.0, {"f1": 0.7}):
        with pytest.raises(OptionError, match=r"got .*score"):
            probing.line(tuned, tiny_model, facts, lambda *_, wrong=wrong: wrong, device="cpu")
    longer = iter(range(1, 12))
    with pytest.raises(OptionError, match="as many at every point"):
        probing.line(tuned, tiny_model, facts, lambda *_: [1.0] * next(longer) * 8, device="cpu")


@pytest.mark.parametrize("change", ["vocabulary", "shape", "no base", "activation", "class"])
def test_models_that_have_no_mean_are_refused_by_name(run, cache, tiny_model, tuned, facts, change):
    words = ["line", "--model", tuned, "--base", tiny_model, "--facts", facts, *HERE]
    if change == "vocabulary":
        shutil.copyfile(tiny_model / "model.safetensors", tuned / "model.safetensors")
        path = tuned / "tokenizer.json"
        path.write_text(path.read_text().replace('"jazz"', '"jazzy"'))
    elif change == "shape":
        weights = load_file(tuned / "model.safetensors")
        config = json.loads((tuned / "config.json").read_text()) | {"max_position_embeddings": 100}
        (tuned / "config.json").write_text(json.dumps(config))
        name = "bert.embeddings.position_embeddings.weight"
        weights[name] = weights[name][:100].clone()
        save_file(weights, tuned / "model.safetensors", {"format": "pt"})
    elif change == "no base":
        del words[3:5]
    elif change in ("activation", "class"):
        other = {"hidden_act": "relu"} if change == "activation" else {"architectures": ["MyReader"]}
        path = tuned / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | other))
    expected = {
        "vocabulary": "different vocabularies",
        "shape": r"does not have .*position_embeddings\.weight",
        "no base": "--base",
        "activation": "answer otherwise inside the other model",
        "class": "is a MyReader, a class that transformers does not have",
    }
    with pytest.raises(probing.ProbingError, match=expected[change]):
        run(*words)


def test_an_adapter_is_averaged_as_it_is_merged(run, cache, tiny_model, facts, tmp_path):
    peft = pytest.importorskip("peft", reason="the extra adapters")
    model = BertForSequenceClassification.from_pretrained(tiny_model)
    wrapped = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["query"], init_lora_weights=False))
    wrapped.save_pretrained(tmp_path / "adapter")
    of = ("line", "--model", tmp_path / "adapter", "--base", tiny_model, *HERE)
    run(*of, "--facts", facts)
    run(*of, "--save", 1, "--out", tmp_path / "mean")
    name, mean = "encoder.layer.1.attention.self.query.weight", load_file(tmp_path / "mean" / "model.safetensors")
    merged = wrapped.merge_and_unload().bert.get_parameter(name)
    assert len(points(cache)) == 11 and torch.allclose(mean[f"bert.{name}"], merged, atol=1e-6)


@pytest.mark.parametrize("target", ["query", "decoder"])
def test_the_mean_without_any_weight_of_an_adapter_is_the_base_for_transformers_too(
    run, cache, tiny_model, facts, tmp_path, target
):
    peft = pytest.importorskip("peft", reason="the extra adapters")
    config = peft.LoraConfig(r=2, target_modules=[target], init_lora_weights=False)
    model = peft.get_peft_model(BertForMaskedLM.from_pretrained(tiny_model), config)
    model.save_pretrained(tmp_path / "adapter")
    of = ("line", "--model", tmp_path / "adapter", "--base", tiny_model, *HERE)
    run(*of, "--facts", facts)
    rows = points(cache)
    assert rows[0]["kept"] == rows[0]["known"]
    tokens = torch.arange(5, 25)[None]
    for a, whole in ((0, BertForMaskedLM.from_pretrained(tiny_model)), (1, model.base_model.model)):
        run(*of, "--save", a, "--out", tmp_path / f"mean-{a}")
        mean = BertForMaskedLM.from_pretrained(tmp_path / f"mean-{a}")
        with torch.no_grad():
            assert torch.allclose(mean.eval()(tokens).logits, whole.eval()(tokens).logits, atol=1e-5), a
