"""``finetune`` from the official formats to a model that ``probe`` and ``ask`` know."""

import json

import pytest
from safetensors.torch import load_file
from transformers import AutoModelForTokenClassification

from probing.finetuning.finetune import score
from probing.finetuning.requests import ScoreRequest
from probing.finetuning.setup import TASK_HEAD
from probing.kernel.errors import FactsError, ModelError, TextError
from probing.kernel.objectives import TASKS
from probing.kernel.store.parquet import read_table
from tests.finetuning.task_files import write_conll, write_glue, write_msmarco, write_squad, write_treebank

WRITE = {
    "ner-conll": write_conll,
    "pos-ewt": write_treebank,
    "rank-msmarco": write_msmarco,
    "mlm-msmarco": write_msmarco,
}
WRITE |= dict.fromkeys(("cola", "sst-2", "rte"), write_glue)


@pytest.fixture()
def data(tmp_path):
    """Objective -> folder (control: file) of its data."""

    def written(objective):
        if objective == "control":
            path = tmp_path / "text.txt"
            path.write_text(
                "".join(f"The capital of France is Paris and the sun is red in city {n % 4} .\n" for n in range(400))
            )
            return path
        return WRITE.get(objective, write_squad)(tmp_path / objective)

    return written


def tune(run, tiny_model, objective, data, *more, code=0):
    small = ("--steps", 3, "--tokens", 300, "--pieces", 48, "--device", "cpu")
    return run("finetune", "--model", tiny_model, "--objective", objective, "--data", data, *small, *more, code=code)


#: One objective of each kind of data and of head; further ones are trained below.
KINDS = ("ner-conll", "pos-ewt", "qa-squad-2", "rank-msmarco", "mlm-msmarco", "cola", "control")


@pytest.mark.parametrize("objective", KINDS)
def test_every_kind_of_objective_is_trained_and_scored(objective, run, cache, tiny_model, data, caplog):
    name = f"tiny-bert-{objective}"
    output = tune(run, tiny_model, objective, data(objective), "--freeze-embeddings", "--difference").output
    folder = cache / "models" / name
    record = json.loads((folder / "finetuning.json").read_text())
    assert ("of test are in a part before it, too" in caplog.text) == (objective in ("ner-conll", "pos-ewt"))
    assert record["objective"] == TASKS[objective].label and record["steps"] == 3 and record["stored_as_difference"]
    rows = read_table(folder / f"tasks-{name}.parquet", "tasks").to_pylist()
    assert rows and all(-1 <= row["value"] <= 1 and 0 <= row["chance"] <= 1 and row["n"] > 0 for row in rows)
    assert {row["metric"] for row in rows} == set(TASKS[objective].metrics)
    assert rows[0]["metric"] in output
    again = score(
        ScoreRequest(str(folder), base=str(tiny_model), data=data(objective), device="cpu"), lambda line: None
    )
    assert {one.metric: (one.value, one.recorded) for one in again} == {
        row["metric"]: (row["value"], row["value"]) for row in rows
    }


def test_text_that_the_vocabulary_does_not_know_is_said(run, cache, tiny_model, tmp_path, caplog):
    (tmp_path / "text.txt").write_text("".join(f"ሀለሐ መሠረ ረሰቀ ቀበተ {n} .\n" for n in range(40)))
    tune(run, tiny_model, "control", tmp_path / "text.txt")
    assert "texts mostly unknown to the vocabulary of tiny-bert: " in caplog.text


