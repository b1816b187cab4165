"""Home: one sentence through all layers of two models, and three cards."""

import pytest

from probing.core.facts.fact import Fact
from probing.core.paths import snapshot_folder
from probing.reports import front
from probing.reports.runs import one_run_each
from probing.store.opening import open_database
from probing.store.run_queries import runs as all_runs
from tests.models.tiny_models import LAYERS, save
from tests.pages.conftest import grids, numbers_in, words
from tests.shipped import SNAPSHOT
from tests.store.planted import PlantedRun, forget_predictions, plant_runs, planted_facts, planted_rank


def answer(app) -> str:
    """The page's one computed sentence, without the backslashes that keep its words from being markup."""
    return next(line for line in words(app).replace("\\", "").split("\n") if " says " in line)


@pytest.fixture
def on(visit, monkeypatch, tmp_path):
    """Opens Home on planted runs."""

    def opened(*runs: PlantedRun, **query: str):
        app = visit("home", query=query, run=False)
        monkeypatch.setenv("PROBING_SNAPSHOT", str(plant_runs(tmp_path / "planted", runs)))
        return app.run()

    return opened


def test_the_grid_shows_the_stored_predictions_of_the_first_example(visit):
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
    curve = grid["curves"][fact.object]
    for (layer, _), token in shown.items():
        if token["right"]:
            assert curve[layer] == pytest.approx(token["probability"])


def test_beside_the_base_is_the_model_with_the_clearest_finding_and_the_sentence_has_the_layers_of_both(on):
    def loses(share):
        return lambda number, layer: {2: 1, 3: 70 if number % 10 < share else 1}.get(layer, 9)

    tuned = [
        PlantedRun(model=f"nesia-mini-{name}", base="nesia-mini", objective=name, rank=loses(share))
        for name, share in (("CoLA", 3), ("RTE", 8))
    ]
    app = on(PlantedRun(rank=lambda number, layer: 1 if layer >= 2 else 9), *tuned)
    base, other = grids(app)
    assert [row["rank"] for row in base["layers"]] == [1, 1, 9, 9]
    assert "RTE" in other["model"], "the one that lost most"
    assert numbers_in(answer(app))[:3] == [2, 3, 2], "the layers of the base, then those of the fine-tuned model"


def test_the_examples_are_one_that_is_known_late_one_that_is_lost_and_rocky_balboa(visit):
    app = visit("home")
    offered = app.pills(key="home.example").options
    facts = {fact.prompt: number for number, fact in enumerate(planted_facts("trex"))}
    numbers = [facts[prompt.replace("\\", "")] for prompt in offered]
    assert planted_rank(numbers[0], 3) == 1
    assert planted_rank(numbers[1], 3) > 1 and 1 in (planted_rank(numbers[1], 1), planted_rank(numbers[1], 2))
    assert "Rocky Balboa" in offered[2]


def test_an_example_is_shown_at_once_and_is_in_the_link(visit):
    app = visit("home")
    app.pills(key="home.example").set_value(3).run()
    assert app.query_params["example"] in ("3", ["3"])
    assert app.text_input(key="home.sentence").value == "Rocky Balboa was born in [MASK] ."
    assert "philadelphia" in answer(app)
    assert visit("home", query={"example": "2"}).pills(key="home.example").value == 2


def test_a_store_in_which_nothing_is_known_offers_the_input_without_examples(on):
    facts = (Fact("mine", "birds", "A", "hot", "[X] is [Y] .", "A is [MASK] ."),)
    app = on(PlantedRun(probe_set="mine", facts=facts, rank=lambda number, layer: 40))
    assert not app.exception
    assert app.text_input(key="home.sentence").value == "" and not [
        one for one in app.pills if one.key == "home.example"
    ]


@pytest.fixture
def tiny(tmp_path):
    """A tiny model under a name of its own, with planted results."""
    save("bert", tmp_path / "cache" / "models" / "tiny")
    return PlantedRun(model="tiny", head="logit_lens")


