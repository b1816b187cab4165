"""The live page on a tiny random model: predictions of every layer, and a helpful message for every mistake."""

import json
import socket
from dataclasses import replace

import pytest

from probing.core.errors import ModelError, PromptError
from probing.core.questions import Question
from probing.ui.frame import live_models
from tests.models.tiny_models import LAYERS, save
from tests.pages.conftest import words

pytestmark = pytest.mark.usefixtures("unfolded")


@pytest.fixture
def ask(visit, tmp_path):
    """Opens the live page with a prompt for the tiny model."""
    save("bert", tmp_path / "cache" / "models" / "tiny")

    def asked(prompt: str, **query: str):
        return visit("ask", "empty", {"live_model": "tiny", "live_head": "logit_lens", "prompt": prompt, **query})

    return asked


def charts(app) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def test_a_cloze_gets_a_grid_lines_entropy_and_its_word_pieces(ask):
    app = ask("Paris is the capital of [MASK].", watch="france, berlin")
    assert not app.exception and not app.warning
    grid, followed, entropy = charts(app)
    assert {trace["type"] for trace in grid["data"]} == {"heatmap", "scatter"}
    assert [trace["name"] for trace in followed["data"]] == ["france", "berlin"]
    assert len(entropy["data"]) == 1
    assert any("[CLS]" in code.value and "[MASK]" in code.value for code in app.code)
    assert f"{LAYERS + 1} layers at once" in words(app)
    assert "cpu" in words(app) or "cuda" in words(app)


def test_probability_replaces_rank_and_stays_in_the_link(ask):
    app = ask("Paris is the capital of [MASK].", watch="france")
    app.segmented_control(key="ask.scale").set_value("probability").run()
    assert charts(app)[1]["layout"]["yaxis"]["title"]["text"].startswith("probability")
    assert app.query_params["scale"] in ("probability", ["probability"])


def test_several_gaps_are_read_one_by_one_or_filled(ask, pauses):
    app = ask("[MASK] is the capital of [MASK].", mask="2")
    assert not app.exception and "Gap" not in "".join(tab.label for tab in app.tabs)
    filled = ask("[MASK] is the capital of [MASK].", mask="0")
    assert not filled.exception
    assert [tab.label for tab in filled.tabs] == ["Gap 1", "Gap 2"]
    assert "MASK" not in filled.success[0].value
    assert len(pauses) == 2, "another user's question waits for one gap"


def test_many_gaps_are_read_one_by_one_only(ask, pauses):
    app = ask("[MASK] " * (live_models.MAX_FILLED + 1), mask="0")
    assert not app.exception and not app.tabs and not app.success
    assert f"at most {live_models.MAX_FILLED} are filled here" in words(app) and pauses == []
    assert not any("fill" in str(option) for option in app.segmented_control(key="ask.mask").options) and charts(app)
    with pytest.raises(PromptError, match="33 gaps"):
        live_models.fill(live_models.choices()["tiny"], Question("[MASK] " * 33, "logit_lens"))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("There is no gap here.", r"has no \[MASK\]"),
        ("paris " * 600 + "[MASK]", "word pieces"),
    ],
)
def test_a_prompt_that_cannot_be_asked_gets_a_helpful_answer(ask, prompt, expected):
    app = ask(prompt)
    assert not app.exception
    assert expected in app.warning[0].value


def test_a_gap_in_any_spelling_is_asked_and_stays_as_typed(ask):
    plain = ask("Paris is in [MASK].", watch="france")
    for gap in ("[mask]", "<mask>", "___"):
        app = ask(f"Paris is in {gap}.", watch="france")
        assert not app.exception and not app.warning
        assert app.text_input(key="ask.prompt").value == f"Paris is in {gap}."
        assert charts(app)[0]["data"][1]["text"] == charts(plain)[0]["data"][1]["text"]
    assert len(ask("___ is in <mask>.", mask="0").tabs) == 2


def test_an_emptied_field_asks_for_a_sentence_and_stays_empty(ask):
    prompt = "   "
    app = ask("Paris is in [MASK].", watch="france")
    app.text_input(key="ask.prompt").set_value(prompt).run()
    assert not app.exception and not app.warning and not charts(app)
    assert [note.value for note in app.info] == ["Type a sentence with a gap, written \\[MASK\\] or \\<mask\\> or \\_\\_\\_."]
    assert app.text_input(key="ask.prompt").value == prompt and "paris" not in words(app).lower()
    assert app.query_params["prompt"] in (prompt, [prompt])


