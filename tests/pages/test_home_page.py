"""Home: the question, one sentence to try, what is known beyond guessing, what fine-tuning cost."""

import base64
import json
import re
from urllib.parse import parse_qs

import numpy as np
import pytest

from probing.core.facts.fact import Fact
from probing.store.opening import open_database
from tests.models.tiny_models import LAYERS, save
from tests.pages.conftest import line_with, numbers_in, words
from tests.pages.planted_family import FAMILY
from tests.store.planted import PlantedRun, forget_predictions, plant_runs, planted_exposure, planted_facts, planted_rank

pytestmark = pytest.mark.usefixtures("unfolded")


def figures(app) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def grids(app) -> list[dict]:
    """What the component of the layers' best words draws, model by model."""
    return json.loads(app.get("bidi_component")[0].proto.json)["grids"]


def values(column) -> list:
    """What an axis of a trace holds: Plotly writes long columns of numbers in base64."""
    return np.frombuffer(base64.b64decode(column["bdata"]), column["dtype"]).tolist() if isinstance(column, dict) else column


def said(app) -> str:
    """The words of the page without the backslashes that keep them from being markup."""
    return words(app).replace("\\", "")


@pytest.fixture
def on(visit, monkeypatch, tmp_path):
    """Opens Home on planted runs."""

    def opened(*runs: PlantedRun, **query: str):
        app = visit("home", query=query, run=False)
        monkeypatch.setenv("PROBING_SNAPSHOT", str(plant_runs(tmp_path / "planted", runs)))
        return app.run()

    return opened


def test_the_grid_shows_the_stored_predictions_of_the_first_example(visit, planted_snapshots, tmp_path):
    app = visit("home")
    prompt = app.text_input(key="home.sentence").value
    number, fact = next((number, fact) for number, fact in enumerate(planted_facts("trex")) if fact.prompt == prompt)
    (grid,) = grids(app)
    assert [row["layer"] for row in grid["layers"]] == [3, 2, 1, 0], "the last layer is on top"
    assert [row["rank"] for row in grid["layers"]] == [planted_rank(number, layer) for layer in (3, 2, 1, 0)]
    shown = {(row["layer"], place): token for row in grid["layers"] for place, token in enumerate(row["tokens"], 1)}
    right = {key for key, token in shown.items() if token["word"] == fact.object}
    assert right == {(layer, planted_rank(number, layer)) for layer in range(4) if planted_rank(number, layer) <= 3}
    assert len(shown) == 4 * 3 and {key for key, token in shown.items() if token["right"]} == right


def test_beside_the_base_is_the_first_fine_tuned_model_that_lost_the_fact_and_still_has_it_inside(on):
    def ranks(at_end, inside=9):
        return lambda number, layer: {3: at_end, 2: inside}.get(layer, 9) if number == 9 else 50

    tuned = {"nesia-mini-a": ranks(1), "nesia-mini-b": ranks(700), "nesia-mini-c": ranks(70, 1), "nesia-mini-d": ranks(70, 1)}
    runs = [PlantedRun(model=name, base="nesia-mini", rank=rank) for name, rank in tuned.items()]
    base, other = grids(on(PlantedRun(rank=ranks(1)), *runs[:2]))
    assert [row["rank"] for row in base["layers"]] == [1, 9, 9, 9]
    assert [row["rank"] for row in other["layers"]] == [700, 9, 9, 9], "the first keeps it, the second lost it"
    app = on(PlantedRun(rank=ranks(1)), *runs)
    assert [row["rank"] for row in grids(app)[1]["layers"]] == [70, 1, 9, 9], "the third shows where it went"
    line = line_with(app, "Last layer, rank of paris")
    assert numbers_in(line)[:2] == [1, 70]


def test_the_examples_are_one_that_is_known_late_one_that_is_lost_and_rocky_balboa(visit):
    app = visit("home")
    offered = app.pills(key="home.examples").options
    facts = {fact.prompt: number for number, fact in enumerate(planted_facts("trex"))}
    numbers = [facts[prompt.replace("\\", "")] for prompt in offered]
    assert planted_rank(numbers[0], 3) == 1
    assert planted_rank(numbers[1], 3) > 1 and 1 in (planted_rank(numbers[1], 1), planted_rank(numbers[1], 2))
    assert "Rocky Balboa" in offered[2]


