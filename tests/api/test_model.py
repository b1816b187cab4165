"""A model that is loaded in a notebook predicts the same as in the command, for any source of its weights."""

import json

import pandas as pd
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForQuestionAnswering, AutoTokenizer

import probing
from probing.kernel.errors import NoOwnHead, PromptError
from tests import tiny_models

PROMPT = "The capital of France is [MASK]."


@pytest.fixture()
def in_memory(tiny_model):
    """The tiny model and its tokenizer as transformers loads them."""
    return AutoModelForMaskedLM.from_pretrained(tiny_model), AutoTokenizer.from_pretrained(tiny_model)


def test_the_figure_is_the_token_grid_and_the_notebook_shows_it_with_its_numbers(nesia):
    assert nesia.ask(PROMPT, watch=[]).watched.empty, "a program may follow no word"
    answer = nesia.ask(PROMPT, top=4, watch=["paris"])
    grid, shown = answer.figure(), answer._repr_html_()
    assert grid.data[0].type == "heatmap" and grid.data[0].z.shape == (9, 4)
    right = [trace for trace in grid.data if trace.type == "heatmap"][1:]
    assert sum(int((trace.z == 1).sum()) for trace in right) == int((answer.table["token"] == "paris").sum())
    assert grid.layout.font.color != answer.figure(dark=True).layout.font.color
    small = answer.figure(dark=True, width="column")
    assert small.layout.width == 3.25 * 96 and small.layout.paper_bgcolor == "#FFFFFF"
    assert "plotly" in shown and "36 rows" in shown and answer.table["token"].iloc[-1] in shown
    assert repr(answer).startswith(f"Answer({PROMPT!r}")


@pytest.mark.parametrize(
    "architecture", ["albert", "bert", "deberta", "distilbert", "electra", "esm", "modernbert", "mpnet", "roberta"]
)
def test_a_model_in_memory_answers_as_the_folder_it_is_saved_in(architecture, tmp_path):
    model, tokenizer = tiny_models.build(architecture)
    folder = tiny_models.save(architecture, tmp_path / "saved")
    sentence = f"Paris is the capital of {tokenizer.mask_token}."
    mine = probing.load(model, "logit_lens", tokenizer=tokenizer, device="cpu")
    saved = probing.load(folder, "logit_lens", device="cpu")
    assert mine.head == saved.head == "logit_lens"
    pd.testing.assert_frame_equal(mine.ask(sentence).table, saved.ask(sentence).table)
    assert (mine.name, saved.name) == (f"{model.config.model_type}-{mine.encoder.weights_id[:8]}", "saved")
    assert mine.encoder.configuration == saved.encoder.configuration


def test_loading_neither_changes_the_model_nor_follows_its_training(in_memory, cache):
    model, tokenizer = in_memory
    model.train()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    loaded = probing.load(model, "logit_lens", tokenizer=tokenizer, device="cpu")
    first = loaded.ask(PROMPT).table
    assert model.training and all(weight.requires_grad for weight in model.parameters())
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.5)
    pd.testing.assert_frame_equal(loaded.ask(PROMPT).table, first)
    again = probing.load(model, "logit_lens", tokenizer=tokenizer, device="cpu")
    assert again.name != loaded.name and not again.ask(PROMPT).table.equals(first)
    assert (
        probing.load(model, "logit_lens", tokenizer=tokenizer, device="cpu").encoder.weights_id
        == again.encoder.weights_id
    )


def test_a_model_of_another_task_borrows_its_bases_head(in_memory, tiny_model, cache):
    tokenizer = in_memory[1]
    tuned = AutoModelForQuestionAnswering.from_pretrained(tiny_model)
    with pytest.raises(NoOwnHead, match=r"BertForQuestionAnswering in memory has no own masked-LM head; .*\(base=\)"):
        probing.load(tuned, "logit_lens", tokenizer=tokenizer)
    for body in (tuned, AutoModel.from_pretrained(tiny_model)):
        loaded = probing.load(body, "logit_lens", tokenizer=tokenizer, base=str(tiny_model), device="cpu")
        pd.testing.assert_frame_equal(
            loaded.ask(PROMPT).table, probing.load(tiny_model, "logit_lens", device="cpu").ask(PROMPT).table
        )
        assert loaded.encoder.base == "tiny-bert" and loaded.encoder.head_owner().name == "tiny-bert"


def test_the_logit_lens_reads_a_model_without_trained_heads_and_one_line_states_it(
    tiny_model, in_memory, cache, caplog, nesia
):
    model, tokenizer = in_memory
    for given, more in ((tiny_model, {}), (model, {"tokenizer": tokenizer})):
        caplog.clear()
        loaded = probing.load(given, device="cpu", **more)
        (line,) = [record.getMessage() for record in caplog.records if record.name.startswith("probing")]
        assert loaded.head == "logit_lens" and "train-heads" in line and "--head logit_lens" not in line
        expected = probing.load(given, "logit_lens", device="cpu", **more).ask(PROMPT).table
        pd.testing.assert_frame_equal(loaded.ask(PROMPT).table, expected)
    caplog.clear()
    assert nesia.head == "tied" and probing.load("nesia-mini", device="cpu").head == "tied"
    assert not [record for record in caplog.records if record.name.startswith("probing")]


def test_a_notebook_gets_the_figure_in_plotlys_format_and_as_html(nesia):
    answer = nesia.ask(PROMPT)
    ((kind, drawn),) = answer._repr_mimebundle_().items()
    assert kind == "application/vnd.plotly.v1+json"
    assert json.loads(json.dumps(drawn)) == drawn and drawn == json.loads(answer.figure().to_json()) | {
        "config": drawn["config"]
    }
    # Without the script from the network, the collapsed numbers open.
    assert "numbers.open = true" in answer._repr_html_().rpartition("</details>")[2]


def test_every_token_of_a_sentence_has_the_tokens_of_its_gap_and_is_drawn(nesia):
    gap = nesia.ask("Paris is in [MASK].", top=3)
    every = nesia.every_token("Paris is in [MASK].", top=3)
    table = every.table
    assert len(table) == len(every.pieces) * 9 * 3 and every.pieces == gap.pieces
    mine = table[table["piece"] == "[MASK]"].reset_index(drop=True)
    assert mine[["layer", "rank", "token"]].equals(gap.table[["layer", "rank", "token"]])
    assert list(mine["probability"]) == pytest.approx(list(gap.table["probability"]), abs=1e-5)
    assert list(every.figure().layout.yaxis.ticktext) == every.pieces
    with pytest.raises(PromptError):
        nesia.every_token("")