def test_emptied_tokens_stay_untracked(visit, tmp_path):
    save("bert", tmp_path / "cache" / "models" / "tiny")
    app = visit("ask", "empty", {"live_model": "tiny", "live_head": "logit_lens"})
    assert app.text_input(key="ask.watch").value == "france, italy"
    app.text_input(key="ask.watch").set_value("").run()
    assert app.text_input(key="ask.watch").value == "" and "framed" not in words(app)
    assert len(charts(app)) == 2, "grid and entropy"


@pytest.mark.parametrize("prompt", ["<script>alert(1)</script> **[MASK]** $x$ :red[y]", "Zoë’s 🙂\n\n# [MASK] 🇫🇷"])
def test_emoji_and_markup_are_asked_unchanged(ask, prompt):
    app = ask(prompt)
    assert not app.exception and not app.warning
    assert charts(app)
    assert "<script>" not in "".join(text.value for kind in ("markdown", "caption", "success") for text in getattr(app, kind))


def test_words_that_are_several_tokens_are_named_and_the_rest_followed(ask):
    app = ask("Paris is in [MASK].", watch="france, zyxwv, <b>")
    assert not app.exception
    assert "not tracked: zyxwv, \\<b\\>" in words(app)
    assert [trace["name"] for trace in charts(app)[1]["data"]] == ["france"]


def test_an_example_is_one_click(ask):
    app = ask("There is no gap here.")
    app.pills(key="ask.examples").set_value("A robin is not a [MASK].").run()
    assert not app.exception
    assert app.query_params["prompt"] in ("A robin is not a [MASK].", ["A robin is not a [MASK]."])


def test_missing_heads_are_named_and_the_lens_is_offered(ask):
    app = ask("Paris is in [MASK].", live_head="tied")
    assert not app.exception and "train\\-heads" in app.warning[0].value
    next(button for button in app.button if "logit lens" in button.label).click().run()
    assert charts(app)


def test_a_model_without_trained_heads_is_read_by_the_logit_lens_if_none_are_named(visit, family):
    from probing.ui.frame import live_models

    live_models.model_cache().kept.clear()
    query = {"live_model": "tiny", "prompt": "Paris is in [MASK].", "live_models": "nesia-mini"}
    app = visit("ask", "empty", query)
    assert not app.exception and not app.warning
    (said,) = [note.value for note in app.caption if "logit lens" in note.value]
    assert "tiny" in said and "nesia" not in said.lower()
    # One kind of heads reads both models, though the shipped one has trained heads.
    assert {"logit_lens"} == {key[2] for key in live_models.model_cache().kept}
    named = visit("ask", "empty", query | {"live_head": "logit_lens"})
    tables = [next(frame.value for frame in one.dataframe if "entropy" in frame.value.columns) for one in (app, named)]
    assert tables[0].equals(tables[1]) and "live_head" not in app.query_params


def test_the_shipped_model_is_read_by_its_trained_heads_with_one_encoder(visit, tmp_path):
    from probing.ui.frame import live_models

    live_models.model_cache().kept.clear()
    app = visit("ask", "empty", {"live_model": "nesia-mini", "prompt": "Paris is in [MASK]."})
    assert not app.exception and not [note.value for note in app.caption if "logit lens" in note.value]
    kept = {key[2]: live for key, live in live_models.model_cache().kept.items()}
    assert set(kept) == {"logit_lens", "tied"} and kept["tied"].encoder is kept["logit_lens"].encoder


def test_a_link_cannot_make_the_page_load_a_folder_of_its_choice(ask, tmp_path):
    save("bert", tmp_path / "elsewhere")
    app = ask("Paris is in [MASK].", live_model=str(tmp_path / "elsewhere"))
    assert not app.exception
    assert app.selectbox(key="ask.live_model").value != str(tmp_path / "elsewhere")


