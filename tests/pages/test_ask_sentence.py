"""The tabs of whole sentences, minimal pairs and chosen words on the page Ask, with tiny models and planted probes."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from probing.changes.minimal_pairs import two_words
from probing.changes.passes import Attending, ask_attention, pair_scores
from probing.choices import NO_SPAN
from probing.kernel.models.arrays import FILE
from probing.kernel.models.load import load_encoder
from probing.live import page_gaps as pairs
from probing.live.page_models import _attention, _eager
from probing.sentences.ask import ask_sentence
from probing.sentences.probes import read_probes
from tests.edges.planted_probes import plant_probes
from tests.pages.conftest import charts, link, numbers, numbers_in, opening, words
from tests.pages.test_words_of_strangers import ATTACK, markup_of, walk
from tests.sentences.planted import plant, untrained_probes
from tests.tiny_models import HIDDEN, LAYERS, save

pytestmark = pytest.mark.usefixtures("unfolded")


TEXT = "paris is the capital of france and rome is the capital of italy ."


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache with a tiny model that has probes, and a model that was fine-tuned from it, without."""
    root = tmp_path_factory.mktemp("whole")
    tiny, tuned = save("bert", root / "models" / "tiny"), root / "models" / "tuned"
    shutil.copytree(tiny, tuned)
    model = AutoModelForMaskedLM.from_pretrained(tuned)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.bert.encoder.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(tuned)
    note = {"base": "tiny", "base_folder": str(tiny), "objective": "CoLA", "recipe": {}}
    (tuned / "finetuning.json").write_text(json.dumps(note))
    encoder = load_encoder(tiny, device="cpu")
    for probes in (
        untrained_probes(encoder),
        untrained_probes(encoder, "depth", ("one", "two", "three")),
        untrained_probes(encoder, "follows", pairs=True),
    ):
        plant(root, probes)
    return root


@pytest.fixture
def ask(planted_snapshots, cache, monkeypatch):
    """Opens the page with a sentence for the tiny model and the one that was fine-tuned from it."""

    def opened(text: str = TEXT, folder: Path = cache, **query):
        usual = {"ask_view": "sentence", "live_model": "tiny", "live_models": "tuned", "prompt": text}
        return opening(planted_snapshots["empty"], folder, monkeypatch)("ask", **usual | query)

    return opened


@pytest.fixture
def ask_pairs(ask, monkeypatch):
    """Opens the minimal pairs: three in words of the tiny model."""
    given = [two_words("Paris is in [MASK] .", "france", bad, "agreement") for bad in ("italy", "berlin", "moon")]
    monkeypatch.setattr(pairs, "read_minimal_pairs", lambda: given)
    return lambda prompt="", **query: ask(prompt, ask_view="pairs", **query)


def chart(app, part: str) -> dict:
    """The figure whose description has this."""
    found = [json.loads(one.proto.spec) for one in app.get("plotly_chart") if part in one.proto.alt]
    assert found, part
    return found[0]


def test_attention_and_verdicts_are_those_of_the_functions_that_measure_them(ask, cache):
    app = ask(attending="3", attention_head="2")
    assert not app.exception and not app.warning
    base, tuned = (load_encoder(cache / "models" / name, device="cpu") for name in ("tiny", "tuned"))
    found = ask_attention(TEXT, Attending(tuned), Attending(base))
    for name, one in (("tiny", found.before), ("tuned", found.own)):
        np.testing.assert_allclose(_z(chart(app, f"attends to in {name}")), one.maps[:, 1, 3].T, atol=1e-5)
    panels = [trace for trace in chart(app, "Entropy, distance")["data"] if trace["name"] != "equal attention"]
    by_panel = [[numbers(trace["y"]) for trace in panels if trace.get("xaxis", "x") == axis] for axis in ("x", "x2")]
    np.testing.assert_allclose(by_panel[0], [one.entropy[:, 1, 3] for one in (found.before, found.own)], atol=1e-5)
    np.testing.assert_allclose(by_panel[1], [found.distance[:, 1, 3]], atol=1e-5)
    last = found.before.maps[-1, 1, 3]
    sentence = next(text.value for text in app.markdown if "looks most at" in text.value)
    assert f"**{found.tokens[int(last.argmax())]}** ({last.max() * 100:.0f} %)" in sentence
    paths = sorted((cache / "sentences").glob(f"*/*/{FILE}"))
    said = {one.probes.task: one for one in ask_sentence(base, [read_probes(path) for path in paths], TEXT)}
    (table,) = [one.value for one in app.dataframe if "right in tests" in one.value]
    assert set(table["property"].str.lower()) == set(said) == {"order", "depth"}
    for row in table.to_dict("records"):
        one, at = (
            said[row["property"].lower()],
            (("first token", "mean of all tokens").index(row["read from"]), row["layer"]),
        )
        assert row["says"] == one.probes.labels[one.label[at]] and not row["no better than that"]


