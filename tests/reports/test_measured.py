"""The evidence for the claims, from a planted family: counted again from the planted ranks in plain Python."""

import pytest

from probing.core.stats.intervals import wilson
from probing.core.stats.paired_tests import PairedCounts, macro_difference, paired_difference
from probing.reports.reproduction.findings import BASE
from probing.reports.reproduction.knowledge.paper import BERTNESIA
from probing.store.build import build_database
from probing.store.database import open_database
from probing.store.parquet import write_table
from tests.store.planted import PlantedRun, plant_runs, planted_facts, planted_rank

FACTS = planted_facts("trex")
RELATIONS = {relation: [n for n, fact in enumerate(FACTS) if fact.relation == relation] for relation in {f.relation for f in FACTS}}


def harder(number: int, layer: int) -> int:
    """QA-SQuAD-2 knows facts 0, 3 and 7 everywhere."""
    return 1 if number in (0, 3, 7) else 5 + layer


def easier(number: int, layer: int) -> int:
    """QA-SQuAD-1 loses the first four facts at the last layer."""
    return 50 if layer == 3 and number < 4 else planted_rank(number, layer)


RANKS = {BASE: planted_rank, "QA-SQuAD-1": easier, "QA-SQuAD-2": harder}
NAMES = {BASE: "nesia-mini", "QA-SQuAD-1": "nesia-mini-qa-squad-1", "QA-SQuAD-2": "nesia-mini-qa-squad-2"}


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    planted = [PlantedRun(NAMES[one], objective=one, base="" if one == BASE else NAMES[BASE], rank=rank) for one, rank in RANKS.items()]
    source = plant_runs(folder / "runs", planted)
    row = {"base": NAMES[BASE], "metric": "F1", "n": 400, "value": 0.5}
    no_better = row | {"model": NAMES["QA-SQuAD-2"], "objective": "QA-SQuAD-2", "chance": 0.5, "chance_name": "never an answer"}
    write_table("tasks", [no_better], source / "tasks.parquet")
    with open_database(build_database([source], folder / "db").parent) as opened:
        yield opened


@pytest.fixture(scope="module")
def compared(db):
    assert list(BERTNESIA.subjects(db)) == [NAMES[BASE]]
    return BERTNESIA.compare(db, NAMES[BASE], "tied")


@pytest.fixture(scope="module")
def evidence(compared):
    return compared.ours.evidence


def known(objective: str, layer: int, k: int = 1) -> set[int]:
    return {number for number in range(len(FACTS)) if RANKS[objective](number, layer) <= k}


def counts(first: set[int], second: set[int], of) -> PairedCounts:
    one, other = first & set(of), second & set(of)
    return PairedCounts(len(one & other), len(one - other), len(other - one), len(of) - len(one | other))


def test_two_models_last_layers_are_compared_fact_by_fact(evidence):
    found = evidence.difference("QA-SQuAD-2", "QA-SQuAD-1", "trex", "last_layer")
    wanted = paired_difference(counts(known("QA-SQuAD-2", 3), known("QA-SQuAD-1", 3), range(len(FACTS))))
    assert (found.value, found.low, found.high) == pytest.approx((wanted.value, wanted.low, wanted.high))
    assert evidence.difference("RANK-MSMARCO", "QA-SQuAD-1", "trex", "last_layer") is None


def test_curves_are_compared_relation_by_relation(evidence):
    found = evidence.apart("QA-SQuAD-1", BASE).set_index("layer")
    assert list(found.index) == [1, 2, 3]
    for layer, row in found.iterrows():
        wanted = macro_difference(
            {relation: counts(known("QA-SQuAD-1", layer), known(BASE, layer), of) for relation, of in RELATIONS.items()}
        )
        assert tuple(row) == pytest.approx((wanted.value, wanted.low, wanted.high))


def test_forgotten_relations_are_compared_over_the_same_relations(compared, evidence):
    lost = compared.ours.about.forgotten
    lost = lost[lost["k"].eq(1) & lost["definition"].eq("authors")].set_index("objective")["names"]
    first, second = (set(lost[one]) for one in ("QA-SQuAD-2", "QA-SQuAD-1"))
    both = len(first & second)
    neither = len(RELATIONS) - len(first | second)
    wanted = paired_difference(PairedCounts(both, len(first) - both, len(second) - both, neither))
    found = evidence.difference("QA-SQuAD-2", "QA-SQuAD-1", "trex", "forgotten")
    assert (found.value, found.low, found.high) == pytest.approx((wanted.value, wanted.low, wanted.high))


def test_inner_shares_and_shares_of_relations_have_wilsons_interval(evidence):
    ever = known(BASE, 1) | known(BASE, 2) | known(BASE, 3)
    found = evidence.known(BASE, "trex", "intermediate")
    assert (found.low, found.high) == pytest.approx(wilson(len(ever - known(BASE, 3)), len(ever)))
    row = evidence.shares.set_index("measure").loc["doubling"]
    assert (row["low"], row["high"]) == pytest.approx(wilson(row["count"], len(RELATIONS)))


def test_curves_hold_the_right_answers_of_every_relation_layer_and_rank(evidence):
    found = evidence.curves.set_index(["objective", "relation", "layer", "k"])
    assert len(found) == len(RANKS) * len(RELATIONS) * 4 * 3
    for (objective, relation, layer, k), row in found.iterrows():
        of = RELATIONS[relation]
        assert (row["n"], row["hits"]) == (len(of), len(known(objective, layer, k) & set(of)))


def test_a_claim_about_a_model_without_its_task_names_the_stored_score(compared, evidence):
    assert evidence.learned["QA-SQuAD-2"] == "not learned" and evidence.learned["QA-SQuAD-1"] == "no score stored"
    judged = {one.claim.name: one for one in compared.judged}["a harder task keeps more"]
    assert judged.found.verdict == "cannot be tested"
    assert "QA-SQuAD-2 has not learned its task (F1 50.0 per cent, never an answer 50.0)." in judged.found.numbers
    assert judged.paper.verdict == "cannot tell"