def test_a_configured_folder_is_offered(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_MODELS", str(save("distilbert", tmp_path / "mine")))
    app = ask("Paris is in [MASK].", live_model="mine")
    assert not app.exception and charts(app)
    assert app.selectbox(key="ask.live_model").value == "mine"


def test_own_facts_are_asked_of_the_tiny_model(ask, tmp_path):
    from probing.core.facts.custom import own_facts
    from probing.ui.facts.upload import SAMPLE, ask_all
    from probing.ui.frame.live_models import Choice

    facts = own_facts(SAMPLE.replace("Berlin", "berlin"), "sample.csv").facts
    assert len(facts) == 3
    table = ask_all(facts, Choice("own", str(save("bert", tmp_path / "own")), ""), "logit_lens")
    assert list(table.columns[4:-1]) == [f"layer {n}" for n in range(LAYERS + 1)]
    assert table.loc[0, "layer 0"] >= 1 and table.loc[0, "note"] == ""
    assert table.loc[1, "note"] and table["layer 1"].isna()[1]


@pytest.fixture
def own_facts(visit, tmp_path):
    """The facts page with a tiny model to ask and a way to upload."""
    save("bert", tmp_path / "cache" / "models" / "tiny")
    app = visit("facts", query={"facts_tab": "own"})
    app.selectbox(key="facts.live_model").set_value("tiny")

    def uploaded(name: str, content: bytes):
        app.file_uploader(key="own.file").set_value((name, content, "text/plain"))
        return app.run()

    return uploaded


def test_uploaded_facts_are_counted_asked_and_offered_for_download(own_facts):
    app = own_facts(
        "mine.jsonl",
        b'{"subject": "France", "relation": "capital", "object": "Paris", "prompt": "The capital of France is [MASK]."}\n'
        b'{"subject": "Spain", "relation": "capital", "object": "Madrid", "prompt": "No gap"}\n'
        b'{"subject": "Peru", "relation": "capital", "object": "zzzqqq", "prompt": "The capital of Peru is [MASK]."}\n',
    )
    assert "3 facts read, 2 can be asked; left out: 1 not exactly one mask." in words(app)
    app.button(key="own.ask").click().run()
    assert not app.exception
    table = next(frame.value for frame in app.dataframe if "L0" in frame.value.columns)
    assert len(table) == 2 and table[f"L{LAYERS}"][0] >= 1
    assert "Of 1 fact asked" in words(app) and "1 fact could not be asked of this model: zzzqqq: " in words(app)
    assert "No tied heads are trained for tiny here" in words(app), "no head was chosen"
    assert any(button.key == "own-facts.csv" for button in app.get("download_button"))
    app.selectbox(key="facts.own_head").set_value("tied").run()
    app.button(key="own.ask").click().run()
    assert "train\\-heads" in app.warning[0].value


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("mine.jsonl", b"{broken", "line 1"),
        ("mine.csv", b"\xff\xfe\x00", "UTF"),
    ],
)
def test_an_upload_that_is_no_file_of_facts_is_named(own_facts, name, content, expected):
    app = own_facts(name, content)
    assert not app.exception
    assert expected in app.warning[0].value


@pytest.fixture
def family(tmp_path, monkeypatch):
    """A tiny base, a model fine-tuned from it whose first and last layer changed, and a model that nobody has described."""
    import torch
    from safetensors.torch import load_file, save_file

    models = tmp_path / "cache" / "models"
    save("bert", models / "tiny")
    tuned, stranger = save("bert", models / "tiny-tuned"), save("bert", tmp_path / "stranger")
    for folder, places in ((tuned, ("layer.0.", f"layer.{LAYERS - 1}.")), (stranger, ("layer.1.",))):
        weights = load_file(folder / "model.safetensors")
        generator = torch.Generator().manual_seed(5)
        for name in weights:
            if any(place in name for place in places):
                weights[name] = torch.randn(weights[name].shape, generator=generator)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (tuned / "finetuning.json").write_text(json.dumps({"base": "tiny", "objective": "QA-SQuAD-1"}), encoding="utf-8")
    monkeypatch.setenv("PROBING_MODELS", str(stranger))


