"""Total knowledge is a union over layers, and what it leaves to the inner ones."""

import pytest

from probing.core.knowledge.total import KnowledgeCounts, intermediate_share, knowledge

COUNTS = [KnowledgeCounts("P19", 10, 1, 4), KnowledgeCounts("P36", 30, 15, 18)]


def test_intermediate_share_of_the_papers_bert_on_google_re():
    assert intermediate_share(0.15, 0.10) == pytest.approx((15 - 10) / 15)


def test_nothing_known_has_no_intermediate_share():
    assert intermediate_share(0.0, 0.0) is None
    assert intermediate_share(None, None) is None


def test_all_known_at_the_last_layer_leaves_nothing_to_inner_ones():
    assert intermediate_share(0.3, 0.3) == 0.0


@pytest.mark.parametrize(("total", "last"), [(0.1, 0.2), (1.5, 0.2), (0.5, -0.1), (float("nan"), 0.1)])
def test_shares_that_cannot_be_are_an_error(total, last):
    with pytest.raises(ValueError, match="expected 0 <= last <= total <= 1"):
        intermediate_share(total, last)


def test_macro_knowledge_by_hand():
    found = knowledge(COUNTS, "macro")
    last, total = (1 / 10 + 15 / 30) / 2, (4 / 10 + 18 / 30) / 2
    assert (found.last.value, found.total.value) == pytest.approx((last, total))
    assert found.intermediate_share == pytest.approx((total - last) / total)
    assert found.average == "macro"


def test_micro_knowledge_by_hand():
    found = knowledge(COUNTS, "micro")
    assert (found.last.value, found.total.value) == ((1 + 15) / 40, (4 + 18) / 40)
    assert found.intermediate_share == pytest.approx((22 - 16) / 22)


def test_knowledge_of_nothing_has_no_values():
    found = knowledge([])
    assert (found.last.value, found.total.value, found.intermediate_share) == (None, None, None)


def test_an_average_without_a_name_is_an_error():
    with pytest.raises(ValueError, match="'mean', expected one of"):
        knowledge(COUNTS, "mean")


def test_a_last_layer_that_knows_more_than_all_layers_is_an_error():
    with pytest.raises(ValueError, match="expected 0 <= last <= any <= n"):
        KnowledgeCounts("P19", 10, 5, 4)