def _z(figure: dict) -> np.ndarray:
    z = figure["data"][0]["z"]
    if isinstance(z, dict):
        return np.array(numbers(z)).reshape([int(one) for one in z["shape"].split(",")])
    return np.array(z)


def test_a_pair_is_asked_of_the_probes_of_pairs_alone(ask):
    app = ask("paris is red", second="rome is blue")
    assert not app.exception and "Not applied to tiny, for they need a single sentence: Depth, Order" in words(app)
    (table,) = [one.value for one in app.dataframe if "right in tests" in one.value]
    assert list(table["property"]) == ["Follows"]


def test_swapped_words_show_what_the_probes_say_then(ask, cache):
    app = ask(swapped="2")
    assert not app.exception and "paris the is capital" in words(app)
    encoder = load_encoder(cache / "models" / "tiny", device="cpu")
    probes = [untrained_probes(encoder)]
    before, after = (ask_sentence(encoder, probes, text)[0] for text in (TEXT, TEXT.replace("is the", "the is", 1)))
    turn = int((before.label != after.label)[:, 1:].sum())
    (table,) = [one.value.set_index("property") for one in app.dataframe if "right in tests" in one.value]
    assert table.loc["Order", "probes that change"] == f"{turn} of {2 * LAYERS}"
    app.number_input(key="ask.swapped").set_value(0).run()
    assert not [one for one in app.dataframe if "probes that change" in one.value] and link(app, "swapped") is None


def test_the_same_word_twice_is_compared_in_both_models(ask):
    app = ask()
    names = {trace["name"] for trace in chart(app, "Self-similarity")["data"]}
    assert names == {f"{word} · {model}" for word in ("is", "the", "capital", "of") for model in ("tiny", "tuned")}
    assert "No word occurs twice" in words(ask("paris is red"))


def test_a_base_is_shown_with_the_model_that_was_fine_tuned_from_it_and_comes_first(ask):
    for model, other in (("tiny", "tuned"), ("tuned", "tiny")):
        app = ask(live_model=model, live_models="")
        assert app.multiselect(key="ask.live_models").value == [other]
        assert [one.value for one in app.markdown if one.value in ("**tiny**", "**tuned**")] == [
            "**tiny**",
            "**tuned**",
        ]
    alone = ask(live_models="-")
    assert not alone.exception and "**tuned**" not in [one.value for one in alone.markdown]


def test_the_link_keeps_sentence_models_token_and_head(ask):
    app = ask("rome is red")
    app.selectbox(key="ask.attending").set_value(2).run()
    app.selectbox(key="ask.attention_head").set_value(1).run()
    app.text_input(key="ask.second").set_value("paris is blue").run()
    assert [link(app, name) for name in ("ask_view", "live_model", "live_models", "prompt", "second")] == [
        "sentence",
        "tiny",
        "tuned",
        "rome is red",
        "paris is blue",
    ]
    # The token belongs to the sentence before.
    assert (link(app, "attending"), link(app, "attention_head")) == (None, "1")


@pytest.mark.parametrize(
    ("text", "says"),
    [("  ", "Type a sentence"), ("paris " * 600, "takes at most"), ("🙂 ☃", "unknown to the model"), ("... !?", "")],
    ids=["empty", "long", "unknown", "punctuation"],
)
def test_sentences_that_cannot_be_asked_are_reported(ask, text, says):
    app = ask(text, attending="40", swapped="99", attention_head="77")
    assert not app.exception and says in words(app).replace("\\", "")


