"""The tab of chosen words on the page Ask, with a tiny model and planted probes; lists replace the component."""

import shutil
from pathlib import Path

import pytest

from probing.models.edges.files import FILE
from probing.ui.choices.ask import NO_SPAN, SPAN_EXAMPLES
from tests.models.edges.planted_probes import plant_probes
from tests.models.tiny_models import LAYERS, save
from tests.pages.conftest import charts, link, opening, words

TEXT = "Paris is the capital of Italy."
LISTS = ("ask.picker.list1", "ask.picker.list2")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache with a tiny model that has probes, its copy under another name, and another model without probes."""
    root = tmp_path_factory.mktemp("spans")
    plant_probes(save("bert", root / "models" / "tiny"), root)
    shutil.copytree(root / "models" / "tiny", root / "models" / "twin")
    save("distilbert", root / "models" / "other")
    return root


@pytest.fixture
def ask(planted_snapshots, cache, monkeypatch):
    """Opens the page with a sentence for the tiny model."""

    def asked(text: str = TEXT, folder: Path = cache, **query):
        usual = {"ask_view": "spans", "live_model": "tiny", "words": text}
        return opening(planted_snapshots["empty"], folder, monkeypatch)("ask", **usual | query)

    return asked


def said(app) -> list[dict]:
    """The table with one row per task and model."""
    return next((one.value.to_dict("records") for one in app.dataframe if "looking words up (F1)" in one.value), [])


def test_two_spans_are_answered_by_every_task_at_every_layer(ask):
    app = ask(span1="0-1", span2="3-6")
    assert not app.exception and not app.warning
    assert list(dict.fromkeys(row["task"] for row in said(app))) == [
        "Part of speech",
        "Entities",
        "Semantic roles",
        "Coreference",
    ]
    assert "Paris (predicate) / capital of Italy (argument)" in [row["words"] for row in said(app)]
    assert "need another number of words or spans: Proto\\-roles" in words(app)
    (figure,) = charts(app)
    assert len(figure["data"]) == 3 * 4 + 2 and {len(trace["customdata"]) for trace in figure["data"]} == {LAYERS + 1}
    one = ask(span1="3-6")
    assert len(said(one)) == 1 and "Part of speech, Semantic roles, Coreference, Proto\\-roles" in words(one)


def test_words_are_chosen_from_lists_and_the_link_keeps_them(ask):
    app = ask()
    assert any("Choose the first and the last word" in note.value for note in app.info) and not charts(app)
    assert [pills.key for pills in app.pills if pills.key in LISTS] == [LISTS[0]]
    app.pills(key=LISTS[0]).set_value([3, 5]).run()
    assert link(app, "span1") == "3-6" and app.pills(key=LISTS[0]).value == [3, 4, 5]
    app.pills(key=LISTS[1]).set_value([0]).run()
    assert (link(app, "span1"), link(app, "span2")) == ("3-6", "0-1") and charts(app)
    app.pills(key=LISTS[0]).set_value([]).run()
    assert link(app, "span1") == "0-1" and link(app, "span2") == NO_SPAN
    assert not app.exception


def test_equal_words_are_distinguished(ask):
    app = ask("the city of the sun")
    app.pills(key=LISTS[0]).set_value([3]).run()
    assert link(app, "span1") == "3-4" and not app.exception


def test_another_sentence_forgets_the_spans_of_the_one_before(ask):
    app = ask(span1="0-1", span2="5-6")
    app.text_input(key="ask.words").set_value("Rome is a city").run()
    assert not charts(app) and not app.warning and not link(app, "span1")


def test_the_papers_sentences_bring_their_spans(ask):
    app = ask()
    for number, (text, spans) in enumerate(SPAN_EXAMPLES.items()):
        app.button(key=f"ask.figure3.{number}").click().run()
        assert not app.exception and app.text_input(key="ask.words").value == text and len(charts(app)) == 1
        assert [len(app.pills(key=key).value) for key in LISTS] == [int(one[2]) - int(one[0]) for one in spans]


def test_a_first_visit_asks_the_papers_first_sentence_and_an_example_can_lose_its_second_span(visit):
    app = visit("ask", "empty", {"ask_view": "spans", "live_model": "nesia-mini", "live_models": "-"})
    assert "smoked (predicate) / toronto (argument)" in [row["words"] for row in said(app)]
    app.pills(key=LISTS[1]).set_value([]).run()
    assert link(app, "span2") == NO_SPAN and {row["words"] for row in said(app)} == {"smoked"}


@pytest.mark.parametrize(
    ("spans", "says"),
    [
        ({"span1": "5-9"}, "got span1 5:9 in a sentence of 7 words"),
        ({"span1": "0-1", "span2": "<b>"}, "got span2 '<b>'; expected two numbers"),
    ],
)
def test_a_span_of_a_link_that_is_not_in_the_sentence_is_ignored_with_a_message(ask, spans, says):
    app = ask(**spans)
    assert not app.exception and says in app.warning[0].value.replace("\\", "")


def test_several_models_answer_side_by_side_and_one_without_probes_is_left_out(ask):
    app = ask(live_models=["twin", "other"], span1="0-1", span2="5-6")
    assert not app.exception and len(charts(app)) == 2 and {row["model"] for row in said(app)} == {"tiny", "twin"}
    assert any("other" in note.value for note in app.info)


def test_damaged_probes_are_answered_in_words(ask, cache, tmp_path):
    for path in (shutil.copytree(cache, tmp_path / "cache") / "edges").glob(f"*/pos/{FILE}"):
        path.write_bytes(b"no probes")
    app = ask(folder=tmp_path / "cache", span1="0-1")
    assert not app.exception and "train them again" in app.warning[0].value


def test_markup_of_strangers_is_text(ask):
    app = ask("<script>alert(1)</script> **Rome** $x$ :red[y] 🙂 Zoë’s\n\n# city", span1="0-2", span2="2-3")
    assert not app.exception and charts(app)
    assert "<script>" not in "".join(text.value for kind in ("markdown", "caption") for text in getattr(app, kind))
