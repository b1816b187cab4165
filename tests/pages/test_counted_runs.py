"""Runs of which only counts are stored: every page says so where it would show facts, and shows what counts can say."""

import pytest

from tests.pages.conftest import charts, words
from tests.pages.every_tab import whole
from tests.store.planted_heads import BASE, KNOWN, TUNED, plant_heads

COMMAND = f"python -m probing probe --model {TUNED} --head least_squares --facts trex"
SAID = "Only counts are stored for this run"


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    return plant_heads(tmp_path_factory.mktemp("counted") / "runs", ((TUNED, "least_squares"),))


def commands(app) -> list[str]:
    return [one.value for one in app.code]


@pytest.mark.parametrize("page", ["home", "layers", "papers", "methods"])
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
    assert "was not asked this fact" not in words(app)
    assert any("fact-ranks" in str(one.proto.id) for one in app.get("plotly_chart"))


def test_facts_against_a_counted_run_name_it_and_the_command(look, counted):
    app = look("facts", counted, model=BASE, head="least_squares", versus=TUNED, part="lost")
    assert not app.exception and SAID in words(app) and COMMAND in commands(app)
    menu = next(one for one in app.selectbox if one.key == "facts.versus")
    assert not any("QA-SQuAD-2" in option for option in menu.options)


def test_compare_shows_a_counted_pairs_net_losses_and_says_what_is_missing(look, counted):
    app = look("compare", counted, tuned=TUNED, versus_model=BASE, head="least_squares")
    text = words(app).replace("\\", "")
    assert not app.exception and SAID in text and COMMAND in commands(app)
    left = 100 * KNOWN[TUNED, "least_squares"] / KNOWN[BASE, "least_squares"]
    assert f"knows {left:.0f}." in text
    curves, slopes = charts(app)
    assert len({trace["name"] for trace in curves["data"] if trace.get("mode") == "lines+markers"}) == 2
    assert all("click" not in text for trace in slopes["data"] for text in trace.get("hovertext", [])), (
        "no list of facts is stored"
    )


def test_the_facts_behind_a_point_of_a_counted_run_are_not_counted_as_none(look, counted):
    app = look("layers", counted, models=TUNED, heads="least_squares")
    app.session_state["layers.point"] = True
    app.run()
    assert not app.exception and SAID in words(app) and COMMAND in commands(app)
    assert "facts have rank" not in words(app)
