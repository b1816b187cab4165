"""The page of layers on stores in which the rank of every fact is planted: curves, map, what is better known inside,
kinds of heads.
"""

import json
import shutil
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from probing.facts.report_forgotten import relation_forgetting, with_yardsticks
from probing.facts.report_layers import precision_by_relation
from probing.facts.totals import steepest
from probing.kernel.fact import Fact
from probing.kernel.store.opening import open_database
from tests import carried_planted
from tests.candidates_planted import PlantedRanking, rows_of
from tests.pages.conftest import line_with, numbers, numbers_in, opening, plain, table_of, visited
from tests.pages.planted_family import FAMILY, base_rank, tuned_rank
from tests.planted_files import write_planted
from tests.planted_heads import BASE, KNOWN, LENS_LOSS, TRAINED, plant_heads
from tests.planted_heads import TUNED as COUNTED
from tests.planted_relatives import COLA, PlantedModel
from tests.planted_store import TOKENS, PlantedRun, plant_runs, planted_facts

TUNED = "nesia-mini-qa-squad-1"
FACTS = planted_facts("trex")
pytestmark = pytest.mark.usefixtures("unfolded")


@pytest.fixture(scope="module")
def look(family, tmp_path_factory):
    return visited(family, tmp_path_factory.mktemp("visits"))


def drawn(app, name: str) -> dict:
    """The figure of a name."""
    (chart,) = [one for one in app.get("plotly_chart") if f"{name}.figure" in str(one.proto.id)]
    return json.loads(chart.proto.spec)


def lines(chart: dict) -> dict[str, dict]:
    """The measured lines of a figure over layers, by name."""
    return {trace["name"]: trace for trace in chart["data"] if trace.get("mode") == "lines+markers"}


def named_ends(chart: dict) -> list[str]:
    notes = [note["text"] for note in chart["layout"].get("annotations", []) if note.get("name") == "end label"]
    return [text.replace("<b>", "").replace("</b>", "").replace("-<br>", "-").replace("<br>", " ") for text in notes]


def at_nought(chart: dict) -> list[str]:
    return [
        trace["name"]
        for trace in chart["data"]
        if trace.get("mode") == "lines" and list(trace.get("y") or ()) == [0, 0]
    ]


def cells(app) -> dict[str, float]:
    """The last layer's shares in the map, by relation, in per cent."""
    heat, points = drawn(app, "relation-map")["data"]
    shades = heat["z"] if isinstance(heat["z"], list) else np.reshape(numbers(heat["z"]), (-1, 4))
    rows = dict(zip(numbers(points["y"]), (one[0] for one in points["customdata"]), strict=True))
    return {relation: float(shades[int(row)][3]) for row, relation in rows.items()}


def test_the_steepest_step_is_the_largest_rise_between_neighbours():
    assert steepest({0: 0.1, 1: 0.2, 2: 0.5, 3: 0.4}) == (1, 2)
    assert steepest({2: 0.5, 0: 0.1}) == (0, 2) and steepest({3: 0.5}) is None


def test_the_sentence_says_between_which_layers_the_base_learns_most(look):
    # The base knows none of its facts at layer 1 and the facts 0 to 5 of ten from layer 2 on.
    for query in ({}, {"metric": "mrr"}):
        assert numbers_in(line_with(look("layers", average="micro", **query), "Between layers")) == [1, 2, 0, 60]


def test_the_first_lines_are_base_control_and_the_two_clearest_models(look, tmp_path):
    tasks = ("ner-conll", "sst-2", "cola")
    tuned = [
        PlantedRun(
            model=f"nesia-mini-{task}", base="nesia-mini", rank=lambda number, layer, n=n: base_rank(number + n, layer)
        )
        for n, task in enumerate(tasks, 1)
    ]
    snapshot = plant_runs(tmp_path / "many", [FAMILY[0], FAMILY[2], *tuned])
    app = look("layers", snapshot=snapshot)
    assert set(app.multiselect(key="layers.models").value) == {
        "nesia-mini",
        "nesia-mini-control",
        "nesia-mini-cola",
        "nesia-mini-sst-2",
    }
    dashes = {trace["name"]: trace["line"]["dash"] for trace in lines(drawn(app, "layer-curves")).values()}
    assert len(dashes) == 4 and [name for name, dash in dashes.items() if dash == "longdash"] == ["control"]