def test_several_models_answer_the_same_sentence_side_by_side(ask, family):
    app = ask("Paris is the capital of [MASK].", watch="france, berlin", live_models=["tiny-tuned", "stranger"])
    assert not app.exception and not app.warning
    grids, (followed, entropy) = charts(app)[:3], charts(app)[3:]
    assert all({trace["type"] for trace in grid["data"]} == {"heatmap", "scatter"} for grid in grids)
    names = [trace["name"] for trace in followed["data"]]
    assert names == [f"{word} · {model}" for model in ("tiny", "tiny-tuned", "stranger") for word in ("france", "berlin")]
    colours = {trace["name"].split(" · ")[1]: trace["line"]["color"] for trace in followed["data"]}
    assert len(set(colours.values())) == 3
    assert {trace["name"]: trace["line"]["color"] for trace in entropy["data"]} == colours
    tables = [frame.value for frame in app.dataframe if "entropy" in frame.value.columns]
    assert list(dict.fromkeys(tables[0]["model"])) == ["tiny", "tiny-tuned", "stranger"]
    assert app.query_params["live_models"] == ["tiny-tuned", "stranger"]


def test_a_model_that_cannot_be_asked_leaves_the_others_alone(ask, family):
    app = ask("Paris is in [MASK].", live_head="tied", live_models="tiny-tuned")
    assert [warning.value for warning in app.warning if "tiny" in warning.value and "tuned" in warning.value]
    app = ask("Paris is in [MASK].", live_models=["tiny", "nobody", "tiny-tuned"])
    assert not app.exception and not app.warning
    assert app.multiselect(key="ask.live_models").value == ["tiny-tuned"]
    assert [note.value for note in app.info if "nobody" in note.value and "Ignored" in note.value]


def test_a_link_says_which_model_and_head_it_names_in_vain(ask):
    app = ask("Paris is in [MASK].", live_model="atlantis", live_head="full-and-more")
    assert not app.exception
    assert [note.value for note in app.info if "atlantis" in note.value and "full" in note.value]


def test_a_sentence_without_a_gap_is_refused_once_however_many_models_are_asked(ask, family):
    app = ask("Paris is a city.", live_models=["tiny-tuned", "stranger"])
    assert not app.exception and len(app.warning) == 1


def test_gaps_of_several_models_are_filled_by_each(ask, family):
    app = ask("[MASK] is the capital of [MASK].", mask="0", live_models="tiny-tuned")
    assert not app.exception
    assert [text.value.split(":")[0] for text in app.success] == ["tiny", "tiny\\-tuned"]
    assert [tab.label for tab in app.tabs] == ["Gap 1", "Gap 2"]


@pytest.mark.parametrize(
    ("perturbation", "expected", "more"),
    [
        ("misprimed", r"London? Rocky Balboa was born in \[MASK\]", {"prime": "london"}),
        ("truncated", r"> in \[MASK\]\.", {"keep_words": "1"}),
        ("renamed", r"Zoë was born in \[MASK\]", {"other_name": "Zoë"}),
        ("shuffled", "5 words in another order \\(seed 3\\)", {"shuffle_seed": "3"}),
    ],
)
def test_a_changed_sentence_is_shown_next_to_the_typed_one(ask, perturbation, expected, more):
    app = ask("Rocky Balboa was born in [MASK].", perturbation=perturbation, watch="paris", **more)
    assert not app.exception and not app.warning
    assert expected in words(app)
    changed, ranks = charts(app)[3:5]
    assert changed["layout"]["yaxis"]["ticktext"][0] == "as typed" and len(changed["layout"]["yaxis"]["ticktext"]) == 2
    assert {trace["name"].split(", ")[1] for trace in ranks["data"] if ", " in trace.get("name", "")} > {"as typed"}
    assert {trace["line"]["dash"] for trace in ranks["data"]} == {"solid", "dot"}
    assert app.query_params["perturbation"] in (perturbation, [perturbation])


def test_a_misprime_is_the_models_own_wrong_answer_unless_one_is_typed(ask):
    app = ask("Paris is in [MASK].", perturbation="misprimed", top="10", watch="france")
    offered = [button.label for button in app.button if button.key and button.key.startswith("ask.prime.")]
    assert offered and app.text_input(key="ask.prime").value == offered[0]
    app.button(key="ask.prime.0").click().run()
    assert app.query_params["prime"] in (offered[0], [offered[0]])


def test_a_sentence_that_cannot_be_changed_says_why(ask):
    app = ask("it [MASK]", perturbation="negated")
    assert not app.exception
    assert any("no verb was found" in note.value for note in app.info)
    app.segmented_control(key="ask.perturbation").set_value("").run()
    assert not app.info


