"""``series follow``, ``prevent`` and ``series``, and what ``finetune`` does against forgetting, with a tiny model."""

import json

import pytest
import torch
from safetensors.torch import load_file

from probing.forgetting.requests import RECIPES, parts_of
from probing.forgetting.series import COUNTS
from probing.kernel.errors import ModelError
from probing.kernel.models.load import load_encoder
from probing.kernel.store.check import check_store
from probing.kernel.store.parquet import read_table
from tests.finetuning.task_files import write_conll

SMALL = ("--steps", 6, "--tokens", 300, "--pieces", 48, "--device", "cpu", "--rate", 0.01)


@pytest.fixture()
def data(tmp_path):
    return write_conll(tmp_path / "ner-conll")


@pytest.fixture()
def text(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text(
        "".join(f" The capital of France is Paris and the sun is red in city {n % 4} . \n" for n in range(300))
    )
    return path


def tuned(run, cache, tiny_model, data, name, *more):
    """The weights of a fine-tuned model, and its record."""
    out = cache / "models" / name
    run("finetune", "--model", tiny_model, "--objective", "ner-conll", "--data", data, "--out", out, *SMALL, *more)
    return load_file(out / "model.safetensors"), json.loads((out / "finetuning.json").read_text())


def test_frozen_layers_replay_and_average_do_what_they_say(run, cache, tiny_model, data, text):
    base = load_file(tiny_model / "model.safetensors")
    plain, record = tuned(run, cache, tiny_model, data, "plain")
    assert not {"frozen_layers", "replay", "average"} & set(record["recipe"])

    frozen, record = tuned(run, cache, tiny_model, data, "frozen", "--freeze-layers", 1)
    assert record["recipe"]["frozen_layers"] == 1
    for name, weight in frozen.items():
        if "embeddings" in name or "layer.0." in name:
            assert torch.equal(weight, base[name]), name
    assert not torch.equal(
        frozen["bert.encoder.layer.1.output.dense.weight"], base["bert.encoder.layer.1.output.dense.weight"]
    )

    mean, record = tuned(run, cache, tiny_model, data, "mean", "--average", 0.25)
    assert record["recipe"]["average"] == 0.25
    for name, weight in mean.items():
        expected = 0.75 * plain[name] + 0.25 * base[name] if name in base else plain[name]
        assert torch.allclose(weight, expected, atol=1e-6), name

    replayed, record = tuned(run, cache, tiny_model, data, "replayed", "--replay", 0.5, "--replay-text", text)
    again, other = tuned(run, cache, tiny_model, data, "again", "--replay", 0.5, "--replay-text", text)
    assert (
        record["recipe"]["replay"] == 0.5
        and len(record["recipe"]["replay_sha256"]) == 64
        and record["recipe"] == other["recipe"]
    )
    assert all(torch.equal(weight, again[name]) for name, weight in replayed.items())
    assert any(not torch.equal(weight, plain[name]) for name, weight in replayed.items() if name in plain)
    with pytest.raises(ModelError, match=r"average 0\.25, expected 0\.5"):
        tuned(run, cache, tiny_model, data, "mean", "--average", 0.5)


def test_a_training_is_followed_state_by_state_as_probe_reads_it(run, cache, tiny_model, facts_file, data, tmp_path):
    tuned(run, cache, tiny_model, data, "mine", "--checkpoints", 3, "--looks", 2)
    states = cache / "checkpoints" / "mine"
    steps = sorted(int(path.name.split("-")[1]) for path in states.iterdir())
    words = (
        "series",
        "follow",
        "--model",
        states,
        "--base",
        tiny_model,
        "--facts",
        facts_file,
        "--device",
        "cpu",
        "--threads",
        1,
    )
    output = run(*words).output
    assert f"mine: {len(steps)} states and their base tiny-bert" in output
    assert "exists already" in run(*words).output
    assert check_store([cache / "runs"]) == []
    (row,) = read_table(next((cache / "runs").glob("series_runs-*.parquet")), "series_runs").to_pylist()
    assert (row["model"], row["base"], row["objective"], row["protection"]) == (
        "mine",
        "tiny-bert",
        "NER-CoNLL",
        "unprotected",
    )
    run_id = row["run_id"]
    rows = read_table(cache / "runs" / f"series_steps-{run_id}.parquet", "series_steps").to_pylist()
    assert [one["step"] for one in rows if one["asked"]] == [0, *steps] and any(
        one["score"] is not None for one in rows
    )
    counts = read_table(cache / "runs" / f"series_counts-{run_id}.parquet", "series_counts").to_pandas()
    for step in (0, steps[0], steps[-1]):
        model = tiny_model if step == 0 else states / f"checkpoint-{step}"
        run(
            "probe",
            "--model",
            model,
            "--base",
            tiny_model,
            "--name",
            f"at-{step}",
            "--facts",
            facts_file,
            "--head",
            "logit_lens",
            "--out",
            tmp_path / f"probed-{step}",
            "--threads",
            1,
            "--device",
            "cpu",
        )
        found = read_table(next((tmp_path / f"probed-{step}").glob("predictions-*.parquet")), "predictions").to_pandas()
        for k in (1, 10):
            mine = counts[(counts["step"] == step) & (counts["k"] == k)].groupby("layer")["known"].sum()
            assert mine.tolist() == (found["gold_rank"] <= k).groupby(found["layer"]).sum().tolist()
    shown = json.loads(run("series", "report", "steps", "--k", 10, "--json").stdout)
    assert [one["step"] for one in shown] == [0, *steps] and shown[-1]["metric"] == "score"
    relations = json.loads(run("series", "report", "relations", "--k", 10, "--json").stdout)
    assert sum(one["lost"] for one in relations if one["step"] == steps[-1]) == shown[-1]["lost"]


def test_states_of_a_trainer_bring_their_losses_and_scores(run, cache, tiny_model, facts_file, tmp_path):
    folder = tmp_path / "run" / "checkpoint-500"
    encoder = load_encoder(tiny_model, device="cpu")
    encoder.body.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    history = [{"step": 100, "loss": 2.0}, {"step": 500, "loss": 1.0}, {"step": 500, "eval_loss": 1.5, "eval_f1": 0.25}]
    (folder / "trainer_state.json").write_text(json.dumps({"log_history": history, "global_step": 500}))
    words = (
        "series",
        "follow",
        "--model",
        tmp_path / "run",
        "--facts",
        facts_file,
        "--device",
        "cpu",
        "--name",
        "theirs",
    )
    with pytest.raises(ModelError, match="--base"):
        run(*words)
    run(*words, "--base", tiny_model, "--size", 2)
    (steps,) = (
        read_table(path, "series_steps").to_pylist() for path in (cache / "runs").glob("series_steps-*.parquet")
    )
    assert [(one["step"], one["asked"], one["loss"], one["score"], one["metric"]) for one in steps] == [
        (0, True, None, None, None),
        (100, False, 2.0, None, None),
        (500, True, 1.0, 0.25, "f1"),
    ]
    (folder / "trainer_state.json").write_text("{")
    with pytest.raises(ModelError, match="is not what a Trainer writes"):
        run(*words, "--base", tiny_model)
    with pytest.raises(ModelError, match="has no folder checkpoint-STEP"):
        run("series", "follow", "--model", tmp_path, "--base", tiny_model, "--facts", facts_file)


def test_recipes_are_compared_without_keeping_weights(run, cache, tiny_model, facts_file, data, text):
    words = (
        "series",
        "prevent",
        "--model",
        tiny_model,
        "--objective",
        "ner-conll",
        "--data",
        data,
        "--facts",
        facts_file,
        "--seeds",
        "1,2",
        "--replay-text",
        text,
        *SMALL,
        "--threads",
        1,
    )
    recipes = ("--recipes", "unprotected,freeze=0.5+average=0.5,rate=0.5+replay=0.5")
    output = run(*words, *recipes).output
    assert output.count("entity F1") == 6 and "freeze 1, average 0.5, seed 2" in output
    assert check_store([cache / "runs"]) == []
    assert not list((cache / "models").glob("*")) and not list((cache / "finetune").glob("prevent-*"))
    assert run(*words, *recipes).output.count("exists already") == 6
    points = json.loads(run("series", "report", "prevention", "--k", 10, "--json").stdout)
    assert {one["protection"]: one["seeds"] for one in points} == {
        "unprotected": 2,
        "freeze 1, average 0.5": 2,
        "rate 0.5, replay 0.5": 2,
    }
    assert all(one["metric"] == "entity F1" and one["score_low"] <= one["score"] <= one["score_high"] for one in points)
    counts = read_table(next((cache / "runs").glob("series_counts-*.parquet")), "series_counts").to_pandas()
    assert set(COUNTS) <= set(counts.columns) and len(set(counts["step"])) == 2


def test_recipes_are_read_and_others_refused(run, cache, tiny_model):
    assert len(RECIPES) >= 8 and all(parts_of(recipe) for recipe in RECIPES[1:])
    words = ("series", "prevent", "--model", tiny_model, "--objective", "ner-conll", "--recipes")
    for wrong in ("freeze", "freeze=2", "dropout=0.5", "average=1", "rate=0"):
        assert f"got --recipes {wrong}" in run(*words, wrong, code=2).output.replace("\n", " ")
