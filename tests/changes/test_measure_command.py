"""What fine-tuning changed, from the command to the tables: what is stored, again, killed, and with bad input."""

import json
import shutil

import numpy as np
import pytest
import torch
from transformers import AlbertForMaskedLM, BertModel

from probing.changes import measure_run as work
from probing.changes.measure_run import measure_changes
from probing.changes.requests import ChangesRequest
from probing.kernel.jobs import stored_runs
from probing.kernel.store.parquet import read_table
from tests import tiny_models
from tests.fixtures.commands import WORDS, bytes_of
from tests.jobs.planted import Elsewhere


@pytest.fixture()
def text(cache):
    """A text as WikiText-2 has it, fetched."""
    draw = np.random.default_rng(0)
    path = cache / "downloads" / "wikitext-2-raw" / "wiki.test.raw"
    path.parent.mkdir(parents=True)
    lines = [" " + " ".join(draw.choice(WORDS[5:], draw.integers(5, 12))) + " . \n" for _ in range(120)]
    path.write_text(" = A heading = \n" + "".join(lines), encoding="utf-8")
    return path


@pytest.fixture()
def tuned(tiny_model, tmp_path):
    """A body whose every weight was moved; without a head."""
    folder = tmp_path / "tuned"
    shutil.copytree(tiny_model, folder)
    body = BertModel.from_pretrained(tiny_model, add_pooling_layer=False)
    generator = torch.Generator().manual_seed(1)
    for parameter in body.parameters():
        parameter.data += 0.05 * torch.randn(parameter.shape, generator=generator)
    body.save_pretrained(folder)
    return folder


@pytest.fixture()
def request_of(tmp_path, tiny_model):
    def make(model, **given):
        quick = {"blocks": 4, "sentences": 20, "out": tmp_path / "out", "device": "cpu"}
        return ChangesRequest(str(model), **(quick | given))

    return make


def rows_of(folder, table):
    return [row for path in sorted(folder.glob(f"{table}-*.parquet")) for row in read_table(path, table).to_pylist()]


def test_a_model_is_measured_beside_its_base(text, tuned, tiny_model, request_of, tmp_path):
    out = measure_changes(request_of(tuned, base=str(tiny_model)))
    (run,) = rows_of(out, "change_runs")
    assert (run["model"], run["base"], run["layers"], run["heads"], run["width"]) == ("tuned", "tiny-bert", 3, 2, 16)
    assert (run["sentences"], run["blocks"], run["block_pieces"], run["left_out"]) == (20, 4, 128, "{}")
    assert (run["variant"], run["tuned_seed"]) == ("", None)
    values = rows_of(out, "change_values")
    assert {row["run_id"] for row in values} == {run["run_id"]}
    assert {row["head"] for row in values if row["measure"] == "emd-first"} == {0, 1, 255}
    assert {row["head"] for row in values if row["measure"] == "cka-mean"} == {255}
    perplexity = {(row["replaced"], row["n"], row["embeddings"]): row for row in rows_of(out, "perplexity")}
    assert sorted(perplexity) == sorted(
        [
            ("none", 0, False),
            ("last", 2, True),
            *((where, n, False) for where in ("last", "first", "single") for n in (1, 2)),
        ]
    )
    for row in perplexity.values():
        assert row["cross_entropy"] == np.array(row["by_block"], np.float32).astype(float).sum()
        assert row["masked"] == sum(row["masked_by_block"]) and len(row["by_block"]) == 4
    assert perplexity["last", 2, False]["by_block"] == perplexity["first", 2, False]["by_block"]
    assert perplexity["last", 1, False]["by_block"] == perplexity["single", 2, False]["by_block"]
    assert [row["layer"] for row in rows_of(out, "weight_drift")] == [0, 1, 2]
    # The base alone has what the fine-tuned model has with everything put back.
    alone = measure_changes(request_of(tiny_model, out=tmp_path / "alone"))
    (whole,) = rows_of(alone, "perplexity")
    assert whole["by_block"] == perplexity["last", 2, True]["by_block"] != perplexity["none", 0, False]["by_block"]
    assert not {"emd-first", "cka-mean"} & {row["measure"] for row in rows_of(alone, "change_values")}
    assert rows_of(alone, "change_runs")[0]["base"] is None