def test_several_models_are_asked_the_changed_sentence(ask, family):
    app = ask("Paris is in [MASK].", perturbation="negated", live_models="tiny-tuned", watch="france, berlin")
    assert not app.exception
    *_, first, second, ranks = charts(app)
    assert [grid["layout"]["yaxis"]["ticktext"] for grid in (first, second)] == [["as typed", "negated"]] * 2
    named = [trace["name"] for trace in ranks["data"]]
    assert named == ["tiny, as typed", "tiny, negated", "tiny-tuned, as typed", "tiny-tuned, negated"]
    assert len({trace["line"]["color"] for trace in ranks["data"]}) == 2


def test_layers_are_put_back_one_by_one_and_returning_answers_are_named(ask, family):
    app = ask("Paris is in [MASK].", live_model="tiny-tuned", replaced="last", watch="france")
    assert not app.exception and not app.warning
    grid, ranks = charts(app)[-2:]
    assert grid["layout"]["yaxis"]["ticktext"] == [f"n = {n}" for n in range(LAYERS + 1)]
    assert ranks["layout"]["xaxis"]["title"]["text"] == "last n layers restored from tiny"
    assert "prediction, " in words(app) and "Embeddings" not in "".join(error.value for error in app.error)
    table = next(frame.value for frame in app.dataframe if "n" in frame.value.columns and "rank" in frame.value.columns)
    assert set(table["n"]) == set(range(LAYERS + 1))
    # Layer 2 is the base's already: putting back the last layer or the last two is the same.
    by_n = {n: list(rows["rank"]) for n, rows in table.groupby("n")}
    assert by_n[1] == by_n[2]
    app.segmented_control(key="ask.replaced").set_value("first").run()
    assert charts(app)[-1]["layout"]["xaxis"]["title"]["text"] == "first n layers restored from tiny"


def test_the_fine_tuned_model_among_several_is_the_one_whose_layers_are_put_back(ask, family):
    app = ask("Paris is in [MASK].", live_models="tiny-tuned", replaced="last", watch="france")
    assert "last n layers restored from tiny" in charts(app)[-1]["layout"]["xaxis"]["title"]["text"]


def test_the_base_of_a_stranger_can_be_named(ask, family):
    app = ask("Paris is in [MASK].", live_model="stranger", watch="france")
    app.segmented_control(key="ask.replaced").set_value("last").run()
    assert app.selectbox(key="ask.live_base").value == ""
    app.selectbox(key="ask.live_base").set_value("tiny").run()
    assert not app.exception and charts(app)[-1]["layout"]["xaxis"]["title"]["text"] == "last n layers restored from tiny"


def test_a_base_that_does_not_fit_is_a_message(ask, family, tmp_path):
    save("distilbert", tmp_path / "cache" / "models" / "other")
    app = ask("Paris is in [MASK].", live_model="stranger", live_base="other", replaced="last")
    assert not app.exception
    assert any("do not fit" in warning.value for warning in app.warning)


@pytest.mark.parametrize("change", [lambda tensor: tensor * float("nan"), lambda tensor: (100 * tensor).int()])
def test_a_model_whose_weights_are_not_numbers_is_named_and_not_asked(ask, tmp_path, change):
    from safetensors.torch import load_file, save_file

    path = save("bert", tmp_path / "cache" / "models" / "broken") / "model.safetensors"
    save_file({name: change(tensor) for name, tensor in load_file(path).items()}, path, metadata={"format": "pt"})
    app = ask("Paris is in [MASK].", live_model="broken")
    assert not app.exception and not charts(app)
    assert "not finite" in app.warning[0].value or "stores bert" in app.warning[0].value


@pytest.fixture
def no_network(monkeypatch) -> list:
    """Connections that were tried; none is made."""
    tried = []

    def refuse(self, address):
        tried.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *address, **_: refuse(None, address))
    return tried