def test_an_example_is_shown_at_once_and_is_in_the_link(visit):
    app = visit("home")
    app.pills(key="home.examples").set_value(3).run()
    assert app.query_params["example"] in ("3", ["3"])
    assert app.text_input(key="home.sentence").value == "Rocky Balboa was born in [MASK] ."
    assert "the right word, **philadelphia**" in said(app)
    linked = visit("home", query={"example": "2"})
    assert linked.pills(key="home.examples").value == 2


def test_a_store_of_own_facts_only_has_examples_and_says_what_is_not_measured(on):
    facts = tuple(
        Fact("mine", "birds", name, answer, "[X] is [Y] .", f"{name} is [MASK] .") for name, answer in (("A", "hot"), ("B", "water"))
    )
    app = on(*(PlantedRun(model=model, probe_set="mine", facts=facts) for model in ("nesia-mini", "other")))
    assert not app.exception
    assert len(app.pills(key="home.examples").options) >= 1
    assert "mine facts" in said(app) and "there are 2 here" in said(app) and "commonest answer is right for" not in said(app)
    assert "Asked about a swapped subject" not in said(app)


def test_a_store_in_which_nothing_is_known_offers_the_input_without_examples(on):
    facts = (Fact("mine", "birds", "A", "hot", "[X] is [Y] .", "A is [MASK] ."),)
    app = on(PlantedRun(probe_set="mine", facts=facts, rank=lambda number, layer: 40))
    assert not app.exception
    assert app.text_input(key="home.sentence").value == "" and not [one for one in app.pills if one.key == "home.examples"]


def test_filters_that_keep_nothing_leave_the_examples_and_say_so(visit):
    app = visit("home", "several", {"exposures": "held out", "in_subject": "yes"})
    assert not app.exception
    assert app.pills(key="home.examples").options
    assert any("No facts are left" in note.value for note in app.info)


@pytest.fixture
def tiny(tmp_path):
    """A tiny model under a name of its own, with planted results."""
    save("bert", tmp_path / "cache" / "models" / "tiny")
    return PlantedRun(model="tiny", head="logit_lens")


def test_a_typed_sentence_is_asked_in_place_and_kept_in_the_link(on, tiny):
    app = on(tiny)
    app.text_input(key="home.sentence").set_value("Rome is the capital of [MASK].")
    app.button[0].click().run()
    assert not app.exception and not app.warning
    assert app.query_params["sentence"] in ("Rome is the capital of [MASK].", ["Paris is the capital of [MASK]."])
    assert "the right word, " not in said(app)
    assert re.search(r"\*\*tiny\*\* predicts \*\*.+\*\* \([\d.]+ %; layer 0: [\d.]+ %, chance: [\d.]+ %\)\.", said(app)), "as on Live"
    (grid,) = grids(app)
    assert len(grid["layers"]) == LAYERS + 1 and all(len(row["tokens"]) == 3 and row["rank"] is None for row in grid["layers"])
    query = next(parse_qs(link.proto.query_string) for link in app.get("page_link") if link.proto.label.startswith("More on Live"))
    assert (
        query["prompt"] == ["Rome is the capital of [MASK]."] and query["live_model"] == ["tiny"] and query["live_head"] == ["logit_lens"]
    )
    app.pills(key="home.examples").set_value(2).run()
    assert "sentence" not in app.query_params and "the right word, " in said(app)


def test_the_first_of_several_gaps_is_answered_and_a_model_without_trained_heads_uses_its_own(on, tiny):
    app = on(PlantedRun(model="tiny", head="tied"), sentence="[MASK] is the capital of [MASK].")
    assert not app.exception and not app.warning
    assert "This is the first of 2 gaps." in said(app)
    assert "No tied heads are trained for" in said(app)


def test_a_sentence_that_cannot_be_asked_gets_a_helpful_answer(on, tiny):
    app = on(tiny, sentence="There is no gap here.")
    assert not app.exception
    assert "has no [MASK]" in app.warning[0].value.replace("\\", "")
    assert len(app.get("plotly_chart")) == 1, "the other figure of the page is there"


def test_an_emptied_field_asks_for_a_sentence_and_shows_the_example(visit):
    app = visit("home")
    app.text_input(key="home.sentence").set_value("  ")
    app.button[0].click().run()
    assert any("Type a sentence with a gap" in note.value for note in app.info)
    assert "the right word, " in said(app) and "sentence" not in app.query_params
    assert not app.run().info


