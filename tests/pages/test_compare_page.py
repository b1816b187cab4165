"""The page Compare models on stores in which the fate of every fact, or its way back, is planted."""

import re

import pytest

from probing.core.forgetting.ways import AS_IN_BASE, GAINED, KEPT, LAYERS_BACK, MOVED, NOT_RECOVERED, OTHER_LAYER, WAYS
from probing.reports.forgetting.places import facts
from probing.reports.forgetting.runs import stored_runs
from probing.reports.runs import choose
from probing.store.knowledge.fact_queries import count_facts
from probing.store.opening import open_database
from tests import forgetting_planted as planted
from tests.fine_tuning_planted import plant_facts
from tests.pages.conftest import charts, numbers, opening, plain, visited
from tests.pages.every_tab import whole
from tests.planted_relatives import COLA, SST_2
from tests.shipped import SNAPSHOT
from tests.store.planted import PlantedRun, plant_runs

TUNED = "nesia-mini-qa-squad-1"


@pytest.fixture(scope="module")
def look(family, tmp_path_factory):
    return visited(family, tmp_path_factory.mktemp("visits"))


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """Opens the page on a store that has ways back, and no answers of single facts."""
    folder = planted.plant_forgetting(tmp_path_factory.mktemp("forgetting") / "runs")
    look = visited(folder, tmp_path_factory.mktemp("visits"))
    return lambda **query: look("compare", **query)


def sentence(app) -> str:
    return next(str(one.value) for one in app.main.markdown if " knew, " in str(one.value)).replace("\\", "")


def clickable(chart: dict) -> set[str]:
    return {point[0] for trace in chart["data"] for point in trace.get("customdata") or []}


@pytest.mark.parametrize("model", planted.MODELS, ids=lambda model: model.name)
def test_the_three_numbers_of_the_sentence_add_up_to_100_and_are_those_of_the_picture(lost, model):
    app = lost(tuned=model.name)
    assert not app.exception
    rows, known = planted.lost_facts(model), sum(planted.KNOWN.values())
    left = sum(one["way"] == NOT_RECOVERED for one in rows)
    parts = [int(one) for one in re.findall(r"(?<=keeps )\d+|(?<=; )\d+|\d+(?= do)", sentence(app))]
    assert sum(parts) == 100
    assert parts == pytest.approx([100 * n / known for n in (known - len(rows), len(rows) - left, left)], abs=1.5)
    flow = charts(app)[0]
    labels = {
        " ".join(text.split("</span> ")[1:]): int(re.search(r"<b>(\d+)", text)[1])
        for trace in flow["data"]
        for text in trace.get("text", [])
    }
    assert [labels["kept"], labels["come back"], labels["not back"]] == parts
    assert (
        labels["at another layer"] + labels["refitted head"] + labels["layers put back"] + labels["relearned"]
        == parts[1]
    )
    assert clickable(flow) == {KEPT, *WAYS, NOT_RECOVERED}
    hatched = [trace for trace in flow["data"] if trace.get("fillpattern")]
    passed = model.name in planted.TESTS and planted.TESTS[model.name][1] > 0
    assert (len(hatched) < len(WAYS)) == passed


def test_the_lost_facts_of_a_way_are_listed_with_the_story_of_one(lost):
    fact = next(one for one in planted.lost_facts(COLA) if one["way"] == LAYERS_BACK)
    app = lost(tuned=COLA.name, lost_way=LAYERS_BACK, lost_relation=fact["relation"], lost_fact=fact["fact_id"])
    text = plain(app)
    assert (
        "it is back with the last 1 of the base's layers" in text
        and "Subject 3" in text
        and "1 of 3 seeds after 15" in text
    )
    gone = next(one for one in planted.lost_facts(COLA) if one["way"] == NOT_RECOVERED)
    assert "comes back by no way without training" in plain(
        lost(tuned=COLA.name, lost_way="lost", lost_fact=gone["fact_id"])
    )
    inner = lost(tuned=COLA.name, lost_way=OTHER_LAYER)
    (table,) = [one.value for one in inner.dataframe if "margin" in one.value.columns]
    assert set(table["way"].str.split(",").str[0]) == {OTHER_LAYER}