@pytest.mark.parametrize("query", [{"live_model": "roberta-base"}, {"live_models": "roberta-base"}, {"live_base": "roberta-base"}])
def test_a_link_makes_the_server_ask_no_hub(ask, family, no_network, monkeypatch, query):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    wanted = {"live_model": "stranger", "replaced": "last"} | query
    app = ask("Paris is in [MASK].", **wanted)
    assert not app.exception and not no_network
    if "live_base" not in query:
        button = next(button for button in app.button if "Hugging Face hub" in button.label)
        loads = []
        monkeypatch.setattr(live_models, "load", lambda choice, head, fetch=False: loads.append((choice.name, fetch)) or refuse())

        def refuse():
            raise ModelError("the hub was asked")

        button.click().run()
        assert ("roberta-base", True) in loads and any("the hub was asked" in one.value for one in app.warning)
        loads.clear()
        app.run()
        assert ("roberta-base", True) not in loads, "a download is tried once for each press"


def test_offline_a_model_of_the_hub_is_named_as_unavailable_and_not_offered_for_download(ask, no_network):
    app = ask("Paris is in [MASK].", live_model="roberta-base")
    assert not app.exception and not app.warning and not no_network
    assert any("does not use the Hugging Face hub" in note.value for note in app.info)
    assert not [button for button in app.button if "Hugging Face hub" in button.label]
    menu = app.selectbox(key="ask.live_model")
    assert "roberta-base (unavailable offline)" in menu.options and "tiny (local)" in menu.options


def test_what_is_loaded_without_a_press_is_loaded_from_this_machine_only(no_network, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path))
    choice = live_models.choices()["roberta-base"]
    with pytest.raises(ModelError, match="not on this machine"):
        live_models.load(choice, "logit_lens")
    # Also if it was in the hub's cache and has vanished when it is loaded.
    with pytest.raises(ModelError, match="FacebookAI/roberta-base"):
        live_models.load(replace(choice, here=True), "logit_lens")
    assert not no_network


@pytest.fixture
def headless(tmp_path, monkeypatch):
    """A classifier that was fine-tuned elsewhere from the tiny model: a body without a masked-LM head or a recorded base."""
    from transformers import AutoTokenizer, BertForMaskedLM, BertForSequenceClassification

    base = save("bert", tmp_path / "cache" / "models" / "tiny")
    body = BertForMaskedLM.from_pretrained(base).bert
    model = BertForSequenceClassification(body.config)
    model.bert.load_state_dict(body.state_dict(), strict=False)
    model.save_pretrained(tmp_path / "classifier")
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "classifier")
    monkeypatch.setenv("PROBING_MODELS", str(tmp_path / "classifier"))


def test_the_base_of_a_model_without_a_head_is_chosen_on_the_page_and_kept_in_the_link(ask, headless):
    app = ask("Paris is in [MASK].", live_model="classifier", watch="france")
    assert not app.exception and not app.warning and not charts(app)
    assert "--base" not in words(app)
    menu = app.selectbox(key="ask.live_base")
    assert {"tiny", "nesia-mini"} <= set(menu.proto.options) and "classifier" not in menu.proto.options
    menu.set_value("tiny").run()
    assert not app.exception and app.query_params["live_base"] in ("tiny", ["tiny"])
    own = ask("Paris is in [MASK].", live_model="tiny", watch="france")
    assert charts(app)[0]["data"][1]["text"] == charts(own)[0]["data"][1]["text"]
    # Its base is known now, so the base's layers can be restored.
    app.segmented_control(key="ask.replaced").set_value("last").run()
    assert not app.exception and "restored from tiny" in charts(app)[-1]["layout"]["xaxis"]["title"]["text"]
    other = ask("Paris is in [MASK].", live_model="classifier", live_base="nesia-mini")
    assert not other.exception and other.warning, "a base that does not fit is a message"
    beside = ask("Paris is in [MASK].", live_models="classifier")
    assert not beside.exception and charts(beside) and any("choose it as the (first) model" in note.value for note in beside.info)


@pytest.mark.parametrize("mask", ["0", "2"])
def test_models_that_count_gaps_differently_break_no_page(ask, tmp_path, monkeypatch, mask):
    save("roberta", tmp_path / "cache" / "models" / "roberta")
    app = ask("[MASK] is the capital of <mask>.", live_models="roberta", mask=mask)
    assert not app.exception and charts(app)
    # The first model accepts 48 word pieces.
    app = ask("paris " * 60 + "[MASK] [MASK]", live_models="roberta", mask=mask)
    assert not app.exception and app.warning
    # BERT accepts 48 of them, and RoBERTa has fewer or more word pieces: each model reports its own error.
    app = ask("It is Paris " * 13 + "[MASK] [MASK]", live_models="roberta", mask=mask, watch="france")
    assert not app.exception


