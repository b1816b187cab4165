"""The published numbers of edge probing: typed right."""

import pytest

from probing.core.edges.numbers import expected_layer, k_gains
from probing.core.edges.published import PublishedEdges

PAPER = PublishedEdges.read()
#: Encoder and task -> expected layer and K of the gains, as recomputed from the authors' stored table by equation 4 of
#: the paper.
EXPECTED = {
    ("base", "pos"): (1.76, 1.72),
    ("large", "pos"): (3.39, 1.60),
    ("base", "constituents"): (2.38, 1.26),
    ("large", "constituents"): (3.79, 1.57),
    ("base", "dependencies"): (2.52, 1.18),
    ("large", "dependencies"): (5.69, 1.15),
    ("base", "entities"): (2.42, 1.42),
    ("large", "entities"): (4.64, 1.61),
    ("base", "srl"): (2.59, 1.21),
    ("large", "srl"): (6.54, 1.31),
    ("base", "coreference"): (3.62, 0.63),
    ("large", "coreference"): (9.47, 0.60),
    ("base", "proto-roles"): (4.29, 0.45),
    ("large", "proto-roles"): (9.93, 0.33),
    ("base", "relations"): (4.16, 0.50),
    ("large", "relations"): (9.40, 0.50),
}


#: The table has F1 to a hundredth of a point; the expected layers were computed before that rounding, which moves POS
#: most.
ROUNDED = 0.015


@pytest.mark.parametrize(("model", "task"), EXPECTED)
def test_the_published_f1s_give_the_published_expected_layers_and_k(model, task):
    f1 = PAPER.task(task).f1[model]
    layer, bits = EXPECTED[model, task]
    assert float(expected_layer(f1)) == pytest.approx(layer, abs=ROUNDED)
    assert float(k_gains(f1)) == pytest.approx(bits, abs=ROUNDED)


def test_every_layer_of_eight_tasks_and_two_encoders_is_a_row():
    assert len(PAPER.scores) == 8 * 13 + 8 * 25
    rows = {(row.model, row.task, row.layer): row.f1 for row in PAPER.scores}
    assert rows["base", "pos", 0] == pytest.approx(0.8840) and rows["large", "relations", 24] == pytest.approx(0.8417)
    assert {row.task for row in PAPER.scores} == {task for _, task in EXPECTED}


def test_a_task_on_the_papers_own_data_stands_for_it_and_ours_where_there_is_none():
    there = {"pos", "edges-pos-ontonotes", "srl", "entities-gum"}
    assert PAPER.stored_tasks(there) == {"pos": "edges-pos-ontonotes", "srl": "srl"}