def test_a_tuned_model_whose_base_is_gone_is_named(ask, cache, tmp_path):
    path = shutil.copytree(cache, tmp_path / "cache") / "models" / "tuned" / "finetuning.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"base": "gone", "base_folder": "/nowhere/gone"}))
    app = ask(folder=tmp_path / "cache", live_model="tuned", live_models="")
    assert not app.exception and "gone" in words(app) and "tuned" in words(app)


def test_damaged_probes_are_answered_in_words(ask, cache, tmp_path):
    for path in (shutil.copytree(cache, tmp_path / "cache") / "sentences").glob(f"*/order/{FILE}"):
        path.write_bytes(b"no probes")
    app = ask(folder=tmp_path / "cache")
    assert not app.exception and "train them again" in app.warning[0].value and len(app.get("plotly_chart")) >= 4


@pytest.mark.parametrize("view", ["sentence", "pairs"])
def test_markup_of_strangers_is_text(ask, ask_pairs, view):
    app = ask(
        f"{ATTACK} $x$ {ATTACK}",
        ask_view=view,
        second=ATTACK,
        unlikelier=ATTACK,
        minimal_pair="0",
    )
    assert not app.exception
    shown = [one for part in app._tree.children.values() for one in walk(part)]
    assert [(where, text) for where, text in shown if markup_of(text)] == []


def test_pairs_are_scored_at_every_layer_with_chance(ask_pairs, cache):
    app = ask_pairs(minimal_pair="1")
    assert not app.exception and not app.warning
    encoder = load_encoder(cache / "models" / "tiny", device="cpu")
    given = pairs.read_minimal_pairs()
    wanted = np.stack(pair_scores(given, encoder))
    right = (wanted[..., 0] > wanted[..., 1]).sum(0)
    drawn = {trace["name"]: numbers(trace["y"]) for trace in chart(app, "Number of minimal pairs right")["data"]}
    assert drawn["tiny"] == list(right) and set(drawn) == {"tiny", "tuned"}
    (sentence,) = [text.value for text in app.markdown if "pairs right" in text.value]
    assert numbers_in(sentence) == [right[-1], 3, 3]
    difference = {trace["name"]: numbers(trace["y"]) for trace in chart(app, "Difference of log")["data"]}
    np.testing.assert_allclose(difference["tiny"], wanted[0, :, 0] - wanted[0, :, 1], atol=1e-4)


@pytest.mark.parametrize(
    ("own", "says"),
    [
        (
            ("paris is in france", "paris is in italy"),
            "“paris is in france” against “paris is in italy”",
        ),
        (("paris is in ___", "france, italy"), "“paris is in france.” against “paris is in italy.”"),
        (("paris is red", "rome is blue"), "expected two sentences that differ in one place"),
        (("paris is ☃", "paris is red"), "is unknown to tiny"),
        (("paris is red", ""), "choose the word to ask for"),
    ],
)
def test_a_users_own_pair_is_scored_or_refused_in_words(ask_pairs, own, says):
    app = ask_pairs(minimal_pair="0", prompt=own[0], unlikelier=own[1])
    assert not app.exception and says in words(app).replace("\\", "")


def test_attention_of_many_sentences_is_kept_within_a_number_of_bytes(ask, monkeypatch, pauses):
    kept = _attention()
    kept.kept.clear()
    ask()
    assert len(pauses) == 2 + 2 * LAYERS and len(kept.kept) == 1
    (first,) = kept.kept.values()
    # As much memory as two of these sentences: of a third and fourth one, the oldest are dropped.
    monkeypatch.setattr(kept, "limit", 2 * first.nbytes)
    for text in (TEXT.replace("rome", "berlin"), TEXT.replace("rome", "italy"), TEXT):
        ask(text)
    assert len(kept.kept) == 2 and sum(one.nbytes for one in kept.kept.values()) <= kept.limit
    before = len(pauses)
    ask()
    assert len(pauses) == before, "what is kept is not computed again"