def test_the_facts_of_a_way_back_are_listed_on_the_page_of_facts_until_its_chip_is_removed(tmp_path, monkeypatch):
    run = {"model": "nesia-mini-ner-conll", "head": "logit_lens", "probe_set": "trex"}
    with open_database(SNAPSHOT) as db:
        recovered = stored_runs(db, [run["model"]], [run["probe_set"]], [1])["run_id"].iloc[0]
        asked = facts(db, recovered, (AS_IN_BASE, MOVED))
        everything = count_facts(db, choose(db, *([one] for one in run.values()))["run_id"].iloc[0])
    app = opening(SNAPSHOT, tmp_path / "cache", monkeypatch)("facts", **run, way_back=OTHER_LAYER)
    assert not app.exception and 0 < len(asked) < everything and f"{len(asked):,} facts" in plain(app)
    (listed,) = [one.value for one in app.dataframe if "answer" in one.value.columns]
    assert set(zip(listed["subject"], listed["answer"], strict=True)) <= set(
        zip(asked["subject"], asked["object"], strict=True)
    )
    app.button(key="facts.way_back.chip").click().run()
    assert not app.exception and f"{everything:,} facts" in plain(app)


def test_without_ways_back_the_sentence_counts_what_was_planted_and_the_page_has_the_command(look):
    app = look("compare")
    assert not app.exception
    # The base knows the facts 0 to 5 at its last layer, the model 0 and 6.
    assert sentence(app) == "Of 6 facts that nesia-mini knew, QA-SQuAD-1 keeps 1 and loses 5; it gains 1."
    assert f"python -m probing forgetting recover --k 1 --model {TUNED}" in [one.value for one in app.code]
    assert clickable(charts(app)[0]) == {
        KEPT,
        "lost",
        GAINED,
        "still_inside",
        "moved",
        "suppressed",
        "displaced",
        "not_read",
    }
    links = {one.proto.label: one.proto.query_string.split("&") for one in app.get("page_link")}
    for part in (KEPT, "lost", GAINED):
        assert {f"model={TUNED}", "versus=nesia-mini", f"part={part}"} <= set(links[part])


def test_relations_are_sorted_by_the_share_that_was_lost(look):
    app = look("compare")
    slopes = charts(app)[1]
    open_dots, filled_dots = (
        next(trace for trace in slopes["data"] if trace.get("marker", {}).get("symbol") == one)
        for one in ("circle-open", "circle")
    )
    # Facts 0 to 3 are P19's, 4 to 6 P103's, 7 to 9 P36's: of 4 known, 3 are lost; of 2, 2; of 0, none.
    assert [one[0] for one in open_dots["customdata"]] == ["P103", "P19", "P36"]
    assert numbers(open_dots["x"]) == pytest.approx([200 / 3, 100, 0]) and numbers(filled_dots["x"]) == pytest.approx(
        [100 / 3, 25, 0]
    )
    assert [trace["text"] for trace in slopes["data"] if trace.get("mode") == "text"] == [["−100 %", "−75 %", ""]]


def test_layer_by_layer_has_the_planted_difference_and_early_exit(look):
    app = look("compare", compare_tab="layers")
    assert not app.exception
    difference = next(trace for trace in charts(app)[1]["data"] if trace.get("name") == "difference")
    assert numbers(difference["y"])[-1] == pytest.approx(-40)
    assert any("early_exit" in one.value.columns for one in app.dataframe)


def test_filters_that_keep_no_fact_say_so(look):
    app = look("compare", exposures="held out", in_subject="yes")
    assert not app.exception and any("No fact was asked of both" in note.value for note in app.info)


def test_an_empty_store_and_a_strange_link_say_what_to_do(lost, tmp_path, monkeypatch):
    app = opening(plant_runs(tmp_path / "base", [PlantedRun()]), tmp_path / "cache", monkeypatch)("compare")
    assert not app.exception and any("finetune" in one.value for one in app.main.get("code"))
    app = lost(tuned="<b>strange</b>", lost_relation="P0", lost_fact="0")
    assert not app.exception and any("Ignored" in one.value for one in app.main.info)
    two = opening(plant_facts(tmp_path / "facts"), tmp_path / "cache-2", monkeypatch)
    assert not whole(two, "compare", tuned=SST_2.name).exception


def test_a_way_counts_as_more_than_guesses_only_where_its_test_is_passed(lost):
    shown = {}
    for model in (COLA, SST_2):
        traces = charts(lost(tuned=model.name))[0]["data"]
        shown[model.name] = {trace["name"] for trace in traces if trace["type"] == "bar"}
    assert shown[COLA.name] != shown[SST_2.name] == {"may be good guesses"}
