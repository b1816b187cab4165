"""Models of the user's own: names, bases, the report in the background, what happens where something is wrong, and
their space.
"""

import json
import shutil
import time
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from probing.finetuning.setup import rows_sha256
from probing.kernel.errors import FactsError, HeadError, ModelError, StoreError
from probing.kernel.store.parquet import read_table
from probing.main import app
from probing.own_model import run as background
from probing.own_model.run import Wish
from tests.finetuning.test_finetune_command import data as data
from tests.finetuning.test_finetune_command import tune
from tests.tiny_models import save

PROMPT = "The capital of France is [MASK]."


def change_weights(folder, change):
    path = folder / "model.safetensors"
    tensors = {name: change(name, tensor).contiguous() for name, tensor in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})
    return folder


def noisy(scale):
    """Adds noise to every weight, as training does."""
    generator = torch.Generator().manual_seed(3)
    return lambda _, tensor: tensor + scale * torch.randn(tensor.shape, generator=generator)


@pytest.fixture()
def own(tiny_model, tmp_path):
    """Makes a copy of the tiny model below the test's folder, with weights changed by so much."""

    def made(path, scale=0.0):
        folder = shutil.copytree(tiny_model, tmp_path / path)
        return change_weights(folder, noisy(scale)) if scale else folder

    return made


@pytest.fixture()
def probed(run, cache, facts_file):
    """Probes with the lens and gives the rows of all runs."""

    def rows(folder, *more):
        run("probe", "--model", folder, "--facts", facts_file, "--head", "logit_lens", "--out", cache / "runs", *more)
        return [read_table(path, "runs").to_pylist()[0] for path in sorted((cache / "runs").glob("runs-*.parquet"))]

    return rows


def test_checkpoints_of_two_trainings_are_two_models(probed, own, cache, tiny_model):
    for number, training in enumerate(("sst2-run", "other-run"), 1):
        rows = probed(own(f"{training}/checkpoint-50", 0.01 * number), "--base", tiny_model)
    assert {row["model"] for row in rows} == {"sst2-run/checkpoint-50", "other-run/checkpoint-50"}
    drifts = sorted((cache / "runs").glob("weight_drift-*.parquet"))
    assert [path.name for path in drifts] == [
        "weight_drift-other-run--checkpoint-50.parquet",
        "weight_drift-sst2-run--checkpoint-50.parquet",
    ]
    assert {read_table(path, "weight_drift").to_pylist()[0]["model"] for path in drifts} == {
        row["model"] for row in rows
    }


def test_a_name_that_stored_runs_use_is_refused_for_other_weights_and_another_can_be_given(
    probed, own, cache, run, facts_file
):
    probed(own("a/mine"))
    other = own("b/mine", 0.1)
    before = sorted(cache.glob("runs/*"))
    with pytest.raises(
        ModelError, match=r"called mine with different weights; give this model another name with --name, or delete"
    ):
        probed(other)
    assert sorted(cache.glob("runs/*")) == before
    assert {row["model"] for row in probed(other, "--name", "mine, second")} == {"mine", "mine, second"}
    assert (
        "exists already"
        in run(
            "probe", "--model", other, "--facts", facts_file, "--head", "logit_lens", "--name", "mine, second"
        ).output
    )
    assert "ok  runs" in run("check").output


