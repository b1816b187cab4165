"""Own facts, asked of a tiny random model."""

import pytest

from tests.models.tiny_models import LAYERS, save
from tests.pages.conftest import words

pytestmark = pytest.mark.usefixtures("unfolded")


def test_own_facts_are_asked_of_the_tiny_model(tmp_path):
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
        b'{"subject": "France", "relation": "capital", "object": "Paris", "prompt": "The capital of France is'
        b' [MASK]."}\n{"subject": "Spain", "relation": "capital", "object": "Madrid", "prompt": "No gap"}\n{"subject":'
        b' "Peru", "relation": "capital", "object": "zzzqqq", "prompt": "The capital of Peru is [MASK]."}\n',
    )
    assert (
        "1 fact can be asked. 1 left out: not exactly one mask (Madrid). 1 left out: answers of several word"
        in words(app)
    )
    app.button(key="own.ask").click().run()
    assert not app.exception
    table = next(frame.value for frame in app.dataframe if "L0" in frame.value.columns)
    assert len(table) == 1 and table[f"L{LAYERS}"][0] >= 1
    assert "Of 1 fact" in words(app)
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


def test_own_facts_are_asked_of_a_model_without_a_head_once_its_base_is_named(own_facts, headless, monkeypatch):
    monkeypatch.setenv("PROBING_MODELS", str(headless))
    fact = (
        b'{"subject": "France", "relation": "capital", "object": "paris", "prompt": "The capital of France is'
        b' [MASK]."}\n'
    )
    app = own_facts("mine.jsonl", fact)
    app.selectbox(key="facts.live_model").set_value("classifier").run()
    assert app.button(key="own.ask").disabled and "--base" not in words(app)
    app.selectbox(key="facts.own_base").set_value("tiny").run()
    app.button(key="own.ask").click().run()
    assert not app.exception and not app.warning and "Of 1 fact" in words(app)
    app = own_facts("long.jsonl", fact.replace(b"The capital", b"The " * 100 + b"capital"))
    app.button(key="own.ask").click().run()
    assert "None of these facts could be asked" in words(app)
