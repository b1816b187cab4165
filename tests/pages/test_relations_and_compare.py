"""The pages Relations and Compare models on a store in which the fate of every fact is planted."""

import math
import re

import pytest
from scipy.stats import binomtest

from probing.core.facts.fact import Fact
from probing.core.knowledge.transitions import outcome_words
from tests.pages.conftest import line_with, numbers_in, plain, visited, words
from tests.pages.every_tab import whole
from tests.pages.planted_family import FAMILY, base_rank, charts, tuned_rank
from tests.store.planted import TOKENS, PlantedRun, plant_runs

pytestmark = pytest.mark.usefixtures("unfolded")

#: What the sentence on the size of a set of one's own has, before the ends of the interval.
SIZE = "95 % interval from"
COUNTS = {"kept": 1, "lost": 5, "gained": 1, "never": 3, "still_inside": 1, "moved": 1, "suppressed": 1, "displaced": 1, "not_read": 1}


@pytest.fixture(scope="module")
def look(family, tmp_path_factory):
    """Opens a page on the planted family."""
    return visited(family, tmp_path_factory.mktemp("visits"))


def links(app) -> dict[str, str]:
    return {one.proto.label: one.proto.query_string for one in app.get("page_link")}


def stamps(app) -> list[str]:
    notes = [note for chart in charts(app) for note in chart["layout"].get("annotations", []) if note.get("name") == "stamp"]
    return [note["text"].replace("<br>", " ") for note in notes]


def table_with(app, *columns: str):
    return next(table.value for table in app.dataframe if set(columns) <= set(table.value.columns))


def test_the_relations_page_maps_every_relation_and_layer(look):
    app = look("relations", model="nesia-mini")
    assert not app.exception
    points = table_with(app, "relation", "layer", "value", "majority")
    assert len(points) == 3 * 4
    shares = points[points["layer"] == 3].set_index("relation")["value"]
    # Facts 0 to 3 are P19's, 4 to 6 P103's, 7 to 9 P36's; the base knows 0 to 5.
    assert dict(shares) == pytest.approx({"P19": 1.0, "P103": 2 / 3, "P36": 0.0})
    # Both known relations have their onset at layer 2: neither is half known at the middle layer, 1, nor unknown until the last.
    assert "knows facts in **2** of 3 relations. Of these, **0 come early**: the middle layer, 1," in words(app)
    assert "**None comes late**" in words(app)


def test_a_relation_known_better_inside_is_forgotten_and_its_facts_are_one_link_away(look):
    app = look("relations", model="nesia-mini-qa-squad-1", k="10")
    assert not app.exception
    # Rank <= 10 of P19's four facts: none at layer 1; facts 0 and 1 at layer 2; fact 0 at layer 3.
    table = table_with(app, "best_inner", "caption", "doubling").set_index("relation")
    assert table.loc["P19", ["best_inner", "best_layer", "last", "drop"]].tolist() == pytest.approx([0.5, 2, 0.25, 0.25])
    assert dict(table["caption"]) == {"P19": True, "P103": False, "P36": False}
    of_models = table_with(app, "P@1", "P@10", "n P@100").set_index("model")
    assert list(of_models.index) == ["nesia-mini", "QA-SQuAD-1 ?", "control"]
    assert of_models["n P@10"].tolist() == [0, 1, 0]
    assert of_models.loc["QA-SQuAD-1 ?", "P@10"] == pytest.approx(1 / 3)
    assert {"relation=P19", "at_layer=2", "at_rank=10"} <= set(links(app)["place of birth"].split("&"))
    # Of two facts out of four no interval leaves out what a guess gives; at rank <= 10 the guess is the swapped subject.
    said = words(app).replace("\\", "")
    assert "In **none** of them, the best inner layer is above what it gives for a swapped subject by its 95 % interval" in said


def test_forgotten_relations_are_held_against_the_majority_answer_at_their_best_inner_layer(tmp_path, look):
    # All are half known at the end. Inside, two are known whole, of which one has one answer; of the third, with two answers, 38 of 60
    # facts: Wilson's interval, 50.7 to 74.4 %, is above 50 %, but not if it allows for the choice among two layers.
    facts = [
        Fact("trex", relation, f"subject {number}", TOKENS[-1 - number % answers], "", f"{number} is [MASK]")
        for relation, answers in (("P19", 4), ("P36", 1), ("P103", 2))
        for number in range(60)
    ]
    run = PlantedRun(
        facts=tuple(facts), rank=lambda number, layer: 1 if (layer == 2 and number < 158) or (layer == 3 and number % 2) else 200
    )
    app = look("relations", snapshot=plant_runs(tmp_path / "inner", [run]), model=run.model)
    assert not app.exception
    said = words(app).replace("\\", "")
    assert "**3 relations** of 3 are **better at an inner layer" in said and "2 by a corrected paired test" in said
    assert (
        "In **1** of them, the best inner layer is above the majority answer by its 95 % interval, corrected for the choice among 2 layers."
        in said
    )