def test_the_second_time_nothing_is_done_and_lost_files_are_made_again(
    text, tuned, tiny_model, request_of, monkeypatch
):
    wanted = request_of(tuned, base=str(tiny_model))
    out = measure_changes(wanted)
    before, times = bytes_of(out), {path: path.stat().st_mtime_ns for path in out.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(work, "measure", None)
        patch.setattr(work, "replaced_cross_entropy", None)
        said = []
        measure_changes(wanted, said.append)
    assert times == {path: path.stat().st_mtime_ns for path in out.iterdir()} and "exists already" in said[0]
    next(out.glob("change_values-*")).write_bytes(b"torn")
    next(out.glob("perplexity-*")).unlink()
    measure_changes(wanted)
    assert bytes_of(out) == before


def test_a_call_that_was_killed_goes_on_and_gives_equal_bytes(
    text, tuned, tiny_model, request_of, tmp_path, monkeypatch
):
    wanted = request_of(tuned, base=str(tiny_model))
    whole, real = bytes_of(measure_changes(wanted)), work.replaced_cross_entropy
    for calls in range(3):
        shutil.rmtree(tmp_path / "cache" / "jobs")
        shutil.rmtree(tmp_path / "out")
        left = iter(range(calls))

        def dies(*given, left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return real(*given)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(work, "replaced_cross_entropy", dies)
            measure_changes(wanted)
        assert not list((tmp_path / "out").glob("change_runs-*")), "a run exists when its row does"
        assert bytes_of(measure_changes(wanted)) == whole


def test_a_worker_that_opens_model_and_base_by_itself_writes_the_same(
    text, tuned, tiny_model, request_of, tmp_path, monkeypatch
):
    here = bytes_of(measure_changes(request_of(tuned, base=str(tiny_model))))
    monkeypatch.setattr(stored_runs, "executor", lambda *given: Elsewhere())
    assert bytes_of(measure_changes(request_of(tuned, base=str(tiny_model), out=tmp_path / "there"))) == here


def test_a_text_of_ones_own_and_no_perplexity_need_nothing_fetched(cache, tiny_model, request_of, tmp_path):
    (tmp_path / "own.txt").write_text(
        "paris is red .\nrome is blue\nparis is a city in france\n" + "paris " * 600 + "\n", encoding="utf-8"
    )
    out = measure_changes(request_of(tiny_model, text=tmp_path / "own.txt", blocks=0))
    (run,) = rows_of(out, "change_runs")
    assert (run["sentences"], run["blocks"], json.loads(run["left_out"])) == (3, 0, {"too long for the model": 1})
    assert rows_of(out, "perplexity") == []


def test_layers_that_are_shared_are_left_out_by_name_and_the_rest_is_measured(text, request_of, tmp_path):
    base = tiny_models.save("albert", tmp_path / "albert")
    model = AlbertForMaskedLM.from_pretrained(base)
    for parameter in model.albert.parameters():
        parameter.data *= 1.05
    model.save_pretrained(tmp_path / "albert-tuned")
    for path in base.iterdir():
        if not (tmp_path / "albert-tuned" / path.name).exists():
            shutil.copy(path, tmp_path / "albert-tuned")
    out = measure_changes(request_of(tmp_path / "albert-tuned", base=str(base)))
    (run,) = rows_of(out, "change_runs")
    assert "one set of weights" in json.loads(run["left_out"])["replaced layers"]
    assert run["block_pieces"] == 48
    assert sorted((row["replaced"], row["n"]) for row in rows_of(out, "perplexity")) == [("last", 3), ("none", 0)]
    assert {"emd-first", "cka-mean"} <= {row["measure"] for row in rows_of(out, "change_values")}
