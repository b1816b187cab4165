"""Runs of which only counts are stored: every page says so where it would show facts, and shows what counts can say."""

import pytest

from probing.store.parquet import write_table
from tests.pages.conftest import words
from tests.pages.every_tab import whole
from tests.pages.planted_family import charts
from tests.store.planted_heads import BASE, CONTROL, KNOWN, TUNED, plant_heads

COMMAND = f"python -m probing probe --model {TUNED} --head least_squares --facts trex"
SAID = "Only counts are stored for this run"


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    return plant_heads(tmp_path_factory.mktemp("counted") / "runs", ((TUNED, "least_squares"),))


@pytest.fixture(scope="module")
def all_counted(tmp_path_factory):
    """All fine-tuned models as counts through one kind of head; how far one's weights moved is stored."""
    folder = plant_heads(tmp_path_factory.mktemp("all-counted") / "runs", ((TUNED, "least_squares"), (CONTROL, "least_squares")))
    drift = [{"model": TUNED, "base": BASE, "layer": layer, "drift": 0.1, "parameters": 10} for layer in range(4)]
    write_table("weight_drift", drift, folder / f"weight_drift-{TUNED}.parquet")
    return folder


def commands(app) -> list[str]:
    return [one.value for one in app.code]


@pytest.mark.parametrize("page", ["home", "layers", "papers", "fine_tuning", "methods"])
def test_a_page_that_reads_runs_opens_on_a_counted_run(look, counted, page):
    """The others are below."""
    query = {"models": TUNED, "heads": "least_squares"} if page == "home" else {"model": TUNED, "head": "least_squares"}
    assert not whole(look, page, snapshot=counted, **query).exception


def test_facts_of_a_counted_run_are_not_listed_but_the_command_that_stores_them_is(look, counted):
    app = look("facts", counted, model=TUNED, head="least_squares")
    assert SAID in words(app) and COMMAND in commands(app)
    assert "No fact passes" not in words(app)


def test_one_fact_of_a_counted_run_shows_the_other_runs_and_is_not_called_unasked(look, counted):
    from tests.store.planted_heads import FACTS

    app = look("facts", counted, model=TUNED, head="least_squares", fact=FACTS[0].fact_id)
    assert not app.exception and SAID in words(app)
    assert "was not probed for this fact" not in words(app)
    assert any("fact-ranks" in str(one.proto.id) for one in app.get("plotly_chart"))


def test_facts_against_a_counted_run_name_it_and_the_command(look, counted):
    app = look("facts", counted, model=BASE, head="least_squares", versus=TUNED, part="lost")
    assert not app.exception and SAID in words(app) and COMMAND in commands(app)
    menu = next(one for one in app.selectbox if one.key == "facts.versus")
    assert not any("QA-SQuAD-2" in option for option in menu.options)


def test_compare_shows_a_counted_pairs_curves_and_losses_and_says_what_is_missing(look, counted):
    app = look("compare", counted, tuned=TUNED, versus_model=BASE, head="least_squares")
    text = words(app).replace("\\", "").replace("**", "")
    assert not app.exception and SAID in text and COMMAND in commands(app)
    lost = (KNOWN[BASE, "least_squares"] - KNOWN[TUNED, "least_squares"]) / 120 * 100
    assert f"a loss of {lost:.1f} points" in text and "Minus the swapped subject the loss is 16.7 points" in text
    assert "No fact was asked of both" not in text and "McNemar" not in text
    curves = {trace["name"] for trace in charts(app)[0]["data"] if trace.get("mode") == "lines+markers"}
    assert len(curves) == 2


def test_the_facts_behind_a_point_of_a_counted_run_are_not_counted_as_none(look, counted):
    app = look("layers", counted, models=TUNED, heads="least_squares")
    assert not app.exception and SAID in words(app) and COMMAND in commands(app)
    assert "facts have rank" not in words(app)


def test_the_drift_of_counted_runs_is_drawn_and_the_missing_loss_is_explained(look, all_counted):
    app = look("compare", all_counted, tuned=TUNED, versus_model=BASE, head="least_squares")
    drawn = [str(one.proto.id) for one in app.get("plotly_chart")]
    assert any("weight-drift" in one for one in drawn) and not any("drift-loss" in one for one in drawn)
    assert "drift cannot be drawn against" in words(app)


def test_where_answers_are_stored_drift_is_drawn_against_loss(look, all_counted):
    app = look("compare", all_counted, tuned=TUNED, versus_model=BASE, head="tied", compare_tab="models")
    assert any("drift-loss" in str(one.proto.id) for one in app.get("plotly_chart"))
    assert "drift cannot be drawn against" not in words(app)
