"""Numbers on facts: intervals over answers, kinds of answers, exits, totals, returns, onsets, fates and what is
forgotten.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy
from scipy import stats

from probing.facts.forgotten import (
    FATES,
    PARTS,
    RelationLayers,
    Transitions,
    doubles,
    fate_of,
    first_known_by_both,
    forgetting,
    layers_to_recover,
    part_of,
    share_forgotten,
    unpaired_p,
)
from probing.facts.totals import (
    KINDS,
    ExitCounts,
    best_layer,
    compare_early_exit,
    hits_of,
    intermediate_share,
    knowledge,
    onset,
    piece,
    plain,
    shares,
    words,
)
from probing.kernel.report import COLUMNS, shown_baselines
from probing.kernel.stats.intervals import wilson
from probing.kernel.stats.paired_tests import (
    ClusterSums,
    PairedCounts,
    answer_interval,
    each_interval,
    mcnemar_exact,
)
from probing.kernel.text import NO_TEXT, SPACE
from tests.reference.facts import classify


def sums_of(facts):
    """The sums of facts as (relation, answer, x), one entry per relation, by leaving out each answer in turn."""
    whole, found = np.array([x for *_, x in facts], float), []
    for relation in sorted({one for one, *_ in facts}):
        own = np.array([x for r, _, x in facts if r == relation], float)
        answers = sorted({answer for r, answer, _ in facts if r == relation})
        without = [[x for r, a, x in facts if r == relation and a != answer] for answer in answers]
        others = [[x for r, a, x in facts if (r, a) != (relation, answer)] for answer in answers]
        within = sum((np.mean(rest) - own.mean()) ** 2 for rest in without if rest)
        overall = sum((np.mean(rest) - whole.mean()) ** 2 for rest in others if rest)
        found.append((len(own), own.sum(), (own**2).sum(), len(answers), within, overall))
    return ClusterSums(*np.array(found, float).T)


def planted(random):
    """Facts of three relations, one of which has a single answer."""
    answers = [
        (relation, answer, random.random())
        for relation, many in (("P1", 1), ("P2", 30), ("P3", 9))
        for answer in range(many)
    ]
    return [
        (relation, answer, float(random.random() < known))
        for relation, answer, known in answers
        for _ in range(random.integers(2, 40))
    ]


def test_each_and_micro_are_the_jackknifes_by_hand():
    facts = planted(np.random.default_rng(3))
    sums = sums_of(facts)
    low, high = each_interval(sums)
    shares = np.asarray(sums.total) / np.asarray(sums.n)
    ordinary = np.sqrt(shares[0] * (1 - shares[0]) / (sums.n[0] - 1))
    assert (high - low)[0] == pytest.approx(2 * stats.t.ppf(0.975, sums.n[0] - 1) * ordinary)
    error = np.sqrt(sums.within[1] * 29 / 30)
    assert (low[1], high[1]) == pytest.approx(
        (shares[1] - stats.t.ppf(0.975, 29) * error, shares[1] + stats.t.ppf(0.975, 29) * error)
    )
    clusters = np.sum(sums.clusters)
    half = stats.t.ppf(0.975, clusters - 1) * np.sqrt(np.sum(sums.overall) * (clusters - 1) / clusters)
    value = np.sum(sums.total) / np.sum(sums.n)
    assert answer_interval(sums, "micro") == pytest.approx((value - half, value + half))
    alone = ClusterSums(*(one[1:2] for one in sums))
    assert answer_interval(alone, "macro") == pytest.approx((low[1], high[1]))


def test_a_fact_per_answer_gives_nearly_the_interval_over_facts():
    random = np.random.default_rng(0)
    facts = [("P1", str(number), float(random.random() < 0.4)) for number in range(1500)]
    hits = int(sum(x for *_, x in facts))
    assert answer_interval(sums_of(facts)) == pytest.approx(wilson(hits, len(facts)), abs=2e-3)


def test_what_is_not_known_has_no_interval_and_ends_stay_in_bounds():
    nothing = ClusterSums(*([np.nan] for _ in range(6)))
    assert np.isnan(answer_interval(nothing)).all() and np.isnan(each_interval(nothing)).all()
    assert np.isnan(answer_interval(ClusterSums(*([0.0] for _ in range(6))), "macro")).all()
    assert answer_interval(ClusterSums([9], [0], [0], [3], [0], [0]), "macro") == (0, 0)
    assert answer_interval(ClusterSums([4], [-3], [3], [2], [0.9], [0.9]), least=-1)[0] == -1


def test_it_holds_the_truth_if_answers_are_drawn_again():
    random, centres, held = np.random.default_rng(5), np.linspace(-1, 1, 6), {"micro": 0, "macro": 0, "facts": 0}
    truth = np.mean([scipy.special.expit(centre + 1.5 * random.standard_normal(200_000)).mean() for centre in centres])
    for _ in range(400):
        n = random.integers(2, 40, (6, 30))
        x = random.binomial(n, scipy.special.expit(centres[:, None] + 1.5 * random.standard_normal(n.shape)))
        of, known = n.sum(1), x.sum(1)
        within = (((known - x.T) / (of - n.T) - known / of) ** 2).sum(0)
        overall = (((x.sum() - x) / (n.sum() - n) - x.sum() / n.sum()) ** 2).sum(1)
        sums = ClusterSums(of, known, known, np.full(6, 30), within, overall)
        ends = {average: answer_interval(sums, average) for average in ("micro", "macro")} | {
            "facts": wilson(x.sum(), n.sum())
        }
        for name, (low, high) in ends.items():
            held[name] += low <= truth <= high
    assert all(368 <= held[name] <= 396 for name in ("micro", "macro")), held
    assert held["facts"] < 240


ASKED = {
    "right": False,
    "subject_answers": ("Paris", "Lyon"),
    "relation_answers": ("Paris", "Lyon", "Berlin", "Zürich", "New York"),
    "prompt": "Victor Hugo's friend was born in [MASK] .",
}


@pytest.mark.parametrize(
    ("text", "starts_word", "kind"),
    [
        ("lyon", True, "subject answer"),
        ("berlin", True, "relation answer"),
        ("zurich", True, "relation answer"),
        ("hugo", True, "copied"),
        ("in", True, "copied"),
        (".", True, "punctuation"),
        ("##,", False, "punctuation"),
        ("##berlin", False, "sub-word"),
        ("##s", False, "sub-word"),
        ("mask", True, "other word"),
        ("york", True, "other word"),
        ("it", True, "other word"),
        ("Lyon", True, "subject answer"),
        ("Zürich", True, "relation answer"),
        ("Hugo", True, "copied"),
        ("Berlin", False, "sub-word"),
        (".", False, "punctuation"),
        (SPACE, True, "punctuation"),
        # Half a character has no text.
        (NO_TEXT, True, "punctuation"),
        (NO_TEXT, False, "punctuation"),
        (f"Lyon{NO_TEXT}", True, "subject answer"),
    ],
)
def test_a_token_is_of_the_first_kind_that_holds(text: str, starts_word: bool, kind: str):
    assert classify(text, starts_word=starts_word, **ASKED) == kind
    assert classify(text, starts_word=starts_word, **ASKED | {"right": True}) == "right"
    assert kind in KINDS


def test_the_right_answer_below_rank_1_is_a_recorded_answer():
    assert classify("paris", starts_word=True, **ASKED) == "subject answer"


def test_a_word_is_compared_without_case_and_accents():
    assert piece("Málaga", True).word == "malaga" and piece("Málaga", False).word is None


def test_words_are_compared_without_case_and_accents_and_the_mask_is_none():
    assert plain(" Málaga ") == plain("malaga") == "malaga"
    assert words("O'Neil lives in [MASK], Köln.") == {"o", "neil", "lives", "in", "koln"}


def test_shares_add_up_to_one_and_have_every_kind():
    found = shares({"right": 3, "copied": 1})
    assert found["right"] == 3 / 4
    assert list(found) == list(KINDS)
    assert sum(value or 0.0 for value in found.values()) == 1
    assert set(shares({}).values()) == {None}
    with pytest.raises(ValueError, match="unknown kinds"):
        shares({"wrong": 1})


def test_shares_are_those_of_the_scored_half_at_the_chosen_layers():
    # Layers 1, 2 and 3 (the last); 10 scored facts a relation, of which the last layer knows 4 and 5.
    early = ExitCounts(
        "early",
        {1: 2, 2: 9, 3: 4},
        {1: PairedCounts(1, 0, 3, 6), 2: PairedCounts(3, 3, 1, 3), 3: PairedCounts(4, 0, 0, 6)},
        8,
    )
    late = ExitCounts(
        "late",
        {1: 0, 2: 3, 3: 6},
        {1: PairedCounts(0, 0, 5, 5), 2: PairedCounts(2, 1, 3, 4), 3: PairedCounts(5, 0, 0, 5)},
        6,
    )
    found = compare_early_exit([early, late])
    assert found.layers == {"early": 2, "late": 3}
    assert found.n == 10 + 10
    assert found.last_layer == (4 + 5) / 20
    assert found.early_exit == (6 + 5) / 20
    assert found.union == (8 + 6) / 20
    assert found.difference.value == pytest.approx((11 - 9) / 20)
    assert found.difference.p == mcnemar_exact(3, 1)


def test_of_equal_layers_the_last_is_chosen():
    assert best_layer({1: 4, 2: 4, 3: 3}) == 2
    assert best_layer({1: 0, 2: 0, 3: 0}) == 3
    with pytest.raises(ValueError, match="no layers"):
        best_layer({})


def test_a_relation_without_facts_to_choose_on_exits_at_the_last_layer():
    found = compare_early_exit([ExitCounts("small", {}, {1: PairedCounts(0, 1, 0, 0), 2: PairedCounts(0, 0, 0, 1)}, 1)])
    assert found.layers == {"small": 2}
    assert (found.last_layer, found.early_exit, found.union) == (0, 0, 1)


def test_without_scored_facts_there_is_no_value():
    found = compare_early_exit([ExitCounts("empty", {1: 1, 2: 0}, {}, 0)])
    assert (found.n, found.last_layer, found.early_exit, found.union, found.difference.value) == (
        0,
        None,
        None,
        None,
        None,
    )


def test_nothing_known_has_no_intermediate_share():
    assert intermediate_share(0.0, 0.0) is None
    assert intermediate_share(None, None) is None


def test_all_known_at_the_last_layer_leaves_nothing_to_inner_ones():
    assert intermediate_share(0.3, 0.3) == 0.0


def test_knowledge_of_nothing_has_no_values():
    found = knowledge([])
    assert (found.last.value, found.total.value, found.intermediate_share) == (None, None, None)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([9, 4, 1, 1], 2),
        ([9, 1, 3, 1], 1),
        ([1, 5, 1], None),
        ([9, 4, 2], None),
        ([9], None),
        ([], None),
    ],
)
def test_a_lost_answer_returns_at_the_smallest_n_with_rank_one(ranks, expected):
    assert layers_to_recover(ranks) == expected


def test_the_rank_that_counts_can_be_another():
    assert layers_to_recover([40, 12, 9, 1], k=10) == 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.9, 0.1, 0.2, 0.4], 2),  # The embeddings do not count; half exactly does.
        ([0.0, 0.0, 0.0, 0.4], 3),
        ([0.0, 0.8, 0.1, 0.4], 1),  # What is lost again in between was reached.
        ([0.0, 0.5, 0.5, 0.0], None),
        ([0.0, 0.5, 0.5, math.nan], None),
    ],
)
def test_onset_is_the_first_layer_with_half_of_the_last_ones_value(values, expected):
    assert onset(dict(enumerate(values)), 3) == expected


def test_a_relation_without_a_value_at_the_last_layer_has_no_onset():
    assert onset({0: 0.5, 1: 0.5}, 3) is None
    assert onset({0: 0.5}, 0) is None


def test_the_count_behind_a_share_is_whole():
    assert all(hits_of(hits / n, n) == hits for n in (1, 3, 7, 1000) for hits in range(n + 1))


def test_a_fact_is_known_up_to_rank_k_and_not_beyond():
    assert [part_of(1, 1, 1), part_of(2, 1, 1), part_of(1, 2, 1), part_of(2, 2, 1)] == [
        "kept",
        "gained",
        "lost",
        "never",
    ]
    assert [part_of(10, 10, 10), part_of(11, 10, 10), part_of(10, 11, 10), part_of(11, 11, 10)] == [
        "kept",
        "gained",
        "lost",
        "never",
    ]


#: Ranks of a base that has the fact first at the last layer only.
BASE = [9, 9, 9, 1]


def test_the_first_fate_that_holds_counts():
    assert fate_of([9, 1, 1, 1], [9, 2, 1, 50]) == "still_inside"
    assert fate_of([9, 1, 9, 1], [9, 1, 1, 50]) == "still_inside"
    assert fate_of([9, 1, 9, 1], [9, 9, 1, 50]) == "moved"
    assert fate_of(BASE, [9, 1, 9, 50]) == "moved"
    assert fate_of(BASE, [9, 2, 9, 100]) == "suppressed"
    assert fate_of(BASE, [9, 100, 9, 101]) == "displaced"
    assert fate_of(BASE, [9, 101, 101, 101]) == "not_read"


def test_the_embeddings_hold_nothing_and_the_last_layer_is_not_inner():
    assert fate_of([1, 9, 9, 1], [1, 101, 101, 101]) == "not_read"
    assert fate_of([1, 9, 9, 1], [1, 2, 2, 100]) == "suppressed"
    # Of a base with one layer less, layer 2 is the last.
    assert fate_of([9, 9, 1], [9, 9, 1, 50]) == "moved"


def test_first_known_by_both_means_the_same_inner_layer():
    assert first_known_by_both([9, 9, 1, 1], [9, 9, 1, 9]) == 2
    assert first_known_by_both([9, 1, 9, 1], [9, 9, 1, 9]) is None
    assert first_known_by_both([1, 9, 9, 1], [1, 1, 9, 1]) is None


def test_every_lost_fact_has_one_fate_and_every_fact_one_part():
    ranks = (1, 2, 100, 101)
    for base, *model in itertools.product(ranks, repeat=4):
        assert part_of(base, model[-1], 1) in PARTS
        assert fate_of([1, base, *model], [1, *model]) in FATES


def test_difference_is_that_of_the_fine_tuned_model_to_its_base():
    found = Transitions(
        kept=5, gained=2, lost=8, never=5, still_inside=3, moved=1, suppressed=2, displaced=1, not_read=1
    )
    assert found.n == 20
    assert found.difference.value == (2 - 8) / 20
    assert found.difference.p == mcnemar_exact(2, 8)


def test_a_table_keeps_the_baselines_of_enough_facts_and_every_other_number():
    table = pd.DataFrame(
        {"n": [49, 50], "value": [0.5, 0.25], "swapped": [0.125, 0.0], **{name: [0.75, 0.75] for name in COLUMNS}}
    )
    shown = shown_baselines(table)
    assert shown[list(COLUMNS)].isna().all(axis=1).tolist() == [True, False]
    others = ["n", "value", "swapped"]
    assert shown[others].equals(table[others]) and shown.loc[1].equals(table.loc[1])
    assert table.notna().all(axis=None), "the table that is given stays unchanged"


def test_a_table_without_baselines_or_numbers_of_facts_is_the_same():
    for table in (pd.DataFrame({"n": [1], "value": [0.5]}), pd.DataFrame({"majority": [0.5]})):
        assert shown_baselines(table) is table


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