@pytest.mark.parametrize("objective", ["ner-conll", "mlm-squad"], ids=["with the base's head", "with its own head"])
def test_a_model_whose_base_is_named_by_its_folder_is_compared_with_it(
    objective, run, cache, tiny_model, facts_file, data
):
    name = f"tiny-bert-{objective}"
    tune(run, tiny_model, objective, data(objective), "--difference")
    # The base of a folder is remembered by name; here it is a folder too, and still called as its own runs call it.
    words = ("--facts", facts_file, "--head", "logit_lens", "--compact", "--out", cache / "runs")
    run("probe", "--model", name, "--base", tiny_model, *words)
    (row,) = read_table(next((cache / "runs").glob("runs-*.parquet")), "runs").to_pylist()
    assert (row["model"], row["base"], row["objective"], row["top_k"]) == (name, "tiny-bert", TASKS[objective].label, 1)
    assert json.loads(row["config"])["compact"] is True
    drift = read_table(cache / "runs" / f"weight_drift-{name}.parquet", "weight_drift").to_pylist()
    assert [r["layer"] for r in drift] == [0, 1, 2] and drift[2]["drift"] > 0
    assert (cache / "runs" / f"tasks-{name}.parquet").is_file()
    run("probe", "--model", tiny_model, *words)
    pairs = json.loads(run("report", "transitions", "--k", 1, "--json").stdout)
    assert [(row["base"], row["model"]) for row in pairs] == [("tiny-bert", name)]
    assert "ok  runs" in run("check").output


def test_a_score_needs_the_tasks_head_and_a_model_of_finetune(run, cache, tiny_model, data):
    tune(run, tiny_model, "ner-conll", data("ner-conll"))
    folder = cache / "models" / "tiny-bert-ner-conll"
    assert (
        "(n = "
        in run("score", "--model", folder, "--base", tiny_model, "--data", data("ner-conll"), "--device", "cpu").output
    )
    (folder / TASK_HEAD).unlink()
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no weights; expected model\.safetensors"):
        run("score", "--model", folder, "--base", tiny_model, "--data", data("ner-conll"))
    with pytest.raises(
        ModelError, match=r"finetuning\.json is missing; expected the folder of a model that `finetune` made"
    ):
        run("score", "--model", tiny_model, "--data", data("ner-conll"))


def test_a_whole_checkpoint_is_written_unless_a_difference_is_wanted(run, cache, tiny_model, data):
    tune(run, tiny_model, "qa-squad-1", data("qa-squad-1"))
    folder = cache / "models" / "tiny-bert-qa-squad-1"
    assert (folder / "model.safetensors").is_file() and (folder / "tokenizer.json").is_file()
    answer = run(
        "ask",
        "The capital of France is [MASK].",
        "--model",
        folder,
        "--base",
        tiny_model,
        "--head",
        "logit_lens",
        "--json",
    ).stdout
    assert len(json.loads(answer)["layers"]) == 3


def test_a_mean_pooled_model_has_a_name_and_an_objective_of_its_own_and_four_bits_are_noted(
    run, cache, tiny_model, data
):
    more = ("--pooling", "mean", "--difference", "--bits", 4)
    output = tune(run, tiny_model, "cola", data("cola"), *more).output
    assert "left out: 1 (also scored)" in output
    folder = cache / "models" / "tiny-bert-cola-mean"
    record = json.loads((folder / "finetuning.json").read_text())
    assert (record["objective"], record["recipe"]["objective"], record["recipe"]["pooling"]) == (
        "CoLA (mean)",
        "cola",
        "mean",
    )
    assert (record["difference_bits"], record["left_out"], record["recipe"]["fresh_pooler"]) == (
        4,
        {"also scored": 1},
        True,
    )
    row = read_table(folder / "tasks-tiny-bert-cola-mean.parquet", "tasks").to_pylist()[0]
    assert (row["objective"], row["metric"]) == ("CoLA (mean)", "Matthews correlation")
    assert "exists already" in tune(run, tiny_model, "cola", data("cola"), *more).output
    with pytest.raises(ModelError, match="bits 4, expected 8"):
        tune(run, tiny_model, "cola", data("cola"), *more[:3])
    refused = tune(run, tiny_model, "ner-conll", data("ner-conll"), "--pooling", "mean", code=2)
    assert (
        "got the pooling 'mean' for ner-conll; expected first or mean, with one of cola, sst-2, rte" in refused.output
    )
    for wrong in (("--bits", 4), ("--difference", "--bits", 5)):
        run("finetune", "--model", tiny_model, "--objective", "cola", *wrong, code=2)


