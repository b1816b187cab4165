"""Facts for a newcomer: chosen by rule, against planted ranks."""

import pytest

from probing.store.knowledge.one_fact import commonest_answer, example_facts
from probing.store.opening import open_database
from tests.store.planted import PlantedRun, plant_store, planted_facts

FACTS = planted_facts("trex")
#: Number of a fact -> its ranks by layer. Planted swapped ranks are 5 * (number % 3) more, so that those of 0, 3, 6, 9
#: equal their own.
RANKS = {
    1: (9, 1, 1, 1),  # right from the first layer on, and "paris" is the commonest birthplace
    4: (9, 9, 1, 1),  # right late; French, the commonest language
    5: (9, 9, 1, 1),  # right late, German, not the commonest, swapped subject worse
    8: (9, 9, 9, 1),  # right at the last layer only: Rome, not the commonest capital (of equals the first by name)
    7: (9, 1, 9, 9),  # lost; Berlin, the commonest capital
    2: (9, 1, 1, 9),  # lost; Paris, the commonest birthplace
}
SHOWN = PlantedRun(rank=lambda number, layer: RANKS.get(number, (50,) * 4)[layer])
LATE = PlantedRun(model="late", rank=lambda number, layer: (9, 9, 1, 1)[layer] if number in (2, 7) else 50)
HILTON = PlantedRun(model="hilton", rank=lambda number, layer: 1 if number == 3 else 50)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with open_database(plant_store(tmp_path_factory.mktemp("store"), [SHOWN, LATE, HILTON])) as database:
        yield database


def numbers(found, kind: str) -> list[int]:
    ids = [fact.fact_id for fact in FACTS]
    return [ids.index(fact_id) for fact_id in found.loc[found["kind"] == kind, "fact_id"]]


def test_what_no_guess_explains_comes_first_then_what_is_known_from_an_upper_layer_on_and_relations_take_turns(opened):
    found = example_facts(opened, SHOWN.run_id, limit=9)
    assert numbers(found, "late") == [5, 8, 1, 4]
    assert numbers(found, "lost") == [2, 7]


def test_of_alike_facts_one_that_a_fine_tuned_model_finds_inside_only_comes_first(opened, tmp_path):
    first, second = numbers(example_facts(opened, LATE.run_id), "late")
    tuned = PlantedRun(
        model="tuned", base=LATE.model, rank=lambda number, layer: (9, 1, 9, 9)[layer] if number == second else 50
    )
    with open_database(plant_store(tmp_path, [LATE, tuned])) as both:
        assert numbers(example_facts(both, LATE.run_id), "late") == [first, second]
        assert numbers(example_facts(both, LATE.run_id, tuned=(tuned.run_id,)), "late") == [second, first]


def test_no_more_are_given_than_asked_for(opened):
    assert example_facts(opened, SHOWN.run_id, limit=1).groupby("kind")["fact_id"].count().to_dict() == {
        "late": 1,
        "lost": 1,
    }


def test_the_answer_in_its_own_subject_is_no_example(opened):
    assert example_facts(opened, HILTON.run_id).empty, "Paris Hilton was born in Paris"


def test_a_guess_is_the_commonest_answer_of_the_facts_of_the_run(opened):
    born = [fact for fact in FACTS if fact.relation == "P19"]
    found = commonest_answer(opened, SHOWN.run_id, born[0].fact_id).iloc[0]
    assert (found["object"], found["n"], found["of"], found["answers"]) == ("paris", 3, len(born), 2)
    assert commonest_answer(opened, SHOWN.run_id, "feedfacefeedface").empty
