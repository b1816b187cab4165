"""``probing sentences ask``: one sentence in a model and its base, by layer."""

import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import BertForMaskedLM
from typer.testing import CliRunner

from probing.commands.main import app
from probing.core.sentences.example import OURS
from probing.models.changes.ask import ask_attention
from probing.models.changes.attention_passes import Attending
from probing.models.encoders.load import load_encoder
from probing.models.sentences.files import TaskProbes, probes_folder, write_probes

TEXT = "paris is red and rome is blue ."


@pytest.fixture()
def tuned(tiny_model, tmp_path):
    """The tiny model with other weights in its layers."""
    folder = shutil.copytree(tiny_model, tmp_path / "tuned")
    model = BertForMaskedLM.from_pretrained(folder)
    with torch.no_grad():
        for parameter in model.bert.encoder.parameters():
            parameter *= 1.5
    model.save_pretrained(folder)
    return folder


@pytest.fixture()
def probes(tiny_model, cache):
    """Planted probes of the tiny model, of which layer 0's are at chance."""
    encoder = load_encoder(tiny_model, device="cpu")
    right = np.array([[50, 80, 90]] * 2)
    weights = np.random.default_rng(0).normal(size=(2, 3, 1, encoder.hidden)).astype(np.float32)
    planted = TaskProbes(
        "order",
        "Order",
        False,
        ("inverted", "original"),
        OURS,
        encoder.name,
        encoder.weights_id,
        "d" * 64,
        right,
        100,
        50,
        np.ones((2, 3)),
        weights,
        np.zeros((2, 3, 1), np.float32),
    )
    write_probes(planted, probes_folder(cache, encoder.weights_id, "order"))


def ask(*words: str, code: int = 0):
    found = CliRunner().invoke(app, ["sentences", "ask", *words, "--device", "cpu"])
    assert found.exit_code == code, found.output
    return found


def test_attention_and_verdicts_of_both_models_by_layer(tiny_model, tuned, probes):
    got = json.loads(ask(TEXT, "--model", str(tuned), "--base", str(tiny_model), "--as", "json").stdout)
    base, other = (Attending(load_encoder(path, device="cpu")) for path in (tiny_model, tuned))
    found = ask_attention(TEXT, other, base)
    assert got["tokens"] == list(found.tokens)
    rows = {(row["model"], row["layer"]): row for row in got["attention"]}
    assert set(rows) == {(name, layer) for name in ("tiny-bert", "tuned") for layer in (1, 2)}
    for layer in (1, 2):
        row = rows["tuned", layer]
        assert row["entropy-first"] == pytest.approx(found.own.entropy[layer - 1, :, 0].mean())
        assert row["to-separator-mean"] == pytest.approx(found.own.shares["separator"][layer - 1].mean())
        assert row["emd-mean"] == pytest.approx(found.distance[layer - 1].mean())
        assert rows["tiny-bert", layer]["emd-mean"] is None
    assert {(row["model"], row["pooling"], row["layer"]) for row in got["verdicts"]} == {
        ("tiny-bert", pooling, layer) for pooling in ("first", "mean") for layer in range(3)
    }
    assert [row["above_majority"] for row in got["verdicts"]] == [False, True, True] * 2
    assert {(row["accuracy"], row["majority"]) for row in got["verdicts"]} == {(0.5, 0.5), (0.8, 0.5), (0.9, 0.5)}
    assert {(row["word"], row["times"]) for row in got["same_word"]} == {("is", 2)}


def test_one_csv_has_all_parts_and_a_table_says_what_makes_probes(tiny_model, cache):
    found = ask(TEXT, "--model", str(tiny_model), "--as", "csv")
    table = pd.read_csv(io.StringIO(found.stdout))
    assert set(table["part"]) == {"attention", "same_word"} and len(table) == 2 + 3
    shown = ask(TEXT, "--pair", "rome is red .", "--model", str(tiny_model))
    assert "entropy-first" in shown.stdout and "to-separator-mean" in shown.stdout
    assert "python -m probing sentences train --model" in shown.stderr


@pytest.mark.parametrize(
    ("text", "says"), [(" ", "the sentence is empty"), ("paris " * 10_000, "takes at most")], ids=["empty", "long"]
)
def test_what_cannot_be_asked_is_refused_by_name(tiny_model, cache, text, says):
    found = CliRunner().invoke(app, ["sentences", "ask", text, "--model", str(tiny_model)])
    assert found.exit_code != 0 and says in f"{found.output}{found.exception}"
    assert "Traceback" not in found.output
