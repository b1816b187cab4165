"""The page of lost facts on planted stores: full, one model, empty; and the story of a fact."""

import re

import pytest

from probing.core.forgetting.memory import MEMORY, NO_TEST, UNKNOWN, detectable
from probing.core.forgetting.memory import said as said_of
from probing.core.forgetting.ways import LAYERS_BACK, NOT_RECOVERED, OUTCOMES
from tests import forgetting_planted as planted
from tests.fine_tuning_planted import plant_facts
from tests.pages.conftest import opening, visited
from tests.pages.every_tab import whole
from tests.pages.planted_family import charts
from tests.pages.test_grammar_page import said
from tests.planted_relatives import COLA, CONTROL, SST_2

SECTIONS = ["Each way next to its yardsticks", "Where facts were lost, and come back", "The lost facts"]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    return planted.plant_forgetting(tmp_path_factory.mktemp("forgetting") / "runs")


@pytest.fixture(scope="module")
def look(everything, tmp_path_factory):
    return visited(everything, tmp_path_factory.mktemp("visits"))


def first_sentence(app) -> str:
    return next(str(one.value) for one in app.main.markdown if "Of 100 facts" in str(one.value)).replace("\\", "")


@pytest.mark.parametrize("model", planted.MODELS, ids=lambda model: model.name)
def test_the_first_sentence_has_the_parts_of_100_facts_and_the_test_of_memory_of_relearning(look, model):
    app = whole(look, "forgetting", lost_model=model.name)
    assert not app.exception
    lost, known = planted.lost_facts(model), sum(planted.KNOWN.values())
    left = sum(one["way"] == NOT_RECOVERED for one in lost)
    sentence = first_sentence(app)
    parts = [float(one) for one in re.findall(r"\*\*(\d+)\*\*", sentence)]
    assert parts == pytest.approx([100 * n / known for n in (known - len(lost), len(lost) - left, left)], abs=0.501)
    if model.name in planted.TESTS:
        difference, low, high = planted.TESTS[model.name]
        found = MEMORY if low > 0 else UNKNOWN
        assert said_of(found, difference, (low, high, low, high), detectable((high - low) / 4)) in sentence
    else:
        assert NO_TEST in sentence
    assert (planted.NOT_PUT_BACK in said(app)) == (model is planted.WHOLE_BASE)


def test_the_bars_are_of_all_models_with_the_control_last_and_end_at_100(look):
    app = look("forgetting", lost_model=COLA.name)
    assert [one.value for one in app.main.header] == SECTIONS
    (bars,) = charts(app)
    assert [name for trace in bars["data"][:1] for name, _ in trace["customdata"]] == [COLA.name, SST_2.name, CONTROL.name]
    assert [trace["name"] for trace in bars["data"]] == list(OUTCOMES)
    (stamp,) = [note for note in bars["layout"]["annotations"] if note.get("name") == "stamp"]
    assert "data" in stamp["text"]


def test_the_words_above_the_first_figure_are_few(look):
    words = first_sentence(look("forgetting"))
    assert len(words.split()) <= 120 and len(re.findall(r"[+-]?\d+(?:\.\d+)?", re.sub(r"\([^)]*\)", "", words))) <= 5


def test_a_fact_is_chosen_by_outcome_and_relation_and_has_its_story(look):
    fact = next(one for one in planted.lost_facts(COLA) if one["way"] == LAYERS_BACK)
    app = look("forgetting", lost_model=COLA.name, lost_way=LAYERS_BACK, lost_relation=fact["relation"], lost_fact=fact["fact_id"])
    text = said(app)
    assert "it is back with the last 1 of the base's layers" in text and "Subject 3" in text and "1 of 3 seeds after 15" in text
    gone = next(one for one in planted.lost_facts(COLA) if one["way"] == NOT_RECOVERED)
    assert "comes back by no way without training" in said(look("forgetting", lost_model=COLA.name, lost_fact=gone["fact_id"]))


def test_never_a_word_that_no_way_can_show(look):
    for model in planted.MODELS:
        text = said(whole(look, "forgetting", lost_model=model.name)).lower()
        assert not re.search(r"\b(erased|gone|deleted|still there|out of reach)\b", text)


def test_an_empty_store_and_a_strange_link_say_what_to_do(look, tmp_path, monkeypatch):
    app = opening(plant_facts(tmp_path / "facts"), tmp_path / "cache", monkeypatch)("forgetting")
    assert not app.exception and "python -m probing forgetting recover --model" in "\n".join(one.value for one in app.main.get("code"))
    app = whole(look, "forgetting", lost_model="<b>strange</b>", lost_relation="P0", lost_fact="0")
    assert not app.exception and any("Ignored" in one.value for one in app.main.info)


def test_a_known_model_whose_lost_facts_nobody_looked_for_comes_with_its_command(tmp_path, monkeypatch):
    results = planted.plant_forgetting(tmp_path / "runs", (COLA,))
    plant_facts(results / "facts")
    app = opening(results, tmp_path / "cache", monkeypatch)("forgetting", lost_model=SST_2.name)
    assert f"python -m probing forgetting recover --model {SST_2.name}" in [one.value for one in app.main.get("code")]
    assert not app.exception and not any("Ignored" in one.value for one in app.main.info)
