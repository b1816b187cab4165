"""Rules for the claims on edge probing: each holds, fails or is inconclusive on planted numbers, and judges the published ones."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from probing.reports.reproduction.curve_shapes import DRAWS, Curve
from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED, Interval, apart, most
from probing.reports.reproduction.edges.claims import RULES
from probing.reports.reproduction.edges.evidence import CALLED, ORDER_COLUMNS, PLACE_COLUMNS, SETTLED_COLUMNS, EdgeEvidence
from probing.reports.reproduction.edges.paper import EDGE_PROBING

LAYERS = 8
#: Wide enough that no claim on planted numbers is sure.
NOISE = 0.2


def curve(values, spread: float = 0.0005, seed: int = 0) -> Curve:
    """F1 by layer, drawn again with this standard deviation at every layer."""
    f1 = np.array(values, dtype=float)
    return Curve(np.arange(len(f1)), f1, f1 + np.random.default_rng(seed).normal(0, spread, (DRAWS, len(f1))))


def rising_at(layer: float, first: float = 0.5, last: float = 0.9, layers: int = LAYERS) -> list[float]:
    """F1 of which half of the gain comes at the layer below and half at the layer above, so that the expected layer is this one."""
    below = int(np.floor(layer))
    part = 1 - (layer - below)
    return [first + (last - first) * (0 if at < below else part if at == below else 1) for at in range(layers + 1)]


def evidence(layers_of: dict[str, float] | None = None, spread: float = 0.0005, **changes) -> EdgeEvidence:
    """Tasks whose expected layers are these."""
    curves = {task: curve(rising_at(layer), spread, seed) for seed, (task, layer) in enumerate((layers_of or {}).items())}
    return replace(EdgeEvidence("ours", LAYERS, curves), **changes)


def places(measure: str, low_high: float = 0.01, **values: float) -> pd.DataFrame:
    """Numbers of mixing weights with intervals of this half width; tasks are spelt with underscores."""
    rows = [(task.replace("_", "-"), measure, value, value - low_high, value + low_high) for task, value in values.items()]
    return pd.DataFrame(rows, columns=list(PLACE_COLUMNS))


PIPELINE = {"pos": 1.2, "constituents": 2.1, "dependencies": 2.9, "srl": 3.7, "coreference": 5.5}
BACKWARDS = {"pos": 5.5, "constituents": 3.7, "dependencies": 2.9, "srl": 2.1, "coreference": 1.2}


def verdict_of(name: str, one: EdgeEvidence) -> str:
    return RULES[name].judge(one).verdict


ORDER = "tasks come in the order of the pipeline"


def test_the_order_of_the_pipeline_holds_fails_and_is_inconclusive():
    assert verdict_of(ORDER, evidence(PIPELINE)) == HOLDS
    assert verdict_of(ORDER, evidence(BACKWARDS)) == FAILS
    assert verdict_of(ORDER, evidence(PIPELINE, NOISE)) == UNSURE
    assert verdict_of(ORDER, evidence({"pos": 1.2, "srl": 3.0})) == UNTESTED


def test_one_step_that_is_surely_wrong_refutes_the_order_whatever_the_others_are():
    swapped = PIPELINE | {"srl": 2.1}
    found = RULES[ORDER].judge(evidence(swapped))
    assert found.verdict == FAILS and "dependencies to semantic roles -0.80" in found.numbers
    assert len(found.table) == 4


def test_an_order_that_was_compared_with_a_correction_is_judged_by_its_corrected_ends():
    order = pd.DataFrame([("pos", "constituents", 0.9, -0.1, 1.9)], columns=list(ORDER_COLUMNS))
    assert verdict_of(ORDER, evidence(PIPELINE, order=order)) == UNSURE
    turned = pd.DataFrame([("constituents", "pos", -0.9, -1.9, 0.1)], columns=list(ORDER_COLUMNS))
    assert verdict_of(ORDER, evidence(PIPELINE, order=turned)) == UNSURE


def test_a_task_that_gains_nothing_clear_has_no_expected_layer_and_decides_no_order():
    flat = evidence(PIPELINE)
    flat = replace(flat, curves={**flat.curves, "srl": curve([0.5] * 8 + [0.504])})
    assert flat.expected("srl") is None and flat.k_gains("srl") is None
    found = RULES[ORDER].judge(flat)
    assert found.verdict == UNSURE and "semantic roles not resolved" in found.numbers


def test_an_expected_layer_whose_interval_leaves_the_layers_is_no_place():
    wide = evidence({"pos": 1.2, "coreference": 5.5})
    drawn = np.full((DRAWS, LAYERS + 1), 0.7)
    # Draws with a gain of 2 to 3 points that lose 10 to 20 points on the way.
    drawn[:, 0], drawn[:, -1] = 0.68, np.linspace(0.70, 0.71, DRAWS)
    drawn[:, 1:-1] += np.linspace(-0.2, 0.1, DRAWS)[:, None]
    wide = replace(wide, curves={**wide.curves, "coreference": Curve(np.arange(LAYERS + 1), drawn.mean(axis=0), drawn)})
    assert wide.resolved("coreference") and wide.expected("coreference") is None and wide.k_gains("coreference") is None
    assert wide.expected("pos").value == pytest.approx(1.2)


@pytest.mark.parametrize(("entities", "verdict"), [(3.3, HOLDS), (1.5, FAILS), (4.6, FAILS)])
def test_entities_lie_between_parsing_and_roles_or_not(entities, verdict):
    name = "entities come after parsing"
    assert verdict_of(name, evidence(PIPELINE | {"entities": entities})) == verdict
    assert verdict_of(name, evidence(PIPELINE | {"entities": entities}, NOISE)) == UNSURE
    assert verdict_of(name, evidence(PIPELINE)) == UNTESTED


def test_centres_of_gravity_are_in_order_or_not_and_one_seed_is_inconclusive():
    name = "both metrics give one order"
    rising = {"pos": 3.0, "constituents": 3.5, "dependencies": 4.0, "srl": 4.5, "coreference": 5.0}
    assert verdict_of(name, evidence(places=places("centre_of_gravity", **rising))) == HOLDS
    assert verdict_of(name, evidence(places=places("centre_of_gravity", **rising | {"srl": 3.7}))) == FAILS
    assert verdict_of(name, evidence(places=places("centre_of_gravity", 0.8, **rising))) == UNSURE
    found = RULES[name].judge(evidence(places=places("centre_of_gravity", np.nan, **rising)))
    assert found.verdict == UNSURE and "Only one seed was trained" in found.numbers
    assert verdict_of(name, evidence(PIPELINE)) == UNTESTED


def test_two_depths_have_one_order_or_not():
    name = "both sizes give one order"
    assert verdict_of(name, evidence(PIPELINE, other=evidence(PIPELINE))) == HOLDS
    assert verdict_of(name, evidence(PIPELINE, other=evidence(BACKWARDS))) == FAILS
    assert verdict_of(name, evidence(PIPELINE, 0.05, other=evidence(PIPELINE, 0.05))) == UNSURE
    assert verdict_of(name, evidence(PIPELINE)) == UNTESTED
    assert verdict_of(name, evidence(PIPELINE, other=evidence({"pos": 1.2}))) == UNTESTED


def test_places_relative_to_the_top_are_equal_or_not():
    name = "tasks stay where they are relative to the top"
    deeper = EdgeEvidence("deeper", 16, {task: curve(rising_at(2 * layer, layers=16)) for task, layer in PIPELINE.items()})
    assert verdict_of(name, evidence(PIPELINE, other=deeper)) == HOLDS
    at_the_same_layer = EdgeEvidence("deeper", 16, {task: curve(rising_at(layer, layers=16)) for task, layer in PIPELINE.items()})
    assert verdict_of(name, evidence(PIPELINE, other=at_the_same_layer)) == FAILS
    assert verdict_of(name, evidence(PIPELINE, NOISE / 4, other=deeper)) == UNSURE
    assert verdict_of(name, evidence(PIPELINE)) == UNTESTED


SYNTAX = {"pos": 0.4, "constituents": 0.8, "dependencies": 0.9, "proto_roles": 0.05, "relations": 0.02}
#: One layer has all of the gain, and every layer has its share.
STEEP, EVEN = rising_at(2.0), list(np.linspace(0.5, 0.9, LAYERS + 1))


def syntactic(steep: list[float] = STEEP, even: list[float] = EVEN, spread: float = 0.0005, **changes) -> EdgeEvidence:
    curves = {task: curve(steep, spread) for task in ("pos", "constituents", "dependencies")}
    curves |= {task: curve(even, spread) for task in ("proto-roles", "relations")}
    return replace(EdgeEvidence("ours", LAYERS, curves), places=places("k_weights", **SYNTAX), **changes)


def test_syntax_is_more_localisable_or_not():
    name = "syntax is more localisable"
    assert verdict_of(name, syntactic()) == HOLDS
    assert verdict_of(name, syntactic(steep=EVEN, even=STEEP)) == FAILS
    assert verdict_of(name, replace(syntactic(), places=places("k_weights", **SYNTAX | {"pos": 0.01}))) == FAILS
    assert verdict_of(name, replace(syntactic(), places=places("k_weights", np.nan, **SYNTAX))) == UNSURE
    assert verdict_of(name, syntactic(even=[0.5] * (LAYERS + 1))) == UNTESTED
    assert verdict_of(name, evidence(PIPELINE)) == UNTESTED


def test_a_task_without_a_resolved_gain_leaves_localisability_open():
    one = syntactic()
    one = replace(one, curves={**one.curves, "relations": curve([0.5] * (LAYERS + 1))})
    found = RULES["syntax is more localisable"].judge(one)
    assert found.verdict == UNSURE and "relations not resolved" in found.numbers


def test_weights_are_nearly_uniform_or_not():
    name = "weights of relations and proto-roles are nearly uniform"
    assert verdict_of(name, evidence(places=places("k_weights", proto_roles=0.02, relations=0.03))) == HOLDS
    assert verdict_of(name, evidence(places=places("k_weights", proto_roles=0.02, relations=0.3))) == FAILS
    assert verdict_of(name, evidence(places=places("k_weights", 0.04, proto_roles=0.02, relations=0.03))) == UNSURE
    assert verdict_of(name, evidence(PIPELINE)) == UNTESTED


def test_entity_weights_are_weakly_concentrated_or_not():
    name, centre = "entity weights are weakly concentrated", places("centre_of_gravity", 0.1, entities=4.5)

    def of(**values) -> EdgeEvidence:
        return evidence(places=pd.concat([centre, places("k_weights", **values)]))

    assert verdict_of(name, of(entities=0.05, constituents=0.5, srl=0.3)) == HOLDS
    assert verdict_of(name, of(entities=0.4, constituents=0.5, srl=0.3)) == FAILS
    assert verdict_of(name, of(entities=0.295, constituents=0.5, srl=0.3)) == UNSURE
    low = places("centre_of_gravity", 0.1, entities=3.0)
    assert verdict_of(name, evidence(places=pd.concat([low, places("k_weights", entities=0.05, srl=0.3)]))) == FAILS
    assert verdict_of(name, evidence(places=centre)) == UNTESTED


def test_weights_lie_above_the_gains_or_not():
    name = "weights lie above the gains"
    above = places("centre_of_gravity", 0.1, pos=4.0, srl=4.5)
    found = RULES[name].judge(evidence({"pos": 1.5, "srl": 3.0}, places=above))
    assert found.verdict == HOLDS and "in the 2 of 2 tasks" in found.null
    assert verdict_of(name, evidence({"pos": 1.5, "srl": 6.0}, places=above)) == FAILS
    assert verdict_of(name, evidence({"pos": 1.5, "srl": 4.5}, places=above)) == UNSURE
    # A task whose expected layer is not resolved leaves it open.
    flat = evidence({"pos": 1.5, "srl": 3.0}, places=above)
    flat = replace(flat, curves={**flat.curves, "srl": curve([0.5] * 8 + [0.504])})
    found = RULES[name].judge(flat)
    assert found.verdict == UNSURE and "Not resolved: semantic roles" in found.numbers
    assert verdict_of(name, evidence({"pos": 1.5})) == UNTESTED


def test_weights_lie_in_the_middle_or_not():
    name = "weights lie in the middle"
    # Layers 3 to 6 of 8: four of nine.
    found = RULES[name].judge(evidence(places=places("middle", pos=0.6, srl=0.7, entities=0.4)))
    assert found.verdict == HOLDS and "Layers 3 to 6 of 8" in found.numbers and "0.44" in found.null
    assert verdict_of(name, evidence(places=places("middle", pos=0.6, srl=0.3))) == FAILS
    assert verdict_of(name, evidence(places=places("middle", 0.3, pos=0.6, srl=0.7))) == UNSURE
    assert verdict_of(name, evidence(PIPELINE)) == UNTESTED


def test_most_is_solved_early_or_not():
    name = "most is solved early"
    assert verdict_of(name, evidence({"pos": 1.2, "srl": 1.5, "relations": 6.0})) == HOLDS
    assert verdict_of(name, evidence({"pos": 1.2, "srl": 6.0})) == FAILS
    assert verdict_of(name, evidence({"pos": 1.2, "srl": 1.5}, 0.3)) == UNTESTED
    assert verdict_of(name, evidence({"pos": 2.4, "srl": 2.5}, 0.02)) == UNSURE


LONG_TAIL = [0.5, 0.7, 0.75, 0.8, 0.82, 0.84, 0.86, 0.88, 0.9]


def test_entities_are_solved_in_layer_1_with_a_long_tail_or_not():
    name = "entities are solved in layer 1 with a long tail"

    def of(values, spread=0.0005) -> EdgeEvidence:
        return EdgeEvidence("ours", LAYERS, {"entities": curve(values, spread)})

    assert verdict_of(name, of(LONG_TAIL)) == HOLDS
    assert verdict_of(name, of(rising_at(3.0))) == FAILS
    assert verdict_of(name, of([0.5, 0.9, 0.9, 0.9, 0.9, 0.88, 0.87, 0.87, 0.86])) == FAILS
    assert verdict_of(name, of(LONG_TAIL, 0.05)) == UNSURE
    assert verdict_of(name, evidence(PIPELINE)) == UNTESTED


def test_relations_and_proto_roles_improve_to_the_top_or_not():
    name = "relations and proto-roles improve to the top"
    late = {"relations": 7.0, "proto-roles": 6.5}
    assert verdict_of(name, evidence(late)) == HOLDS
    assert verdict_of(name, evidence({"relations": 7.0, "proto-roles": 2.0}, 0)) == FAILS
    assert verdict_of(name, evidence(late, 0.3)) == UNSURE
    assert verdict_of(name, evidence(PIPELINE)) == UNTESTED


def test_more_layers_help_or_not():
    name = "more layers help"
    up, down = list(np.linspace(0.5, 0.9, 9)), [0.5, *np.linspace(0.9, 0.6, 8)]

    def of(spread: float, *curves) -> EdgeEvidence:
        return EdgeEvidence("ours", LAYERS, {task: curve(one, spread) for task, one in zip(CALLED, curves, strict=False)})

    assert verdict_of(name, of(0.001, up, up, down)) == HOLDS
    assert verdict_of(name, of(0.001, up, down)) == FAILS
    assert verdict_of(name, of(0.1, up, up)) == UNSURE
    assert verdict_of(name, evidence()) == UNTESTED


def test_the_last_layers_lose_or_not():
    name = "the last layers lose"
    lost = [*np.linspace(0.5, 0.9, 8), 0.88]

    def of(spread: float, *curves) -> EdgeEvidence:
        return EdgeEvidence("ours", LAYERS, {task: curve(one, spread) for task, one in zip(CALLED, curves, strict=False)})

    assert verdict_of(name, of(0.001, lost, lost, EVEN)) == HOLDS
    assert verdict_of(name, of(0.001, lost, EVEN)) == FAILS
    assert verdict_of(name, of(0.05, lost, lost)) == UNSURE
    assert verdict_of(name, evidence()) == UNTESTED


def test_most_tags_need_no_context_or_not_and_memory_is_shown_with_it():
    name = "most tags need no context"

    def of(first: float, spread: float = 0.0005) -> EdgeEvidence:
        return EdgeEvidence("ours", LAYERS, {"pos": curve(rising_at(2.0, first), spread)}, beside={"memory": {"pos": 0.839}})

    found = RULES[name].judge(of(0.89))
    assert found.verdict == HOLDS and "83.9 per cent" in found.null
    assert verdict_of(name, of(0.80)) == FAILS
    assert verdict_of(name, of(0.87, 0.01)) == UNSURE
    assert verdict_of(name, evidence({"srl": 2.0})) == UNTESTED


@pytest.mark.parametrize(
    ("before", "sentences", "verdict"),
    [((400, 300, 5), 1000, HOLDS), ((10, 5, 400), 1000, FAILS), ((10, 40, 5), 100, UNSURE), ((0, 0, 0), 0, UNTESTED), ((), 0, UNTESTED)],
)
def test_single_sentences_leave_the_order_or_not(before, sentences, verdict):
    pairs = [("srl", "pos"), ("srl", "dependencies"), ("dependencies", "pos")]
    rows = [(*pair, sentences, one) for pair, one in zip(pairs, before, strict=False)]
    left = pd.DataFrame(rows, columns=list(SETTLED_COLUMNS))
    assert verdict_of("single sentences leave the order", evidence(left_order=left)) == verdict


def test_more_than_half_is_true_false_or_open():
    assert most([True, True, False]) is True and most([True, False]) is False
    assert most([True, None, False]) is None and most([True, True, None]) is True
    assert most([None, False, False]) is False


def test_independent_numbers_lie_apart_by_the_wider_of_neither():
    found = apart(Interval(3.0, 2.0, 4.0), Interval(1.0, 0.0, 2.0))
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2 - 2**0.5, 2 + 2**0.5))


#: Verdicts on the published numbers: BERT-base, BERT-large; the last one means "not published".
PUBLISHED = {
    ORDER: (HOLDS, HOLDS),
    "entities come after parsing": (FAILS, FAILS),
    "both metrics give one order": (UNTESTED, FAILS),
    "both sizes give one order": (HOLDS, HOLDS),
    "tasks stay where they are relative to the top": (HOLDS, HOLDS),
    "syntax is more localisable": (UNTESTED, HOLDS),
    "weights of relations and proto-roles are nearly uniform": (UNTESTED, HOLDS),
    "entity weights are weakly concentrated": (UNTESTED, HOLDS),
    "weights lie above the gains": (HOLDS, HOLDS),
    "weights lie in the middle": (UNTESTED, UNTESTED),
    "most is solved early": (HOLDS, HOLDS),
    "entities are solved in layer 1 with a long tail": (HOLDS, HOLDS),
    "relations and proto-roles improve to the top": (HOLDS, HOLDS),
    "more layers help": (HOLDS, HOLDS),
    "the last layers lose": (HOLDS, HOLDS),
    "most tags need no context": (HOLDS, HOLDS),
    "single sentences leave the order": (UNTESTED, UNTESTED),
}


def test_the_rules_judge_the_published_numbers():
    judged = EDGE_PROBING.judge(None)
    assert {one.claim.name: tuple(found.verdict for found in one.papers.values()) for one in judged} == PUBLISHED
    assert {tuple(one.papers) for one in judged} == {("BERT-base", "BERT-large")}


def test_the_published_coreference_on_large_has_the_expected_layer_that_the_authors_print():
    found = EDGE_PROBING.theirs(EDGE_PROBING.numbers)["BERT-large"].expected("coreference")
    assert found.value == pytest.approx(9.47, abs=0.005)