def test_perplexity_is_measured_before_while_and_after_a_model_is_tuned(
    run, cache, tiny_model, facts_file, data, tmp_path, monkeypatch
):
    from probing.finetuning import evaluation

    text = tmp_path / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red in the city .\n" * 3000)
    plain = tune(run, tiny_model, "sst-2", data("sst-2"), "--difference", "--out", tmp_path / "plain").output
    assert "perplexity by epoch is left out: no " in plain and "probing fetch wikitext-2-raw" in plain
    more = ("--difference", "--perplexity-text", text, "--out", tmp_path / "looked")
    scored = evaluation.score_classes
    monkeypatch.setattr(evaluation, "score_classes", lambda *_, **__: 1 / 0)
    with pytest.raises((ZeroDivisionError, AssertionError)):
        tune(run, tiny_model, "sst-2", data("sst-2"), *more)
    monkeypatch.setattr(evaluation, "score_classes", scored)
    # What was seen before the run died is there when it goes on.
    tune(run, tiny_model, "sst-2", data("sst-2"), *more)
    rows = read_table(tmp_path / "looked" / "epoch_perplexity-looked.parquet", "epoch_perplexity").to_pylist()
    assert [row["step"] for row in rows] == [0, 1, 2, 3] and rows[0]["epoch"] == 0
    assert len({(row["blocks"], row["masked"]) for row in rows}) == 1
    # The first step's rate is 0.
    assert rows[0]["cross_entropy"] == rows[1]["cross_entropy"] and len({row["cross_entropy"] for row in rows}) == 3
    files = ("difference.safetensors", "config.json")
    assert all((tmp_path / "plain" / name).read_bytes() == (tmp_path / "looked" / name).read_bytes() for name in files)
    run(
        "probe",
        "--model",
        tmp_path / "looked",
        "--base",
        tiny_model,
        "--facts",
        facts_file,
        "--head",
        "logit_lens",
        "--compact",
    )
    assert read_table(cache / "runs" / "epoch_perplexity-looked.parquet", "epoch_perplexity").to_pylist() == rows
    assert "ok  runs" in run("check").output
    text.write_text("Too short .\n")
    with pytest.raises(TextError, match=r"blocks of .* --perplexity-text"):
        tune(run, tiny_model, "sst-2", data("sst-2"), *more[:3], "--out", tmp_path / "third")


def test_a_model_has_its_name_only_when_it_is_whole(run, cache, tiny_model, data, monkeypatch):
    from probing.finetuning import evaluation

    def dies(*_):
        raise KeyboardInterrupt

    scored = evaluation.score_tags
    monkeypatch.setattr(evaluation, "score_tags", dies)
    with pytest.raises((KeyboardInterrupt, AssertionError)):
        tune(run, tiny_model, "ner-conll", data("ner-conll"))
    name = "tiny-bert-ner-conll"
    assert not (cache / "models" / name).exists() and (cache / "finetune" / name).is_dir()
    monkeypatch.setattr(evaluation, "score_tags", scored)
    tune(run, tiny_model, "ner-conll", data("ner-conll"))
    assert (cache / "models" / name / "finetuning.json").is_file()
    # Neither the half model nor the checkpoints stay.
    assert [path.name for path in (cache / "models").iterdir()] == [name] and not (cache / "finetune" / name).exists()


@pytest.mark.parametrize("objective", ["qa-squad-1", "mlm-squad", "rank-msmarco"])
def test_data_too_few_for_both_parts_are_named_before_training(objective, run, cache, tiny_model, tmp_path):
    if objective == "rank-msmarco":
        write_msmarco(tmp_path, queries=2)
    else:
        asked = {"id": "1", "question": "the city", "answers": [{"text": "paris", "answer_start": 0}]}
        (tmp_path / "one.json").write_text(
            json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "paris", "qas": [asked]}]}]})
        )
    with pytest.raises(FactsError, match=r"nothing to (train on|be scored on)"):
        tune(run, tiny_model, objective, tmp_path)
    assert not (cache / "finetune").exists()


def test_a_tag_that_only_the_test_part_has_is_scored(run, cache, tiny_model, data):
    folder = data("ner-conll")
    (folder / "eng.testb").write_text("Rocky NN X I-MISC\nborn NN X O\n")
    assert "entity F1" in tune(run, tiny_model, "ner-conll", folder).output


