"""The three definitions on relations of 50 facts, whose counts are given here."""

import numpy as np
import pytest
from scipy import stats

from probing.core.knowledge.forgetting import RelationLayers, doubles, forgetting, share_forgotten, unpaired_p
from probing.core.stats.paired_tests import PairedCounts, benjamini_hochberg, mcnemar_exact


def relation(name: str, last: int, n: int = 50, **inner: tuple[int, int]) -> RelationLayers:
    """Inner layer l1, l2, ... -> (facts that it alone knows, facts that the last layer alone knows)."""
    layers = {
        int(layer[1:]): PairedCounts(last - last_only, inner_only, last_only, n - last - inner_only)
        for layer, (inner_only, last_only) in inner.items()
    }
    return RelationLayers(name, layers)


#: Forgotten by whom, as planted: layers of 50 facts each.
PLANTED = [
    relation("all", 10, l1=(0, 5), l2=(25, 0)),
    relation("caption only", 10, l1=(1, 1), l2=(1, 0)),
    relation("none", 30, l1=(0, 10), l2=(0, 5)),
    # Nested hits: pairing sees what the unpaired test cannot.
    relation("strict only", 20, l1=(0, 5), l2=(9, 0)),
    # Hits far apart: the unpaired test sees less noise than there is.
    relation("authors only", 18, l1=(0, 5), l2=(21, 11)),
]


def unpaired(one: int, other: int, n: int) -> float:
    """The authors' test, on the hits themselves."""
    first, second = ([1] * hits + [0] * (n - hits) for hits in (one, other))
    return stats.ttest_ind(first, second, equal_var=True).pvalue


def test_each_definition_forgets_what_was_planted():
    found = {one.relation: one for one in forgetting(PLANTED)}
    by = {
        name: [one.relation for one in found.values() if getattr(one, name)]
        for name in ("caption", "authors", "strict")
    }
    assert by["caption"] == ["all", "caption only", "strict only", "authors only"]
    assert by["authors"] == ["all", "authors only"]
    assert by["strict"] == ["all", "strict only"]


def test_the_best_inner_layer_its_drop_and_p_values_are_stated():
    found = {one.relation: one for one in forgetting(PLANTED)}
    best = found["all"]
    assert (best.n, best.last, best.best_inner, best.best_layer) == (50, 10 / 50, 35 / 50, 2)
    assert best.drop == pytest.approx((35 - 10) / 50)
    assert best.p_authors == pytest.approx(unpaired(35, 10, 50))
    tests = [(one.relation, layer) for one in PLANTED for layer in (1, 2)]
    p_values = [mcnemar_exact(c.first_only, c.second_only) for one in PLANTED for c in one.layers.values()]
    adjusted = dict(zip(tests, benjamini_hochberg(p_values), strict=True))
    assert {one.family_size for one in found.values()} == {5 * 2}
    assert best.p_strict == pytest.approx(adjusted["all", 2])
    assert found["none"].p_strict is None
    assert found["none"].drop == pytest.approx((25 - 30) / 50)


@pytest.mark.parametrize(("one", "other", "n"), [(35, 10, 50), (3, 2, 7), (49, 1, 50), (0, 4, 9), (500, 481, 1000)])
def test_the_t_test_from_counts_is_the_one_on_the_hits(one: int, other: int, n: int):
    assert unpaired_p(one, other, n) == pytest.approx(unpaired(one, other, n), rel=1e-9)


def test_the_t_test_without_spread_or_facts_has_no_value_or_is_certain():
    assert unpaired_p(5, 5, 5) is None
    assert unpaired_p(0, 0, 5) is None
    assert unpaired_p(1, 0, 1) is None
    assert unpaired_p(5, 0, 5) == 0.0
    with pytest.raises(ValueError, match="of 5 facts"):
        unpaired_p(6, 0, 5)


def test_strict_needs_a_drop_of_two_points():
    exactly = relation("exactly", 100, n=1000, l1=(20, 0))
    below = relation("below", 100, n=1000, l1=(19, 0))
    found = forgetting([exactly, below])
    assert [one.strict for one in found] == [True, False]
    assert found[1].p_strict is not None and found[1].p_strict < 0.05


def test_strict_needs_drop_and_significance_at_one_and_the_same_layer():
    # Layer 1: a big drop, not significant; layer 2: significant, too small a drop.
    found = forgetting([relation("split", 500, n=1000, l1=(250, 225), l2=(15, 0))])
    assert found[0].p_strict is not None and found[0].p_strict < 0.05
    assert found[0].drop == pytest.approx(0.025)
    assert not found[0].strict


def test_a_larger_family_makes_strict_harder():
    alone = forgetting([relation("one", 20, l1=(8, 0))])[0]
    crowd = forgetting([relation("one", 20, l1=(8, 0)), *(relation(f"other {n}", 20, l1=(3, 3)) for n in range(40))])[0]
    assert (alone.strict, crowd.strict) == (True, False)
    assert (alone.family_size, crowd.family_size) == (1, 41)


def test_equal_layers_are_not_forgetting_and_of_equal_inner_layers_the_first_is_best():
    found = forgetting([relation("even", 10, l1=(2, 2), l2=(0, 0))])[0]
    assert (found.caption, found.authors, found.strict, found.best_layer, found.drop) == (False, False, False, 1, 0.0)


def test_relations_without_facts_or_inner_layers_are_never_forgotten():
    found = forgetting(
        [RelationLayers("nothing", {}), relation("no facts", 0, n=0, l1=(0, 0)), relation("some", 1, l1=(30, 0))]
    )
    assert [one.caption for one in found] == [False, False, True]
    assert found[0].last is None and found[1].last is None
    assert found[2].family_size == 1


def test_counts_of_other_facts_and_repeated_relations_are_refused():
    with pytest.raises(ValueError, match="count different facts"):
        RelationLayers("mixed", {1: PairedCounts(1, 0, 0, 1), 2: PairedCounts(1, 0, 0, 2)})
    with pytest.raises(ValueError, match="given twice"):
        forgetting([PLANTED[0], PLANTED[0]])


def test_doubling_is_at_least_twice_the_best_inner_layer_and_that_above_nothing():
    assert doubles(20, 10)
    assert not doubles(19, 10)
    assert not doubles(20, 0)


def test_only_the_authors_divide_by_one_key_too_many():
    assert share_forgotten("authors", 18, 41, "trex") == 18 / 42
    assert share_forgotten("authors", 18, 30, "trex") == 18 / 42
    assert share_forgotten("authors", 1, 3, "google_re") == 1 / 4
    assert share_forgotten("caption", 18, 41, "trex") == 18 / 41
    assert share_forgotten("strict", 0, 0, "trex") is None
    with pytest.raises(ValueError, match="expected one of"):
        share_forgotten("published", 1, 41, "trex")


def test_random_relations_without_forgetting_are_rarely_called_forgotten_by_strict():
    rng = np.random.default_rng(0)
    families = 0
    for _ in range(50):
        hits = rng.random((20, 200, 4)) < 0.3
        counts = [
            RelationLayers(
                f"r{r}",
                {
                    layer: PairedCounts(
                        int((one[:, layer] & one[:, 3]).sum()),
                        int((one[:, layer] & ~one[:, 3]).sum()),
                        int((~one[:, layer] & one[:, 3]).sum()),
                        int((~one[:, layer] & ~one[:, 3]).sum()),
                    )
                    for layer in range(3)
                },
            )
            for r, one in enumerate(hits)
        ]
        families += any(one.strict for one in forgetting(counts))
    assert families <= 50 * 0.12
