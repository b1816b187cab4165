"""``Model.sentence``: predictions of every layer for a whole sentence, in a notebook."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import probing
from probing.api.model import Model
from probing.kernel.errors import HeadError, OptionError
from probing.kernel.report import objects
from probing.main import app
from tests.sentences.planted import plant, untrained_probes
from tests.tiny_models import LAYERS, save

TEXT = "paris is red and rome is blue ."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model with planted probes of one task about a sentence and of one about a pair; its cache is next to
    it.
    """
    root = tmp_path_factory.mktemp("sentence")
    encoder = probing.load(save("bert", root / "tiny"), "logit_lens", device="cpu").encoder
    for probes in (untrained_probes(encoder), untrained_probes(encoder, "entails", pairs=True)):
        plant(root / "cache", probes)
    return root / "tiny"


@pytest.fixture
def model(folder, monkeypatch) -> Model:
    monkeypatch.setenv("PROBING_CACHE", str(folder.parent / "cache"))
    return probing.load(folder, "logit_lens", device="cpu")


@pytest.fixture
def command(model):
    """What ``sentences ask`` gives as JSON."""

    def called(*words: str) -> dict:
        run = CliRunner().invoke(
            app, ["sentences", "ask", *words, "--model", model.source, "--device", "cpu", "--as", "json"]
        )
        assert run.exit_code == 0, run.output
        return json.loads(run.stdout)

    return called


def test_a_second_sentence_is_asked_of_probes_about_pairs(model, command):
    found = model.sentence(TEXT, "rome is red .")
    assert set(found.table["task"]) == {"entails"} and found.tokens.count("[SEP]") == 2
    assert json.loads(json.dumps(objects(found.table))) == command(TEXT, "--pair", "rome is red .")["verdicts"]


def test_heads_have_a_row_per_layer_and_head_whose_mean_is_the_layers(model):
    found = model.sentence(TEXT)
    heads = found.found.attention.own.maps.shape[1]
    assert len(found.heads) == LAYERS * heads and sorted(set(found.heads["head"])) == list(range(1, heads + 1))
    mean = found.heads.drop(columns="head").groupby(["model", "layer"], as_index=False).mean()
    pd.testing.assert_frame_equal(mean[list(found.attention)], found.attention)


def test_the_figure_has_a_cell_per_probe_and_that_of_attention_a_panel_per_measure(model):
    found = model.sentence(TEXT)
    cells = next(trace for trace in found.figure().data if trace.type == "scatter")
    assert len(cells.x) == len(found.table) and "Order" in cells.hovertext[0]
    titles = [note.text for note in found.figure("attention").layout.annotations]
    assert titles == [
        "entropy, nats",
        *(f"share on {what}" for what in ("the first token", "separators", "punctuation", "itself")),
    ]
    entropy = next(trace for trace in found.figure("attention").data if trace.name == "tiny")
    np.testing.assert_allclose(entropy.y, found.attention["entropy-first"])
    assert "plotly" in found._repr_html_() and repr(found) == f"SentenceAnswer({TEXT!r}, model='tiny', probes: Order)"
    with pytest.raises(OptionError, match="got the figure 'heads'; expected verdicts or attention"):
        found.figure("heads")


def test_a_model_without_probes_gives_attention_and_names_the_command_that_trains_some(model, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.sentence(TEXT)
    assert len(found.attention) == LAYERS and "plotly" in found._repr_html_()
    for asked in (lambda: found.table, found.figure):
        with pytest.raises(
            HeadError, match=f"no sentence probes are trained on tiny; .*sentences train --model {model.source}"
        ):
            asked()


def test_a_fine_tuned_model_is_asked_beside_its_base_and_a_warning_says_which_of_them_has_no_probes(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("PROBING_CACHE", str(folder.parent / "cache"))
    tuned = probing.load(save("bert", tmp_path / "tuned", padded=1), "logit_lens", base=str(folder), device="cpu")
    with pytest.warns(UserWarning, match="no sentence probes are trained on tuned"):
        found = tuned.sentence(TEXT)
    assert (found.model, found.base) == ("tuned", "tiny")
    assert set(found.attention["model"]) == {"tiny", "tuned"} and set(found.table["model"]) == {"tiny"}
    assert found.attention.groupby("model")["emd-mean"].count().to_dict() == {"tiny": 0, "tuned": LAYERS}
    assert {"distance from the base, tokens"} <= {note.text for note in found.figure("attention").layout.annotations}


def test_the_base_is_opened_once_for_a_model(folder, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("probing.api.answers.opened_base", lambda encoder, entry: opened.append(entry.name))
    model = probing.load(folder, "logit_lens", device="cpu")
    for text in (TEXT, "rome is red ."):
        model.sentence(text)
    assert opened == ["tiny"]