def test_models_are_loaded_once_and_copies_share_their_weights(ask, cache, tmp_path):
    from probing.live import page_live_models as live_models

    _eager().clear()
    live_models.model_cache().kept.clear()
    ask(folder=shutil.copytree(cache, tmp_path / "cache"))
    kept = list(live_models.model_cache().kept.values())
    assert [one.encoder.name for one in kept] == ["tiny", "tuned"] and len(_eager()) == 2
    for live in kept:
        own = {tensor.data_ptr() for tensor in live.encoder.body.parameters()}
        assert {tensor.data_ptr() for tensor in _eager()[live].encoder.body.parameters()} == own
    assert kept[0].encoder.hidden == HIDDEN


SPAN_TEXT = "Paris is the capital of Italy."
LISTS = ("ask.picker.list1", "ask.picker.list2")


@pytest.fixture(scope="module")
def span_cache(tmp_path_factory):
    """A cache with a tiny model that has probes, its copy under another name, and another model without probes."""
    root = tmp_path_factory.mktemp("spans")
    plant_probes(save("bert", root / "models" / "tiny"), root)
    shutil.copytree(root / "models" / "tiny", root / "models" / "twin")
    save("distilbert", root / "models" / "other")
    return root


@pytest.fixture
def ask_spans(planted_snapshots, span_cache, monkeypatch):
    """Opens the page with a sentence for the tiny model."""

    def asked(text: str = SPAN_TEXT, folder: Path = span_cache, **query):
        usual = {"ask_view": "spans", "live_model": "tiny", "prompt": text}
        return opening(planted_snapshots["empty"], folder, monkeypatch)("ask", **usual | query)

    return asked


def said(app) -> list[dict]:
    """The table with one row per task and model."""
    return next((one.value.to_dict("records") for one in app.dataframe if "looking words up (F1)" in one.value), [])


def test_two_spans_are_answered_by_every_task_at_every_layer(ask_spans):
    app = ask_spans(span1="0-1", span2="3-6")
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
    one = ask_spans(span1="3-6")
    assert len(said(one)) == 1 and "Part of speech, Semantic roles, Coreference, Proto\\-roles" in words(one)


def test_words_are_chosen_from_lists_and_the_link_keeps_them(ask_spans):
    app = ask_spans()
    assert app.pills(key=LISTS[0]).value == [5] and charts(app), "it opens on the first name"
    app.pills(key=LISTS[0]).set_value([]).run()
    assert any("Choose the first and the last word" in note.value for note in app.info) and not charts(app)
    app.pills(key=LISTS[0]).set_value([3, 5]).run()
    assert link(app, "span1") == "3-6" and app.pills(key=LISTS[0]).value == [3, 4, 5]
    app.pills(key=LISTS[1]).set_value([0]).run()
    assert (link(app, "span1"), link(app, "span2")) == ("3-6", "0-1") and charts(app)
    app.pills(key=LISTS[0]).set_value([]).run()
    assert link(app, "span1") == "0-1" and link(app, "span2") == NO_SPAN
    assert not app.exception


def test_another_sentence_forgets_the_spans_of_the_one_before(ask_spans):
    app = ask_spans(span1="0-1", span2="5-6")
    app.text_input(key="ask.prompt").set_value("Rome is a city").run()
    assert not app.warning and not link(app, "span1") and not link(app, "span2")


def test_an_example_has_the_papers_spans_and_can_lose_its_second_span(visit):
    app = visit("ask", "empty", {"ask_view": "spans", "live_model": "nesia-mini", "live_models": "-"})
    next(button for button in app.button if button.key == "ask.figure3.0").click().run()
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
def test_a_span_of_a_link_that_is_not_in_the_sentence_is_ignored_with_a_message(ask_spans, spans, says):
    app = ask_spans(**spans)
    assert not app.exception and says in app.warning[0].value.replace("\\", "")


def test_several_models_answer_side_by_side_and_one_without_probes_is_left_out(ask_spans):
    app = ask_spans(live_models=["twin", "other"], span1="0-1", span2="5-6")
    assert not app.exception and len(charts(app)) == 2 and {row["model"] for row in said(app)} == {"tiny", "twin"}
    assert any("other" in note.value for note in app.info)
