"""A model that is loaded in a notebook predicts the same as in the command, for any source of its weights."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoModelForQuestionAnswering, AutoTokenizer

import probing
from probing.kernel.errors import HeadError, ModelError, NoOwnHead, OptionError, PromptError
from probing.kernel.questions import NoMask, SeveralMasks, UnknownWord
from tests.models import tiny_models

PROMPT = "The capital of France is [MASK]."


@pytest.fixture()
def in_memory(tiny_model):
    """The tiny model and its tokenizer as transformers loads them."""
    return AutoModelForMaskedLM.from_pretrained(tiny_model), AutoTokenizer.from_pretrained(tiny_model)


def test_an_answer_has_the_numbers_of_the_command(nesia, run):
    said = json.loads(
        run("ask", PROMPT, "--top", "3", "--watch", "paris", "--watch", "london", "--device", "cpu", "--json").stdout
    )
    answer = nesia.ask(PROMPT, top=3, watch=["paris", "london"])
    layers = said["layers"]
    tokens = [(one["layer"], rank, *token.values()) for one in layers for rank, token in enumerate(one["tokens"], 1)]
    watched = [(one["layer"], *word.values()) for one in layers for word in one["watched"]]
    assert list(answer.table.columns) == ["layer", "rank", "token", "probability"]
    assert list(answer.watched.columns) == ["layer", "token", "rank", "probability"]
    assert list(answer.table.itertuples(index=False, name=None)) == tokens and len(tokens) == 9 * 3
    assert list(answer.watched.itertuples(index=False, name=None)) == watched and len(watched) == 9 * 2
    assert (answer.model, answer.head, answer.sentence) == (said["model"], said["head"], PROMPT)


def test_the_figure_is_the_token_grid_and_the_notebook_shows_it_with_its_numbers(nesia):
    answer = nesia.ask(PROMPT, top=4, watch=["paris"])
    grid, shown = answer.figure(), answer._repr_html_()
    assert grid.data[0].type == "heatmap" and grid.data[0].z.shape == (9, 4)
    right = [trace for trace in grid.data if trace.type == "heatmap"][1:]
    assert sum(int((trace.z == 1).sum()) for trace in right) == int((answer.table["token"] == "paris").sum())
    assert grid.layout.font.color != answer.figure(dark=True).layout.font.color
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


def test_heads_that_are_not_trained_are_named_with_the_line_that_needs_none(tiny_model, in_memory, cache):
    with pytest.raises(HeadError) as found:
        probing.load(tiny_model, "tied")
    line = f'probing.load({str(tiny_model)!r}, head="logit_lens")'
    assert line in str(found.value) and f"train-heads --model {tiny_model}" in str(found.value)
    assert eval(line).ask(PROMPT).model == "tiny-bert"
    model, tokenizer = in_memory
    with pytest.raises(HeadError) as found:
        probing.load(model, "tied", tokenizer=tokenizer)
    line = 'probing.load(model, tokenizer=tokenizer, head="logit_lens")'
    assert line in str(found.value) and "save_pretrained" in str(found.value)
    assert eval(line).ask(PROMPT).head == "logit_lens"


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


def test_what_is_no_model_is_refused_with_what_is_expected(in_memory, tiny_model, cache):
    model, tokenizer = in_memory
    cases = [
        ((3,), {"tokenizer": tokenizer}, "got int, expected the name of a model, a folder, or a transformers model"),
        ((torch.nn.Linear(2, 2),), {"tokenizer": tokenizer}, "got Linear"),
        ((model,), {}, r"\(tokenizer=\)"),
        ((tiny_model,), {"tokenizer": tokenizer}, "has its own"),
        ((model,), {"tokenizer": tokenizer, "name": "bert-base-uncased"}, r"choose another name="),
        ((model,), {"tokenizer": AutoTokenizer.from_pretrained("data/models/nesia-mini")}, "do not belong together"),
        ((model.half(),), {"tokenizer": tokenizer, "device": "nowhere"}, "device 'nowhere' cannot be used"),
    ]
    for given, more, message in cases:
        with pytest.raises(ModelError, match=message):
            probing.load(*given, "logit_lens", **more)
    with pytest.raises(HeadError, match="'x' is unknown; expected one of tied, logit_lens"):
        probing.load(tiny_model, "x")
    empty = AutoModelForMaskedLM.from_config(model.config).to("meta")
    with pytest.raises(ModelError, match="has no values yet"):
        probing.load(empty, "logit_lens", tokenizer=tokenizer)
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight[3] = torch.nan
    with pytest.raises(ModelError, match="not finite"):
        probing.load(model, "logit_lens", tokenizer=tokenizer)


def test_a_base_that_does_not_exist_is_refused_when_the_model_is_loaded(tiny_model, in_memory, cache):
    model, tokenizer = in_memory
    for base in ("nope", "./nope"):
        for given, more in ((tiny_model, {}), (model, {"tokenizer": tokenizer})):
            with pytest.raises(ModelError, match=r"the base nope cannot be used: .*\(base=\)|no folder \./nope"):
                probing.load(given, "logit_lens", base=base, device="cpu", **more)
    # The weights of a model of the registry need not be on this machine as long as nothing compares with them.
    for base in ("bert-base-uncased", tiny_model):
        assert probing.load(tiny_model, "logit_lens", base=base, name="mine", device="cpu").base == str(base)


def test_an_empty_name_does_not_open_the_working_directory(tiny_model, cache, monkeypatch):
    monkeypatch.chdir(tiny_model)
    for name in ("", " "):
        with pytest.raises(ModelError, match=f"got the model '{name}'; expected a name of the registry"):
            probing.load(name, "logit_lens")
    assert probing.load(".", "logit_lens", device="cpu").ask(PROMPT).head == "logit_lens"


def test_arguments_of_another_type_are_refused_with_what_is_expected(nesia):
    for more in ({"head": 3}, {"device": None}, {"name": 5}, {"base": 5}, {"base": ""}):
        ((name, value),) = more.items()
        with pytest.raises(OptionError, match=f"got {name}={value!r}(, of type {type(value).__name__})?; expected "):
            probing.load("nesia-mini", **more)
    for sentence in (None, 5, [PROMPT]):
        with pytest.raises(OptionError, match=r"got sentence=.*; expected one text with a gap"):
            nesia.ask(sentence)
    for more in ({"mask": "a"}, {"top": "a"}, {"top": 2.5}, {"top": True}, {"watch": [3]}, {"watch": 3}):
        with pytest.raises(
            OptionError, match=f"got {next(iter(more))}=.*; expected (a whole number|text, a list of texts, or None)"
        ):
            nesia.ask(PROMPT, **more)
    same = nesia.ask(PROMPT, top=np.int64(3), watch=None, mask=np.int32(0)).table
    pd.testing.assert_frame_equal(same, nesia.ask(PROMPT, top=3).table)


def test_a_notebook_gets_the_figure_in_plotlys_format_and_as_html(nesia):
    answer = nesia.ask(PROMPT)
    ((kind, drawn),) = answer._repr_mimebundle_().items()
    assert kind == "application/vnd.plotly.v1+json"
    assert json.loads(json.dumps(drawn)) == drawn and drawn == json.loads(answer.figure().to_json()) | {
        "config": drawn["config"]
    }
    # Without the script from the network, the collapsed numbers open.
    assert "numbers.open = true" in answer._repr_html_().rpartition("</details>")[2]


def test_a_sentence_that_cannot_be_asked_raises_the_error_of_the_command(nesia):
    with pytest.raises(NoMask):
        nesia.ask("No gap.")
    with pytest.raises(SeveralMasks, match=r"2 masks; .*\(mask=0 is the first\)") as found:
        nesia.ask("[MASK] is in [MASK].")
    assert len(found.value.positions) == 2
    with pytest.raises(UnknownWord):
        nesia.ask(PROMPT, watch=["counterrevolutionary"])
    for more in ({"top": 0}, {"mask": 3}):
        with pytest.raises(PromptError):
            nesia.ask(PROMPT, **more)


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