@pytest.mark.parametrize("mode", ["majority", "swapped"])
def test_what_is_beyond_a_yardstick_is_counted_from_the_planted_ranks(family, few_suffice, tmp_path, mode):
    app = visited(family, tmp_path)("layers", models="nesia-mini", average="micro", minus=mode)
    chart = drawn(app, "layer-curves")
    name = {"majority": "commonest answer", "swapped": "blind guess"}[mode]
    assert at_nought(chart) == [name] and name in named_ends(chart)
    (line,) = lines(chart).values()
    if mode == "majority":
        answers = Counter((fact.relation, fact.object) for fact in FACTS)
        most = sum(
            max(n for (relation, _), n in answers.items() if relation == one)
            for one in {fact.relation for fact in FACTS}
        )
        assert numbers(line["y"])[-1] == pytest.approx((6 - most) * 10)
    else:
        # Planted: the rank with another subject is the own one plus five times the fact's number modulo three; all ten
        # facts have one.
        assert numbers(line["y"])[-1] == pytest.approx(40)


def test_the_facts_of_a_point_and_of_a_cell_can_be_opened_without_a_mouse(look, family, cache, monkeypatch):
    app = opening(family, cache, monkeypatch)("layers", model="nesia-mini")
    app.session_state["layers.point"] = app.session_state["layers.cell"] = True
    app.run()
    found = {
        one.proto.label: set(one.proto.query_string.split("&"))
        for one in app.get("page_link")
        if one.proto.label.startswith("Open")
    }
    assert {"at_layer=3", "model=nesia-mini"} <= found["Open 6 facts"]
    (cell,) = [query for label, query in found.items() if " of " in label]
    assert {"at_layer=3", "relation=P36"} & cell


def test_the_map_has_every_relation_at_every_layer_and_the_table_from_where_it_is_known(look):
    app = look("layers", model="nesia-mini")
    # Facts 0 to 3 are P19's, 4 to 6 P103's, 7 to 9 P36's; the base knows 0 to 5 from layer 2 on.
    assert cells(app) == pytest.approx({"P19": 100, "P103": 200 / 3, "P36": 0})
    onsets = table_of(app, "onset", "best_inner").set_index("relation")["onset"]
    assert onsets["P19"] == onsets["P103"] == 2 and pd.isna(onsets["P36"])


def test_the_map_minus_the_base_is_offered_where_there_is_one_that_was_asked_the_same(look, tmp_path):
    assert not [one for one in look("layers", model="nesia-mini").toggle if one.key == "layers.against_base"]
    assert cells(look("layers", model=TUNED, against_base="1"))["P19"] == pytest.approx(-75)
    tuned = PlantedRun(model="tuned", base="nesia-mini", rank=tuned_rank, template_set="lama")
    runs = [PlantedRun(rank=base_rank), tuned]
    for folder, more in (("without", []), ("with", [PlantedRun(rank=lambda *_: 200, template_set="lama")])):
        app = look("layers", snapshot=plant_runs(tmp_path / folder, [*runs, *more]), model="tuned", against_base="1")
        assert bool([one for one in app.toggle if one.key == "layers.against_base"]) == (folder == "with")
    assert cells(app)["P19"] == pytest.approx(25), "the base of the same prompts knows nothing"


def test_relations_better_known_inside_are_held_against_guessing_at_their_best_layer(tmp_path):
    # All are half known at the end. Inside, two are known whole, of which one has one answer; of the third, with two
    # answers, 38 of 60 facts: Wilson's interval, 50.7 to 74.4 %, is above 50 %, but not if it allows for the choice
    # among two layers.
    facts = [
        Fact("trex", relation, f"subject {number}", TOKENS[-1 - number % answers], "", f"{number} is [MASK]")
        for relation, answers in (("P19", 4), ("P36", 1), ("P103", 2))
        for number in range(60)
    ]
    run = PlantedRun(
        facts=tuple(facts),
        rank=lambda number, layer: 1 if (layer == 2 and number < 158) or (layer == 3 and number % 2) else 200,
    )
    with open_database(plant_runs(tmp_path / "inner", [run])) as db:
        points = precision_by_relation(db, (run.run_id,))
        table = with_yardsticks(relation_forgetting(db, (run.run_id,)), points).set_index("relation")
    assert dict(table["above_guess"]) == {"P19": True, "P36": False, "P103": False}
    assert dict(table["onset"]) == {"P19": 2, "P36": 2, "P103": 2}