def _rows(snapshot) -> list[tuple]:
    """relation, object, layer, gold_rank, other_rank of every prediction of the one planted run."""
    sql = "SELECT f.relation, f.object, p.layer, p.gold_rank, p.other_rank, p.fact_id FROM predictions p JOIN facts f USING (fact_id)"
    with open_database(snapshot) as db:
        return list(db.query(sql).itertuples(index=False, name=None))


@pytest.mark.usefixtures("few_suffice")
def test_every_number_of_the_headline_is_that_of_the_raw_rows(visit, planted_snapshots):
    rows = _rows(planted_snapshots["one model"])
    last = [row for row in rows if row[2] == 3]
    relations = sorted({row[0] for row in last})

    def macro(hit, rows=last) -> float:
        return (
            100 * sum(sum(map(hit, mine)) / len(mine) for name in relations if (mine := [r for r in rows if r[0] == name])) / len(relations)
        )

    def most(relation: str) -> str:
        answers = [row[1] for row in last if row[0] == relation]
        return min(answers, key=lambda answer: (-answers.count(answer), answer))

    lent = [row for row in last if row[4] is not None and row[4] == row[4]]
    line = next(text.value.replace("\\", "") for text in visit("home").markdown if "gives the right word for" in text.value)
    assert f"for **{macro(lambda row: row[3] == 1):.1f} %** of T-REx facts (macro: mean over relations)" in line
    assert f"commonest answer is right for **{macro(lambda row: row[1] == most(row[0])):.1f} %**" in line
    line = next(text.value.replace("\\", "") for text in visit("home").markdown if "some inner layer finds" in text.value)
    assert f"swapped subject it still gives that word for **{macro(lambda row: row[4] == 1, lent):.1f} %**" in line
    assert f"compared with {macro(lambda row: row[3] == 1, lent):.1f} % for their own subject" in line
    missed = {row[5] for row in lent if row[3] > 1 and row[4] > 1}
    own = {row[5] for row in rows if row[5] in missed and row[2] in (1, 2) and row[3] == 1}
    swapped = {row[5] for row in rows if row[5] in missed and row[2] in (1, 2) and row[4] == 1}
    assert f"some inner layer finds **{100 * len(own) / len(missed):.1f} %**" in line
    assert f"and {100 * len(swapped) / len(missed):.1f} % with the swapped one:" in line


@pytest.mark.usefixtures("few_suffice")
@pytest.mark.parametrize(
    ("minus", "k", "expected"),
    [
        ("majority", "1", "last layer minus majority answer, points"),
        ("swapped", "10", "last layer minus swapped subject, points"),
    ],
)
def test_the_bars_can_be_what_lies_above_a_guess(visit, minus, k, expected):
    app = visit("home", query={"home_minus": minus, "k": k})
    assert not app.exception and not app.info
    figure = figures(app)[0]
    assert figure["layout"]["xaxis"]["title"]["text"] == expected
    table = next(one.value for one in app.dataframe if "above_majority" in one.value.columns)
    bar = figure["data"][0]
    assert values(bar["x"])[0] == pytest.approx(100 * table[f"above_{minus}"].iloc[0])
    assert app.segmented_control(key="home.home_minus").value == minus


def test_what_fine_tuning_cost_is_in_shares_of_the_right_answers_with_the_guesses_among_them(visit, monkeypatch, tmp_path):
    # The base has six facts first, this model the first three of them and one that the base has not: net a third is lost.
    counted = PlantedRun(
        model="counted", base="nesia-mini", objective="NER-CoNLL", rank=lambda number, _: 1 if number in (0, 1, 2, 9) else 50
    )
    snapshot = plant_runs(tmp_path / "runs", [*FAMILY, counted])
    forget_predictions(snapshot, counted)
    app = visit("home", run=False)
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    line = line_with(app.run(), "answers rightly at its last layer").replace("*", "")
    exposures = [planted_exposure().get(f"{fact.relation}\t{fact.subject}\t{fact.object}") for fact in planted_facts("trex")[:6]]
    guesses = sum(one in ("unseen", "held out") for one in exposures)
    assert numbers_in(line)[:2] == [6, guesses] and "lose 33 % net" in line and "points" not in line