def test_a_typed_sentence_is_asked_of_the_base_and_of_the_fine_tuned_model_and_kept_in_the_link(on, tiny, tmp_path):
    save("bert", tmp_path / "cache" / "models" / "tiny-tuned")
    tuned = PlantedRun(
        model="tiny-tuned", base="tiny", objective="CoLA", head="logit_lens", rank=lambda number, layer: 40
    )
    app = on(tiny, tuned)
    app.text_input(key="home.sentence").set_value("Rome is the capital of [MASK].")
    app.button[0].click().run()
    assert not app.exception and not app.warning
    assert app.query_params["sentence"] in ("Rome is the capital of [MASK].", ["Rome is the capital of [MASK]."])
    found = grids(app)
    assert len(found) == 2
    for grid in found:
        assert len(grid["layers"]) == LAYERS + 1 and all(
            len(row["tokens"]) == 3 and row["rank"] for row in grid["layers"]
        )
    assert found[0]["layers"][0]["rank"] == 1 and found[0]["layers"][0]["tokens"][0]["right"], (
        "the base's last word is followed"
    )
    first = found[0]["layers"][0]["tokens"][0]["word"]
    inner = [row["layer"] for row in found[0]["layers"] if row["layer"] and row["tokens"][0]["word"] == first]
    assert first in answer(app) and max(inner) in numbers_in(answer(app))
    app.pills(key="home.example").set_value(2).run()
    assert "sentence" not in app.query_params


@pytest.mark.parametrize(
    ("sentence", "head"),
    [("[MASK] is the capital of [MASK].", "tied"), ("There is no gap here.", "logit_lens")],
    ids=["two gaps", "no gap"],
)
def test_the_first_of_several_gaps_is_answered_and_a_sentence_without_one_is_explained(on, tiny, sentence, head):
    app = on(PlantedRun(model="tiny", head=head), sentence=sentence)
    assert not app.exception
    assert bool(app.warning) == ("no gap" in sentence)
    if app.warning:
        assert "has no [MASK]" in app.warning[0].value.replace("\\", "")
    else:
        assert len(grids(app)) == 1


def test_an_emptied_field_asks_for_a_sentence_and_shows_the_example(visit):
    app = visit("home")
    app.text_input(key="home.sentence").set_value("  ")
    app.button[0].click().run()
    assert any("Type a sentence with a gap" in note.value for note in app.info)
    assert grids(app) and "sentence" not in app.query_params
    assert not app.run().info


def test_the_cards_have_the_numbers_of_a_count_of_the_raw_rows():
    """The shipped results: shares recounted from the ranks at the last layer."""
    with open_database(SNAPSHOT) as db:
        runs = one_run_each(all_runs(db))
        asked = runs[(runs["head"] == "logit_lens") & (runs["probe_set"] == "trex") & ~runs["counted"].astype(bool)]
        rows = db.query("SELECT run_id, fact_id, gold_rank FROM predictions WHERE layer = 8").merge(
            asked[["run_id", "model"]]
        )
        ranks = rows.pivot(index="fact_id", columns="model", values="gold_rank")
        lost = front.lost_by_fine_tuning(db, runs, "logit_lens", "trex")
        best = front.best_recipe(db)
    known = ranks[ranks["nesia-mini"] == 1]
    found = front.clear_ones(lost, frozenset(["nesia-mini-ner-conll", "nesia-mini-sst-2"]))[0]
    assert found.model == "nesia-mini-ner-conll"
    assert found.share == pytest.approx((known[found.model] > 1).mean())
    assert found.control == pytest.approx((known["nesia-mini-control"] > 1).mean())
    assert best.share > best.plain_share and best.score < best.plain_score


def test_cards_of_a_store_without_single_facts_lead_to_what_it_has(on, monkeypatch, tmp_path):
    tuned = PlantedRun(model="counted", base="nesia-mini", objective="NER-CoNLL", rank=lambda number, layer: 50)
    snapshot = plant_runs(tmp_path / "runs", [PlantedRun(), tuned])
    forget_predictions(snapshot, tuned)
    app = on(PlantedRun())
    monkeypatch.setenv("PROBING_SNAPSHOT", str(snapshot))
    assert not app.run().exception and snapshot_folder() == snapshot
    assert len(grids(app)) == 1
