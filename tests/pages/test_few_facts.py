"""A majority answer of few facts is no baseline: pages show it from 50 facts on, and the report gives its number for
any.
"""

import json
import re

import pytest

from probing.core.facts.fact import Fact
from tests.pages.conftest import opening, visited, words
from tests.pages.every_tab import whole
from tests.store.planted import PlantedRun, plant_runs

pytestmark = pytest.mark.usefixtures("unfolded", "popped")

PAGES = ("layers", "compare", "facts", "ask")


def facts(n: int) -> tuple[Fact, ...]:
    """Facts of one relation, two thirds of which have the same answer."""
    answers = ("water", "water", "music")
    return tuple(
        Fact("support", "sells", f"Shop {number}", answers[number % 3], "", f"Shop {number} sells [MASK].")
        for number in range(n)
    )


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    """Number of facts -> a store with a base and a model that was fine-tuned from it."""
    made = {}
    for n in (49, 50):
        own = {
            "probe_set": "support",
            "facts": facts(n),
            "rank": lambda number, layer: 1 if (number + layer) % 2 else 7,
        }
        runs = [
            PlantedRun(**own),
            PlantedRun(head="logit_lens", **own),
            PlantedRun(model="support-bert", base="nesia-mini", **own),
        ]
        made[n] = plant_runs(tmp_path_factory.mktemp(f"facts-{n}"), runs)
    return made


@pytest.fixture(scope="module")
def look(snapshots, tmp_path_factory):
    visit = visited(snapshots[49], tmp_path_factory.mktemp("visits"))
    asked = {"ask": {"prompt": "Shop 1 sells [MASK].", "live_model": "nesia-mini"}}
    return lambda page, n: whole(visit, page, snapshot=snapshots[n], **asked.get(page, {}))


def shown(app) -> list[str]:
    """The commonest answer of a page: lines and marks of its figures, and what says which it is."""
    charts = (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
    drawn = [
        trace["name"]
        for chart in charts
        for trace in chart["data"]
        if str(trace.get("name", "")).startswith("commonest answer")
    ]
    return drawn + re.findall("commonest answer of .* is water", words(app))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_majority_answer_of_fifty_facts_and_not_of_fewer(look, page):
    enough, too_few = look(page, 50), look(page, 49)
    assert not enough.exception and not too_few.exception
    assert shown(enough), "the test can see what it looks for"
    assert shown(too_few) == []


def test_minus_majority_is_refused_with_what_to_do(snapshots, tmp_path, monkeypatch):
    app = opening(snapshots[49], tmp_path / "cache", monkeypatch)("layers", minus="majority")
    assert not app.exception
    assert any("at least 50 facts" in note.value for note in app.info)


def test_the_report_gives_the_number_for_any_number_of_facts(snapshots, tmp_path, monkeypatch, run):
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshots[49]))
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    rows = json.loads(run("report", "precision", "--model", "nesia-mini", "--json").output)
    assert {row["majority"] for row in rows if row["k"] == 1 and row["average"] == "micro"} == {33 / 49}