@pytest.mark.parametrize("counts", [(), ((COUNTED, "least_squares"),)], ids=["full", "counted"])
def test_all_kinds_of_heads_are_drawn_by_name_with_their_losses_and_what_fine_tuning_cost(look, tmp_path, counts):
    app = look("layers", plant_heads(tmp_path / "runs", counts), model=BASE, layers_tab="heads")
    assert not app.exception
    curves, losses, lost = (drawn(app, f"heads-{name}") for name in ("curves", "losses", "lost"))
    known = lines(curves)
    kinds = {"tied": "retrained reader", "logit_lens": "own output layer", "least_squares": "fitted map"}
    assert list(known) == list(kinds.values())
    assert (
        len({trace["line"]["color"] for trace in known.values()})
        == len({trace["marker"]["symbol"] for trace in known.values()})
        == 3
    )
    for head, name in kinds.items():
        assert numbers(known[name]["y"])[-1] == pytest.approx(KNOWN[BASE, head] / 120 * 100)
        (dotted,) = [one for one in curves["data"] if one.get("name") == f"{name}: blind guess"]
        assert dotted["line"]["dash"] == "dot" and dotted["line"]["color"] == known[name]["line"]["color"]
    planted = {"logit_lens": LENS_LOSS, **{head: values for head, (values, _, _) in TRAINED.items()}}
    assert {name: tuple(numbers(trace["y"])) for name, trace in lines(losses).items()} == {
        kinds[head]: planted[head] for head in planted
    }
    shown = {trace.get("name") for trace in lost["data"]}
    assert {
        "lost",
        "lost beyond the blind guess",
        "retrained reader",
        "fitted map",
    } <= shown and "own output layer" not in shown
    assert table_of(app, "inner_loss", "last_loss").set_index("head").loc["retrained reader", "seconds"] == 50.0


def test_a_probe_set_of_another_kind_of_head_can_be_chosen(look, tmp_path):
    runs = [PlantedRun(), PlantedRun(head="logit_lens", probe_set="questions")]
    snapshot = plant_runs(tmp_path / "sets", runs)
    app = look("layers", snapshot, model=BASE, probe_set="questions", layers_tab="heads")
    assert not app.exception and not [one for one in app.info if "Ignored" in one.value]
    assert "was probed on questions (ours) through one reader only" in plain(app)


def test_answers_of_several_words_are_those_of_the_chosen_measure_or_the_command_is_named(look, family, tmp_path):
    snapshot, one = shutil.copytree(family, tmp_path / "snapshot"), PlantedModel("nesia-mini")
    empty = look("layers", layers_tab="candidates", ranked_measure="answer_l2r", ranked_head="tied")
    assert any("--head tied --facts phrases --measure answer_l2r" in said.value for said in empty.code)
    for run in (PlantedRanking(one), PlantedRanking(one, "answer_l2r"), PlantedRanking(COLA)):
        write_planted(snapshot, run.run_id, None, rows_of, run)
    for measure, models in (("independent", 2), ("answer_l2r", 1)):
        app = look("layers", snapshot=snapshot, layers_tab="candidates", ranked_measure=measure)
        assert len(lines(drawn(app, "candidates"))) == models
        assert table_of(app, "pieces")["value"].isna().all(), "of fewer than 50 facts"


def test_what_is_carried_is_drawn_with_its_sentence_or_the_command_is_named(look, family, tmp_path):
    empty = look("layers", layers_tab="carried", model="nesia-mini")
    assert any("--model nesia-mini --facts trex --measure carried" in said.value for said in empty.code)
    snapshot, one = shutil.copytree(family, tmp_path / "snapshot"), PlantedModel("nesia-mini")
    write_planted(snapshot, carried_planted.run_id(one), None, carried_planted.rows_of, one)
    half = shutil.copytree(snapshot, tmp_path / "half")
    said = look("compare", snapshot=half, compare_tab="carried", model=TUNED).code[0].value
    assert TUNED in said and "\n" not in said, "the base is measured"
    other = PlantedModel(TUNED, "nesia-mini", "QA-SQuAD-1")
    write_planted(snapshot, carried_planted.run_id(other), None, carried_planted.rows_of, other)
    app = look("layers", snapshot=snapshot, layers_tab="carried", model="nesia-mini", k=10, in_subject="no")
    assert list(lines(drawn(app, "carried"))) == [
        "read here",
        "carried alone",
        "carried against another",
        "settled by here",
    ]
    read = lines(drawn(app, "carried"))["read here"]["y"]
    shares = [sum(carried_planted.flag(n, "read", layer) for n in range(12)) / 0.12 for layer in range(5)]
    assert numbers(read) == pytest.approx(shares) and "All facts are counted here" in plain(app)
    assert "of these facts can be read" in plain(app) and len(lines(drawn(app, "carried-inner"))) == 2
    app = look("compare", snapshot=snapshot, compare_tab="carried", model=TUNED)
    assert len(drawn(app, "carried")["layout"]["annotations"]) >= 10, "a panel for each of the two"