def test_a_followed_word_is_looked_up_at_the_gap_that_is_read(ask, tmp_path):
    from probing.core.facts.fact import Fact
    from probing.models.encoders.answer_tokens import answer_ids
    from probing.models.encoders.load import load_encoder
    from probing.models.knowledge.ask import load_live
    from probing.ui.facts.upload import ask_all
    from probing.ui.frame.live_models import Choice

    folder = save("roberta", tmp_path / "cache" / "models" / "roberta")
    prompt = "[MASK] paris is it."
    encoder = load_encoder(folder, device="cpu")
    fact = Fact("own", "r", "s", "and", prompt, prompt)
    (token,) = answer_ids([fact], encoder)
    last = load_live(encoder, "logit_lens", None).ask(prompt, len(encoder.tokenizer)).layers[-1]
    # Ranked as by the command `probe`: ties take the worst place.
    gold = next(one for one in last.tokens if one.id == token)
    rank = sum(one.log_probability >= gold.log_probability for one in last.tokens)
    app = ask(prompt, live_model="roberta", watch="and")
    table = next(frame.value for frame in app.dataframe if "word" in frame.value.columns)
    assert list(table["rank"])[-1] == rank
    assert ask_all((fact,), Choice("roberta", str(folder), ""), "logit_lens")[f"layer {LAYERS}"][0] == rank


def test_a_model_is_asked_at_once_after_its_download(ask, tmp_path, monkeypatch):
    """The choice made before the download still states that the model is not on this machine."""
    from probing.core.facts.fact import Fact
    from probing.models.encoders.load import load_encoder
    from probing.models.knowledge.ask import load_live
    from probing.ui.facts.upload import ask_all

    live = load_live(load_encoder(save("bert", tmp_path / "fetched"), device="cpu"), "logit_lens", None)
    monkeypatch.setattr("probing.models.knowledge.ask.open_live", lambda *_, **__: live)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    app = ask("Paris is in [MASK].", live_model="roberta-base")
    assert not charts(app)
    next(button for button in app.button if "Hugging Face hub" in button.label).click().run()
    assert not app.exception and not app.warning and charts(app)
    prompt = "Paris is the capital of [MASK]."
    table = ask_all((Fact("own", "r", "s", "france", prompt, prompt),), live_models.choices()["roberta-base"], "logit_lens")
    assert table["note"][0] == "" and table["layer 0"][0] >= 1


def test_a_base_is_named_for_one_model_only(ask, headless):
    app = ask("Paris is in [MASK].", live_model="classifier", live_base="tiny")
    app.selectbox(key="ask.live_model").set_value("nesia-mini").run()
    assert "live_base" not in app.query_params
    app.selectbox(key="ask.live_model").set_value("classifier").run()
    assert app.selectbox(key="ask.live_base").value == "" and not charts(app)


def test_a_model_that_does_not_see_the_gap_that_is_read_is_named(ask, tmp_path, monkeypatch):
    save("roberta", tmp_path / "cache" / "models" / "roberta")
    # As with a mask in one model's own spelling.
    monkeypatch.setattr(live_models, "gaps", lambda choice, _: 2 if choice.name == "roberta" else 1)
    app = ask("[MASK] is the capital of [MASK].", live_models="roberta", mask="2")
    assert not app.exception and not app.warning and charts(app)
    assert any(note.value == "No gap 2 in this sentence for tiny." for note in app.info)


def test_own_facts_are_asked_of_a_model_without_a_head_once_its_base_is_named(own_facts, headless):
    fact = b'{"subject": "France", "relation": "capital", "object": "paris", "prompt": "The capital of France is [MASK]."}\n'
    app = own_facts("mine.jsonl", fact)
    app.selectbox(key="facts.live_model").set_value("classifier").run()
    assert app.button(key="own.ask").disabled and "--base" not in words(app)
    app.selectbox(key="facts.own_base").set_value("tiny").run()
    app.button(key="own.ask").click().run()
    assert not app.exception and not app.warning and "Of 1 fact asked" in words(app)
    app = own_facts("long.jsonl", fact.replace(b"The capital", b"The " * 100 + b"capital"))
    app.button(key="own.ask").click().run()
    assert "None of these facts could be asked" in words(app)