def test_what_is_better_inside_has_the_loss_against_the_base_next_to_it(look):
    app = look("relations", model="nesia-mini-qa-squad-1", k="1")
    table = table_with(app, "best_inner", "base_last", "change").set_index("relation")
    # The base knows the facts 0 to 5 at its last layer, the model 0 and 6; 0 to 3 are P19's, 4 to 6 P103's, 7 to 9 P36's.
    assert dict(table["base_last"]) == pytest.approx({"P19": 1, "P103": 2 / 3, "P36": 0})
    assert dict(table["change"]) == pytest.approx({"P19": -3 / 4, "P103": -1 / 3, "P36": 0})
    line = line_with(app, "Against nesia-mini", "micro")
    assert numbers_in(line.replace("−", "-"))[:4] == [2, 3, 1, -40], "relations with fewer facts, relations, k, points lost"
    first = next(one.value for one in app.main.markdown if "Against nesia" in one.value)
    assert "early" in first and numbers_in(first.split("knows fewer")[1]) == [2, 3], "the first sentence of the page says it, too"
    of_models = table_with(app, "P@1", "lost").set_index("model")["lost"]
    assert of_models["QA-SQuAD-1 ?"] == pytest.approx(0.4) and of_models["control"] == 0 and math.isnan(of_models["nesia-mini"])
    alone = look("relations", model="nesia-mini", k="1")
    assert "base_last" not in table_with(alone, "best_inner", "caption") and "Against nesia-mini" not in plain(alone)


@pytest.mark.parametrize("page", ["home", "layers", "relations", "compare", "heads"])
@pytest.mark.parametrize("average", ["macro", "micro"])
def test_a_headline_says_whether_it_is_macro_or_micro(look, page, average):
    app = whole(look, page, **({"average": average} if page != "compare" else {}))
    texts = plain(app).split("\n")
    shares = [text for text in texts if re.search(r"(knows|gives the right word for|right word for) [\d.]+ %", text)]
    said = average if page != "compare" else "micro"
    assert shares and all(said in text for text in shares)


def test_a_set_of_ones_own_says_the_width_of_its_interval_before_any_curve(tmp_path, look):
    def facts(n: int, probe_set: str) -> tuple[Fact, ...]:
        return tuple(Fact(probe_set, "sells", f"Shop {n}", TOKENS[-1 - n % 3], "", f"Shop {n} sells [MASK].") for n in range(n))

    def snapshot(n: int, probe_set: str):
        own = {"probe_set": probe_set, "facts": facts(n, probe_set)}
        runs = [PlantedRun(**own), PlantedRun(model="tuned", base="nesia-mini", objective="QA-SQuAD-1", **own)]
        return plant_runs(tmp_path / f"{probe_set}-{n}", runs)

    small, large = snapshot(60, "shop"), snapshot(1000, "shop")
    low, high = binomtest(30, 60).proportion_ci(method="wilson")
    for page in ("layers", "relations", "compare", "heads"):
        app = look(page, snapshot=small, model="tuned", probe_set="shop")
        assert not app.exception
        kinds = [(one.type, str(getattr(one, "value", ""))) for one in app.main]
        said = next(place for place, (_, text) in enumerate(kinds) if SIZE in text)
        assert said < next(place for place, (kind, _) in enumerate(kinds) if kind == "plotly_chart"), page
        assert numbers_in(line_with(app, SIZE))[:5] == [60, 50, 95, round(100 * low), round(100 * high)]
    assert SIZE not in plain(look("relations", snapshot=large, model="tuned", probe_set="shop"))


def test_the_table_says_of_which_layer_the_swapped_subject_is(look):
    table = table_with(look("relations", model="nesia-mini-qa-squad-1"), "best_inner", "swapped_last", "swapped_inner")
    row = table.set_index("relation").loc["P19"]
    # Planted: rank + 5 * (number % 3). Layer 2 has fact 1 first, and not for another subject; layer 3 has fact 0 first for both.
    assert (row["best_layer"], row["swapped_last"], row["swapped_inner"]) == (2, 0.25, 0.0)