def test_another_configuration_is_another_run_and_asks_for_another_name(probed, own, run, facts_file):
    folder = own("mine")
    (first,) = probed(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_act": "relu"}))
    with pytest.raises(
        ModelError, match=r"with different settings in its config\.json.*; give this model another name"
    ):
        probed(folder)
    rows = probed(folder, "--name", "mine with relu")
    assert len({row["run_id"] for row in rows}) == 2
    digests = {json.loads(row["config"])["configuration"] for row in rows}
    assert len(digests) == 2 and json.loads(first["config"])["casing"] == "uncased"


def test_an_unrelated_base_is_refused_before_anything_is_stored(run, probed, own, cache, facts_file, tmp_path):
    from tests import tiny_models

    other = tiny_models.save("distilbert", tmp_path / "distil")
    with pytest.raises(ModelError, match="does not fit the base base: architecture distilbert against bert"):
        probed(other, "--base", own("base"))
    with pytest.raises(ModelError, match="does not fit the base base"):
        run("own", "--model", other, "--base", tmp_path / "base", "--facts", facts_file)
    assert not list(cache.glob("runs/*")) and not list(cache.glob("own-runs/*"))
    with pytest.raises(ModelError, match="no folder"):
        probed(other, "--base", "./nowhere")


def test_a_base_as_far_away_as_an_unrelated_model_is_warned_of(run, cache, own, facts_file, caplog):
    base, near, far = own("base"), own("near", 0.01), own("far", 3.0)
    words = ("--facts", facts_file, "--head", "logit_lens", "--base", base, "--out", cache / "runs")
    run("probe", "--model", near, *words)
    assert "warning" not in caplog.text
    run("probe", "--model", far, *words)
    assert "is base really its base?" in caplog.text
    run("probe", "--model", base, *words[:4], "--out", cache / "runs")
    run("own-report", "--model", "far", "--facts", facts_file.stem, "--out", cache / "report.html")
    assert (
        "Warning: layer" in (cache / "report.html").read_text()
        and "is base really its base?" in (cache / "report.html").read_text()
    )


def test_measuring_the_drift_leaves_the_model_on_its_device(cache, own, monkeypatch):
    from probing.kernel.models.catalogue import open_encoder
    from probing.kernel.models.names import find_entry
    from probing.kernel.models.records import drift_from_base

    base, tuned = own("base"), own("tuned", 0.01)
    encoder = open_encoder(str(tuned), str(base))
    monkeypatch.setattr(encoder.body, "to", lambda *_: pytest.fail("the model was moved"))
    assert len(drift_from_base(encoder, find_entry(str(tuned), str(base)), "base", print, chosen=True)) == 3


def test_probe_reads_through_the_logit_lens_where_no_heads_are_trained_and_says_so_in_one_line(
    run, cache, own, facts_file
):
    folder = own("a folder/mine")
    first, *rest = run("probe", "--model", folder, "--facts", facts_file).output.splitlines()
    assert "--head logit_lens" in first and f"train-heads --model '{folder}' --head tied" in first
    assert not any("--head" in line for line in rest)
    again = run("probe", "--model", folder, "--facts", facts_file, "--head", "logit_lens").output
    assert "exists already" in again and "train-heads" not in again
    with pytest.raises(HeadError, match="no tied heads exist"):
        run("probe", "--model", folder, "--facts", facts_file, "--head", "tied")
    # A seed is one of trained heads.
    with pytest.raises(HeadError, match="no tied heads of seed 2"):
        run("probe", "--model", folder, "--facts", facts_file, "--seed", 2)


@pytest.mark.parametrize("command", ["ask", "probe", "train-heads"])
def test_weights_that_are_not_numbers_are_one_line(command, cache, own, facts_file):
    from probing.main import app

    folder = change_weights(own("mine"), lambda _, tensor: tensor * torch.nan)
    more = {"ask": [PROMPT], "probe": ["--facts", str(facts_file)], "train-heads": []}[command]
    if command == "train-heads":
        more = ["--text", str(facts_file), "--valid", str(facts_file)]
    result = CliRunner().invoke(app, [command, *more, "--model", str(folder)])
    assert isinstance(result.exception, ModelError) and "not finite" in str(result.exception)


def test_a_base_given_as_a_folder_is_found_again_by_its_path(run, probed, own, cache, data):
    base = own("elsewhere/my-base", 0.05)
    tune(run, base, "ner-conll", data("ner-conll"))
    name = "my-base-ner-conll"
    assert json.loads((cache / "models" / name / "finetuning.json").read_text())["base_folder"] == str(base)
    (row,) = probed(name)
    assert (row["model"], row["base"]) == (name, "my-base")
    assert (cache / "runs" / f"weight_drift-{name}.parquet").is_file()
    assert "logit lens" in run("ask", PROMPT, "--model", name).stderr
    from probing.live import page_live_models as live_models

    offered = live_models.choices()
    assert offered[live_models.base_of(offered[name])].location == str(base)


@pytest.mark.parametrize("objective", ["ner-conll", "mlm-squad"])
def test_a_base_that_moved_or_changed_is_named_with_what_to_do(objective, run, probed, own, cache, data, tmp_path):
    base = own("elsewhere/my-base", 0.05)
    tune(run, base, objective, data(objective))
    name = f"my-base-{objective}"
    moved = tmp_path / "moved"
    base.rename(moved)
    if objective == "ner-conll":
        with pytest.raises(ModelError, match=rf"{base}.*name its folder \(--base\)"):
            probed(name)
        assert not list(cache.glob("runs/*"))
    assert len(probed(name, "--base", moved)) == 1
    change_weights(moved, noisy(0.2)).rename(base)
    with pytest.raises(ModelError, match=r"was fine-tuned from .*; name the folder of the original base \(--base\)"):
        probed(name)


def test_another_base_of_the_same_name_is_not_taken_for_the_one_that_was_tuned(run, cache, own, data):
    folder = data("ner-conll")
    tune(run, own("a/my-base"), "ner-conll", folder)
    with pytest.raises(ModelError, match=r"base weights .*, expected"):
        tune(run, own("b/my-base", 0.1), "ner-conll", folder)


def test_scores_in_the_models_folder_come_under_the_name_that_was_given(run, probed, cache, own, data):
    tune(run, own("my-base"), "ner-conll", data("ner-conll"))
    probed("my-base-ner-conll", "--name", "tagger")
    scores = read_table(cache / "runs" / "tasks-tagger.parquet", "tasks").to_pylist()
    assert {row["model"] for row in scores} == {"tagger"}


def test_training_rows_summed_one_by_one_have_the_sum_of_all_at_once():
    import hashlib

    for rows in (
        [],
        [SimpleNamespace(ids=[1, 2], labels=3)],
        [SimpleNamespace(ids=[n, 5], labels=[None, (n, "x")]) for n in range(50)],
    ):
        assert (
            rows_sha256(iter(rows))
            == hashlib.sha256(repr([(row.ids, row.labels) for row in rows]).encode()).hexdigest()
        )


#: Seconds that two commands, one of which starts Python with torch, may take on a machine that is busy with other
#: tests.
_LIMIT = 900


def wait_for(condition):
    limit = time.monotonic() + _LIMIT
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.2)