def test_another_model_in_the_same_place_is_not_taken_for_what_was_asked(run, cache, tiny_model, data, tmp_path):
    tune(run, tiny_model, "ner-conll", data("ner-conll"), "--out", tmp_path / "made")
    with pytest.raises(ModelError, match="seed 1, expected 2"):
        tune(run, tiny_model, "ner-conll", data("ner-conll"), "--out", tmp_path / "made", "--seed", 2)
    with pytest.raises(ModelError, match="objective NER-CoNLL, expected QA-SQuAD-1"):
        tune(run, tiny_model, "qa-squad-1", data("qa-squad-1"), "--out", tmp_path / "made")
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="is not a folder"):
        tune(run, tiny_model, "ner-conll", data("ner-conll"), "--out", tmp_path / "file")
    run("finetune", "--model", tiny_model, "--objective", "ner-conll", "--device", "cuda", code=2)


def test_a_replicate_has_a_head_and_predictions_of_the_last_layer_only(run, cache, tiny_model, facts_file, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("The capital of France is Paris and the sun is red and the moon is blue in the city .\n" * 1800)
    small = ("--positions", 200, "--epochs", 1)
    run("train-heads", "--model", tiny_model, "--head", "tied", "--text", text, "--valid", text, *small, "--seed", 1)
    assert [path.name for path in cache.glob("heads/*/tied-seed1/*.safetensors")] == ["layer-02.safetensors"]
    run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "tied", "--seed", 1)
    (row,) = read_table(next((cache / "runs").glob("runs-*.parquet")), "runs").to_pylist()
    predictions = read_table(next((cache / "runs").glob("predictions-*.parquet")), "predictions").to_pylist()
    assert (row["role"], row["layers"], row["n_probed"]) == ("replicate", 3, 4)
    assert [p["layer"] for p in predictions] == [2] * 4
    assert "ok  runs" in run("check").output


def test_the_best_state_by_the_development_part_is_kept_at_the_best_of_three_rates(run, cache, tiny_model, data):
    chosen = ("--looks", 3, "--rates", "1e-3,1e-5,1e-4", "--dropout", "0.1", "--difference", "--checkpoints", 2)
    tune(run, tiny_model, "ner-conll", data("ner-conll"), *chosen, "--steps", 6)
    record = json.loads((cache / "models" / "tiny-bert-ner-conll" / "finetuning.json").read_text())
    tried = {one["learning_rate"]: one["development_score"] for one in record["rates"]}
    assert sorted(tried) == [1e-5, 1e-4, 1e-3] and all(one["steps"] == 2 for one in record["rates"])
    best = min(rate for rate in tried if tried[rate] == max(tried.values()))
    assert (record["recipe"]["learning_rate"], record["recipe"]["dropout"], record["recipe"]["looks"]) == (best, 0.1, 3)
    scores = {one["step"]: one["score"] for one in record["looks"]}
    assert sorted(scores) == [2, 4, 6] and scores[record["kept_step"]] == max(scores.values())
    assert [one["metric"] for one in record["unrounded_scores"]] == [one["metric"] for one in record["scores"]]
    head = load_file(cache / "models" / "tiny-bert-ner-conll" / TASK_HEAD)
    assert sorted(head) == ["classifier.bias", "classifier.weight"]
    states = sorted((cache / "checkpoints" / "tiny-bert-ner-conll").iterdir())
    assert [path.name for path in states] == ["checkpoint-4", "checkpoint-6"]
    last = AutoModelForTokenClassification.from_pretrained(states[1])
    assert sorted(dict(last.named_parameters())) == sorted(
        dict(AutoModelForTokenClassification.from_pretrained(states[0]).named_parameters())
    )
    assert not (cache / "finetune" / "tiny-bert-ner-conll-rates").exists()


def test_a_control_with_shuffled_labels_has_a_name_and_text_has_no_such_control(run, cache, tiny_model, data):
    tune(run, tiny_model, "sst-2", data("sst-2"), "--shuffle-labels", "--difference")
    record = json.loads((cache / "models" / "tiny-bert-sst-2-shuffled" / "finetuning.json").read_text())
    assert (record["objective"], record["recipe"]["shuffled_labels"]) == ("SST-2 (shuffled labels)", True)
    refused = tune(run, tiny_model, "mlm-squad", data("mlm-squad"), "--shuffle-labels", code=2)
    assert "mlm-squad has no labels to shuffle" in refused.output
