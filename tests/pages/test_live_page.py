"""The live page on a tiny random model: every layer answers, and every mistake gets a helpful answer."""

import json

import pytest

from tests.models.tiny_models import LAYERS, save
from tests.pages.conftest import words


@pytest.fixture
def ask(visit, tmp_path):
    """Opens the live page with a prompt for the tiny model."""
    save("bert", tmp_path / "cache" / "models" / "tiny")

    def asked(prompt: str, **query: str):
        return visit("live", "empty", {"live_model": "tiny", "live_head": "lens", "prompt": prompt, **query})

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
    assert f"{LAYERS + 1} layers at once" in " ".join(badge.value for badge in app.markdown)
    assert "cpu" in words(app) or "cuda" in words(app)


def test_probability_takes_the_place_of_rank_and_stays_in_the_link(ask):
    app = ask("Paris is the capital of [MASK].", watch="france")
    app.segmented_control(key="live.scale").set_value("probability").run()
    assert charts(app)[1]["layout"]["yaxis"]["title"]["text"].startswith("probability")
    assert app.query_params["scale"] in ("probability", ["probability"])


def test_several_gaps_are_read_one_by_one_or_filled(ask):
    app = ask("[MASK] is the capital of [MASK].", mask="2")
    assert not app.exception and "Gap" not in "".join(tab.label for tab in app.tabs)
    filled = ask("[MASK] is the capital of [MASK].", mask="0")
    assert not filled.exception
    assert [tab.label for tab in filled.tabs] == ["Gap 1", "Gap 2"]
    assert "MASK" not in filled.success[0].value


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("There is no gap here.", r"has no \[MASK\]"),
        ("   ", "empty"),
        ("paris " * 600 + "[MASK]", "word pieces"),
    ],
)
def test_a_prompt_that_cannot_be_asked_gets_a_helpful_answer(ask, prompt, expected):
    app = ask(prompt)
    assert not app.exception
    assert expected in app.warning[0].value


@pytest.mark.parametrize(
    "prompt", ["I 🙂 live in [MASK] 🇫🇷.", "<script>alert(1)</script> **[MASK]** $x$ :red[y]", "[MASK]", "Zoë’s\n\n# [MASK]"]
)
def test_emoji_and_markup_are_asked_as_they_stand(ask, prompt):
    app = ask(prompt)
    assert not app.exception and not app.warning
    assert charts(app)
    assert "<script>" not in "".join(text.value for kind in ("markdown", "caption", "success") for text in getattr(app, kind))


def test_words_that_are_several_tokens_are_named_and_the_rest_followed(ask):
    app = ask("Paris is in [MASK].", watch="france, zyxwv, <b>")
    assert not app.exception
    assert "not followed: zyxwv, \\<b\\>" in words(app)
    assert [trace["name"] for trace in charts(app)[1]["data"]] == ["france"]


def test_an_example_is_one_click(ask):
    app = ask("There is no gap here.")
    app.pills(key="live.examples").set_value("A robin is not a [MASK].").run()
    assert not app.exception
    assert app.query_params["prompt"] in ("A robin is not a [MASK].", ["A robin is not a [MASK]."])


def test_missing_heads_are_named_and_the_lens_is_offered(ask):
    app = ask("Paris is in [MASK].", live_head="tied")
    assert not app.exception and "train\\-heads" in app.warning[0].value
    next(button for button in app.button if "lens" in button.label).click().run()
    assert charts(app)


def test_a_link_cannot_make_the_page_load_a_folder_of_its_choice(ask, tmp_path):
    save("bert", tmp_path / "elsewhere")
    app = ask("Paris is in [MASK].", live_model=str(tmp_path / "elsewhere"))
    assert not app.exception
    assert app.selectbox(key="live.live_model").value != str(tmp_path / "elsewhere")


def test_a_configured_folder_is_offered(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_MODELS", str(save("distilbert", tmp_path / "mine")))
    app = ask("Paris is in [MASK].", live_model="mine")
    assert not app.exception and charts(app)
    assert app.selectbox(key="live.live_model").value == "mine"


def test_own_facts_are_asked_of_the_tiny_model(ask, tmp_path):
    from probing.core.own_facts import parse_own_facts
    from probing.ui.own_upload import SAMPLE, ask_all

    facts = parse_own_facts(SAMPLE.replace("Berlin", "berlin"), "sample.csv").facts
    assert len(facts) == 3
    table = ask_all(facts, str(save("bert", tmp_path / "own")), "lens")
    assert list(table.columns[4:-1]) == [f"layer {n}" for n in range(LAYERS + 1)]
    assert table.loc[0, "layer 0"] >= 1 and table.loc[0, "note"] == ""
    assert table.loc[1, "note"] and table["layer 1"].isna()[1]


@pytest.fixture
def own_facts(visit, tmp_path):
    """The facts page with a tiny model to ask and a way to upload."""
    save("bert", tmp_path / "cache" / "models" / "tiny")
    app = visit("facts")
    app.selectbox(key="own.model").set_value("tiny")
    app.selectbox(key="own.head").set_value("lens")

    def uploaded(name: str, content: bytes):
        app.file_uploader(key="own.file").set_value((name, content, "text/plain"))
        return app.run()

    return uploaded


def test_uploaded_facts_are_counted_asked_and_offered_for_download(own_facts):
    app = own_facts(
        "mine.jsonl",
        b'{"subject": "France", "relation": "capital", "object": "Paris", "prompt": "The capital of France is [MASK]."}\n'
        b'{"subject": "Spain", "relation": "capital", "object": "Madrid", "prompt": "No gap"}\n',
    )
    assert "2 facts read, 1 can be asked; left out: 1 not exactly one mask." in words(app)
    app.button(key="own.ask").click().run()
    assert not app.exception
    table = next(frame.value for frame in app.dataframe if "layer 0" in frame.value.columns)
    assert len(table) == 1 and table[f"layer {LAYERS}"][0] >= 1
    assert any(button.key == "own-facts.csv" for button in app.get("download_button"))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("mine.csv", b"subject,object\na,b\n", "columns"),
        ("mine.jsonl", b"{broken", "line 1"),
        ("mine.csv", b"\xff\xfe\x00", "UTF"),
        ("mine.csv", b"", "no facts"),
    ],
)
def test_an_upload_that_is_no_file_of_facts_is_named(own_facts, name, content, expected):
    app = own_facts(name, content)
    assert not app.exception
    assert expected in app.warning[0].value