def test_a_run_goes_on_in_the_background_is_cancelled_resumed_and_reported(
    run, cache, own, tiny_model, facts_file, tmp_path
):
    wish = Wish(model=str(tiny_model), facts=str(facts_file), called="capitals")
    started = background.prepare(wish, facts_file.read_bytes(), ".jsonl")
    background.start(started)
    wait_for(lambda: "$ python -m probing probe" in started.log())
    assert background.find_run(started.id).status == "running"
    background.cancel(started)
    cancelled = background.find_run(started.id)
    assert cancelled.status == "cancelled" and not started.running
    background.start(cancelled)
    wait_for(lambda: not started.running)
    done = background.find_run(started.id)
    assert done.status == "done", done.log()
    assert len(done.state.seconds) == len(done.state.wish.steps) == 2
    # The commands of a base and of a model are the same; this one need not start Python again.
    run(
        "probe",
        "--model",
        own("mine", 0.2),
        "--base",
        tiny_model,
        "--facts",
        facts_file,
        "--as",
        "capitals",
        "--head",
        "logit_lens",
    )
    rows = {
        row["model"]: row
        for path in (cache / "runs").glob("runs-*.parquet")
        for row in read_table(path, "runs").to_pylist()
    }
    assert set(rows) == {"tiny-bert", "mine"} and rows["mine"]["base"] == "tiny-bert"
    assert {(row["head"], row["probe_set"], row["n_probed"]) for row in rows.values()} == {
        ("logit_lens", "capitals", 4)
    }
    out = tmp_path / "report.html"
    run("own-report", "--model", "mine", "--facts", "capitals", "--measure", "vocabulary", "--out", out)
    text = out.read_text()
    assert "tiny-bert and mine were asked 4 facts of capitals" in text and "These are 4 facts, fewer than 50" in text
    with pytest.raises(StoreError, match=r"mine has no results on others \(stored of it: capitals\)"):
        run("own-report", "--model", "mine", "--facts", "others", "--out", out)


def test_the_command_prints_what_it_would_do_and_reads_the_facts_first(
    run, cache, own, facts_file, tmp_path, monkeypatch
):
    monkeypatch.chdir(own("mine").parent)
    shown = run(
        "own", "--model", "./mine", "--base", "bert-base-uncased", "--facts", facts_file, "--as", "capitals", "--plan"
    ).output
    lines = shown.strip().splitlines()
    assert [line.split()[3] for line in lines] == ["probe"] * 4 and "--as capitals" in lines[0]
    assert f"--model {tmp_path / 'mine'} --base bert-base-uncased" in lines[1], (
        "the commands work in another folder, too"
    )
    with pytest.raises(FactsError, match=r"cannot read .*absent\.csv"):
        run("own", "--model", "m", "--facts", tmp_path / "absent.csv")


def listed(run) -> dict[tuple[str, str], int]:
    return {(one["what"], one["name"]): one["bytes"] for one in json.loads(run("space", "--json").stdout)}


def test_runs_probe_sets_and_models_are_listed_with_their_space_and_deleted(
    run, cache, tiny_model, facts_file, monkeypatch, tmp_path
):
    monkeypatch.setattr("probing.own_model.space.scan_cache_dir", no_hub)
    assert listed(run) == {}
    for name in ("one", "two"):
        run("probe", "--model", tiny_model, "--facts", facts_file, "--head", "logit_lens", "--as", name)
    save("bert", cache / "models" / "mine")
    sizes = listed(run)
    runs = [name for what, name in sizes if what == "run"]
    assert (
        len(runs) == 2 and all(sizes.values()) and {name for what, name in sizes if what == "facts"} == {"one", "two"}
    )
    assert sizes["model", "mine"] == sum(path.stat().st_size for path in (cache / "models" / "mine").iterdir())
    assert "facts: 2" in (shown := run("space").output) and "mine" in shown
    refused = CliRunner().invoke(app, ["delete", "facts", "one"], input="n\n")
    assert "nothing was deleted" in refused.output and listed(run) == sizes
    run("delete", "facts", "one", "--yes")
    left = listed(run)
    assert ("facts", "one") not in left and left["facts", "two"] == sizes["facts", "two"]
    assert "ok  runs" in run("check").output
    (last,) = (name for what, name in left if what == "run")
    run("delete", "run", last, "--yes")
    run("delete", "model", "mine", "--yes")
    assert (
        listed(run) == {}
        and not (cache / "models" / "mine").exists()
        and not list((cache / "runs").glob("*predictions-*"))
    )


def no_hub():
    from huggingface_hub.errors import CacheNotFound

    raise CacheNotFound("none", cache_dir="none")