def test_the_difference_to_the_base_is_offered_where_there_is_one(look):
    assert not [one for one in look("relations", model="nesia-mini").toggle if one.key == "relations.against_base"]
    app = look("relations", model="nesia-mini-qa-squad-1", against_base="1")
    points = table_with(app, "relation", "layer", "value", "base_value")
    here = points[(points["relation"] == "P19") & (points["layer"] == 3)].iloc[0]
    assert (here["value"], here["base_value"]) == (0.25, 1.0)
    assert any("difference to nesia-mini" in text for text in stamps(app))


def test_the_difference_is_to_the_base_that_was_asked_the_same_prompts(look, tmp_path):
    tuned = PlantedRun(model="tuned", base="nesia-mini", rank=tuned_rank, template_set="lama")
    runs = [PlantedRun(rank=base_rank), tuned]
    for folder, more in (("without", []), ("with", [PlantedRun(rank=lambda *_: 200, template_set="lama")])):
        snapshot = plant_runs(tmp_path / folder, [*runs, *more])
        app = look("relations", snapshot=snapshot, model="tuned", against_base="1")
        offered = [one for one in app.toggle if one.key == "relations.against_base"]
        assert bool(offered) == (folder == "with")
    points = table_with(app, "relation", "layer", "value", "base_value")
    assert set(points["base_value"]) == {0.0}


def test_the_facts_of_a_cell_can_be_opened_without_a_mouse(look):
    app = look("relations", model="nesia-mini")
    (query,) = [query for label, query in links(app).items() if label.startswith("Open ")]
    assert {"at_layer=3", "relation=P36"} & set(query.split("&"))


def test_compare_counts_exactly_what_was_planted(look):
    app = look("compare")
    assert not app.exception
    assert app.selectbox(key="compare.tuned").value == "nesia-mini-qa-squad-1"
    assert app.selectbox(key="compare.versus_model").value == "nesia-mini"
    row = table_with(app, "kept", "moved", "only_base").set_index("model").loc["nesia-mini-qa-squad-1"]
    assert {name: int(row[name]) for name in COUNTS} == COUNTS
    offered = links(app)
    for part, number in COUNTS.items():
        (query,) = [query for label, query in offered.items() if label == f"{outcome_words(part)}: {number}"]
        assert {"model=nesia-mini-qa-squad-1", "versus=nesia-mini", f"part={part}"} <= set(query.split("&"))
    assert "keeps **1**, loses **5**, **83 %**, and gains **1**" in words(app)


def test_the_control_is_shown_with_the_others(look):
    app = look("compare", compare_tab="models")
    (table,) = [one.value for one in app.dataframe if "moved" in one.value.columns and len(one.value) == 2 and "base" in one.value.columns]
    control = table.set_index("model").loc["nesia-mini-control"]
    assert (control["kept"], control["lost"]) == (6, 0)


def test_a_control_of_any_name_is_a_control_and_is_no_yardstick_if_nobody_knows_how_long_it_was_trained(look, tmp_path):
    runs = [*FAMILY[:2], PlantedRun(model="more-text", base="nesia-mini", objective="control", rank=base_rank)]
    snapshot = plant_runs(tmp_path / "renamed", runs)
    said = words(look("home", snapshot=snapshot)).replace("\\", "")
    assert "QA-SQuAD-1 :gray-badge[task score unknown] loses **83 %**; further training" in said, (
        "the control is not among the fine-tuned ones"
    )
    assert "raining as long" not in said and "not known to be trained as long" in said
    app = look("compare", snapshot=snapshot, compare_tab="models")
    badges = next(text.value for text in app.markdown if text.value.startswith("**Comparable?**"))
    assert ":orange-badge[≠ control]" in badges
    assert any("no yardstick for the others" in text.value for text in app.caption)
    lines = {
        trace["name"]: trace["line"]["dash"] for trace in charts(look("layers", snapshot=snapshot))[0]["data"] if "customdata" in trace
    }
    assert lines == {"nesia-mini": "solid", "QA-SQuAD-1 ?": "solid", "more-text (control)": "longdash"}


def test_the_paired_difference_is_that_of_the_planted_ranks(look):
    app = look("compare")
    table = table_with(app, "base_only", "model_only", "difference_low").set_index("layer")
    assert table.loc[3, ["both", "base_only", "model_only", "neither"]].tolist() == [1, 5, 1, 3]
    assert table.loc[3, "difference"] == pytest.approx(-0.4)


def test_filters_that_keep_no_fact_say_so(look):
    for page in ("relations", "compare"):
        app = whole(look, page, exposures="held out", in_subject="yes")
        assert not app.exception
        assert any("No facts are left" in note.value or "No fact was asked of both" in note.value for note in app.info)
