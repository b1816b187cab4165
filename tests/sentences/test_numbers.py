"""Sentence probing's parts, floors, fates and numbers, against definitions in plain Python and known truths."""

import math
import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from probing.kernel.errors import SentenceDataError
from probing.kernel.stats.paired_tests import PairedCounts, paired_difference
from probing.sentences import numbers, splits
from probing.sentences import numbers as fates
from probing.sentences.examples import (
    MAX_EXAMPLES,
    PARTS,
    Example,
    Labelled,
    SentenceData,
    majority_label,
    majority_right,
)
from probing.sentences.numbers import (
    AS_BEFORE,
    BOUND,
    ELSEWHERE,
    FATES,
    HOLDS,
    LEVEL,
    LOST,
    NEW_READER,
    NOT_FOUND,
    UNDECIDED,
    Cell,
    Fate,
    above_majority,
    best_layers,
    neural,
    outcome,
    property_fate,
    sentences_needed,
    stored_pairs,
    surface_features,
)
from probing.sentences.splits import BALANCED, CAPPED, REPEATED, SAME_WORDS, TWO_LABELS, cut_to, split, words_key
from tests.sentences.sentence_files import rows, sentences

#: A probe that surely holds, one that has surely lost, and one that cannot be decided (the interval is -2.2 to 0.2
#: points).
HELD, LOST_FATE, OPEN = (
    PairedCounts(1900, 30, 30, 1040),
    PairedCounts(1500, 50, 400, 1050),
    PairedCounts(1580, 150, 180, 1090),
)
STEPS = {"frozen": AS_BEFORE, "own": NEW_READER, "mlp": NEW_READER, "mean": ELSEWHERE, "best": ELSEWHERE}


def fate(**found: PairedCounts) -> Fate:
    """Where all probes have lost except for those that are named."""
    return property_fate(dict.fromkeys(STEPS, LOST_FATE) | found, 0.5)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((20, 0, 0, 20), "undecided"),
        ((1500, 0, 0, 1500), "holds"),
        ((1500, 300, 0, 1200), "holds"),
        ((20_000, 100, 400, 9_500), "holds"),
        ((20_000, 100, 800, 9_100), "lost"),
        ((150, 0, 10, 40), "lost"),
        ((150, 10, 13, 27), "undecided"),
        ((0, 0, 0, 0), "undecided"),
    ],
)
def test_a_probe_holds_above_the_bound_and_has_lost_below_zero(counts, expected):
    assert outcome(PairedCounts(*counts), 0.4) == expected
    if sum(counts):
        found = paired_difference(PairedCounts(*counts))
        assert (found.low > BOUND) == (expected == "holds") and (found.high < 0 or expected != "lost")


def test_guessing_next_to_a_base_that_is_little_better_does_not_hold():
    # The base has 1,560 of 3,000 right, above 50 %; the other has 1,540, which is not.
    near = PairedCounts(1530, 10, 30, 1430)
    for majority, expected in ((0.45, "holds"), (0.5, "lost")):
        assert outcome(near, majority) == expected
    # Equal counts at chance have surely lost nothing and hold nothing.
    assert outcome(PairedCounts(1490, 20, 20, 1470), 0.5) == "undecided"


def test_the_fate_is_the_first_step_that_holds():
    assert [outcome(one, 0.5) for one in (HELD, LOST_FATE, OPEN)] == ["holds", "lost", "undecided"]
    reached = set()
    for values in product((HELD, LOST_FATE, OPEN), repeat=len(STEPS)):
        found = dict(zip(STEPS, values, strict=True))
        first = next((step for step in STEPS if found[step] is HELD), None)
        undecided = [step for step in STEPS if found[step] is OPEN]
        slow = STEPS[first] if first else UNDECIDED if undecided else NOT_FOUND
        got = fate(**found)
        assert got.name == slow and got.step == (undecided[0] if slow == UNDECIDED else "")
        reached.add(slow)
    assert reached == set(FATES) and tuple(dict.fromkeys([*STEPS.values()][:3])) == FATES[:2]


def test_an_undecided_fate_names_the_step_that_takes_most_sentences():
    more = PairedCounts(1500, 235, 265, 1000)
    found = fate(own=OPEN, best=more)
    assert (found.name, found.step, found.needed) == (UNDECIDED, "best", math.ceil(9604 * 500 / 3000))
    assert sentences_needed(OPEN) == math.ceil(9604 * 330 / 3000)
    # At that number half the interval of two equal probes is two points.
    n = sentences_needed(more)
    equal = PairedCounts(round(0.55 * n), round(n * 500 / 6000), round(n * 500 / 6000), round(0.28 * n))
    assert paired_difference(equal).low == pytest.approx(BOUND, abs=0.002)


def test_the_neural_probe_contains_the_linear_one():
    own, mlp = Cell("first", 2), Cell("first", 2, "mlp")
    assert [neural(own, {own: right, mlp: 7}) for right in (6, 7, 8)] == [mlp, own, own]
    assert neural(own, {own: 8}) == mlp, "an MLP probe that was not trained is missing, not replaced"


@pytest.mark.parametrize(
    ("right", "n", "majority"), [(100, 200, 0.5), (116, 200, 0.5), (60, 100, 0.55), (0, 10, 0.0), (10, 10, 1.0)]
)
def test_the_base_is_above_its_majority_by_an_exact_binomial_test(right, n, majority):
    p = stats.binomtest(right, n, majority, alternative="greater").pvalue
    assert fates.majority_p(right, n, majority) == pytest.approx(p, abs=1e-12)
    assert above_majority(right, n, majority) == (p <= LEVEL)


def test_the_family_is_all_p_values_that_there_are():
    found = numbers.family_q([0.01, math.nan, 0.04, 0.03])
    assert math.isnan(found[1]) and found[[0, 2, 3]].tolist() == pytest.approx([0.03, 0.04, 0.04])
    assert numbers.family_q([]).size == 0


def test_lower_layers_are_those_of_the_papers_tables():
    assert [numbers.layer_group(layer, 12) for layer in (0, 6, 7, 12)] == ["lower", "lower", "upper", "upper"]
    assert [numbers.layer_group(layer, 8) for layer in (4, 5)] == ["lower", "upper"]
    assert math.isnan(numbers.group_mean([])) and numbers.group_mean([0.25, -0.75]) == -0.25


def test_numbers_without_sentences_are_none():
    assert all(math.isnan(value) for value in numbers.accuracy(0, 0))
    assert all(math.isnan(value) for value in numbers.change(PairedCounts(0, 0, 0, 0))[:3])


def test_the_pairs_of_a_run_are_those_that_reports_need():
    mine = {Cell(pooling, layer): 5 - layer for pooling in ("first", "mean") for layer in range(3)}
    mine |= {Cell("first", layer, reading): 0 for layer in range(3) for reading in ("frozen", "mlp")}
    mine |= {Cell("first", layer, "own", portion): 9 for layer in range(3) for portion in (4, 16)}
    base = {Cell(pooling, layer): layer for pooling in ("first", "mean") for layer in range(3)} | {
        Cell("first", 1, "own", 4): 1
    }
    assert best_layers(mine) == {"first": 0, "mean": 0} and best_layers(base) == {"first": 2, "mean": 2}
    found = {(pair.this, pair.other) for pair in stored_pairs("tuned", mine, "base", base)}
    own = [Cell(pooling, layer) for pooling in ("first", "mean") for layer in range(3)]
    expected = {(cell, cell) for cell in own} | {(Cell("first", layer), Cell("mean", layer)) for layer in range(3)}
    expected |= {(Cell("first", layer, "frozen"), Cell("first", layer)) for layer in range(3)}
    # Against the cell also the best layer of each pooling, the mean, and the MLP probe where dev prefers it.
    expected |= {(Cell(pooling, 0), Cell(pooling, layer)) for pooling in ("first", "mean") for layer in range(3)}
    expected |= {(Cell("mean", layer), Cell("first", layer)) for layer in range(3)}
    assert found == expected
    assert {pair.with_model for pair in stored_pairs("tuned", mine, "base", base)} == {"base"}
    better = {
        pair.this: pair.other for pair in stored_pairs("tuned", mine | {Cell("first", 2, "mlp"): 9}, "base", base)
    }
    assert better[Cell("first", 2, "mlp")] == Cell("first", 2) and Cell("first", 1, "mlp") not in better
    alone = stored_pairs("base", base)
    assert {(pair.this, pair.other) for pair in alone} == {
        (Cell("first", layer), Cell("mean", layer)) for layer in range(3)
    }
    mlp = {Cell("first", 2, "mlp"): 1}
    assert {(pair.this, pair.other) for pair in stored_pairs("base", base | mlp)} - {
        (pair.this, pair.other) for pair in alone
    } == {(Cell("first", 2), Cell("first", 2, "mlp"))}
    assert {pair.with_model for pair in alone} == {"base"} and stored_pairs("base", base, "base", base) == alone


def test_the_best_layer_is_the_lowest_of_those_that_dev_likes_most():
    dev = {"first": [1, 5, 5], "mean": [2, 2, 0]}
    assert best_layers(
        {Cell(pooling, layer): right for pooling, of in dev.items() for layer, right in enumerate(of)}
    ) == {
        "first": 1,
        "mean": 0,
    }


def labels_of(examples) -> Counter:
    return Counter(one.label for one in examples)


def test_a_sentence_its_copies_and_its_inverted_form_are_in_one_part():
    texts = sentences(400)
    inverted = [
        (" ".join(reversed(text.split())).upper(), "odd" if label == "even" else "even") for text, label in texts[:100]
    ]
    data = split("t", rows([*texts, *texts[:30], *inverted]), "ours")
    where: dict[str, set[str]] = {}
    for part, examples in data.parts.items():
        for one in examples:
            where.setdefault(words_key(one), set()).add(part)
    assert max(map(len, where.values())) == 1
    assert sum(len(examples) for examples in data.parts.values()) > 400
    assert data.dropped[REPEATED] == 30


def test_shares_are_60_10_and_30_of_each_class_and_nothing_is_lost_uncounted():
    data = split("t", rows([*sentences(300), *((f"Rare {place}", "rare") for place in range(40))]), "ours")
    assert [len(data.parts[part]) for part in PARTS] == [72, 12, 36]
    assert labels_of(data.parts["dev"]) == {"even": 4, "odd": 4, "rare": 4}
    assert data.dropped == {BALANCED: 340 - 120}


def test_the_order_of_the_file_decides_nothing():
    texts = [*sentences(200), *sentences(20), ("Sentence number 3 has the word w3 .", "even")]
    data = split("t", rows(texts), "ours")
    for seed in range(3):
        assert split("t", rows(random.Random(seed).sample(texts, len(texts))), "ours").parts == data.parts


def test_texts_with_two_labels_go_with_all_their_copies():
    texts = sentences(200)
    data = split("t", rows([*texts, (texts[0][0], "odd"), texts[0], texts[1]]), "ours")
    assert data.dropped[TWO_LABELS] == 3 and data.dropped[REPEATED] == 1
    assert all(one.text != texts[0][0] for examples in data.parts.values() for one in examples)


def test_classes_are_balanced_inside_each_part_after_the_split():
    data = split(
        "t", rows([(text, "even" if place % 4 else "odd") for place, (text, _) in enumerate(sentences(400))]), "ours"
    )
    for examples in data.parts.values():
        assert len(set(labels_of(examples).values())) == 1
    assert sum(map(len, data.parts.values())) == 200 and data.dropped == {BALANCED: 200}


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "c", "d", "e")])
def test_every_beginning_of_the_training_part_is_balanced(labels):
    train = split("t", rows(sentences(500, labels)), "ours").parts["train"]
    for end in range(1, len(train)):
        counts = labels_of(train[:end])
        assert max(counts.values()) - min(counts.get(label, 0) for label in labels) <= 1


def test_quick_is_the_beginning_of_ours(monkeypatch):
    monkeypatch.setattr(splits, "MAX_EXAMPLES", {**MAX_EXAMPLES, "ours": (120, 20, 60), "quick": (40, 9, 20)})
    texts = rows(sentences(400, ("a", "b", "c", "d")))
    ours, quick = split("t", texts, "ours"), split("t", texts, "quick")
    for part, most in zip(PARTS, (40, 8, 20), strict=True):
        assert quick.parts[part] == ours.parts[part][:most] and len(quick.parts[part]) == most
    assert ours.dropped == {CAPPED: 200} and quick.dropped == {CAPPED: 332}


def test_sentevals_protocol_takes_the_parts_as_they_come():
    texts = sentences(30)
    named = [
        *rows(texts[:20], "train"),
        *rows([*texts[20:25], texts[0]], "dev"),
        *rows([*texts[25:], texts[25]], "test"),
    ]
    data = split("t", named, "senteval")
    assert {part: len(examples) for part, examples in data.parts.items()} == {
        "train": 20,
        "dev": 6,
        "test": 6,
    } and not data.dropped


def test_of_two_parts_the_later_is_the_test_part_and_a_seventh_of_the_earlier_is_the_development_part():
    texts = sentences(180)
    for first, second in (("train", "test"), ("dev", "test"), ("train", "dev")):
        data = split("t", [*rows(texts[:140], first), *rows(texts[140:], second)], "ours")
        assert {part: len(examples) for part, examples in data.parts.items()} == {"train": 120, "dev": 20, "test": 40}
        assert {one.text for one in data.parts["test"]} == {text for text, _ in texts[140:]}
    with pytest.raises(
        SentenceDataError, match="t has test sentences only; expected training and test sentences, or none"
    ):
        split("t", rows(texts, "test"), "ours")


def test_what_a_named_test_part_has_leaves_the_training_part():
    texts = sentences(200)
    shuffled = (" ".join(sorted(texts[150][0].split())), "odd")
    data = split("t", [*rows([*texts[:150], texts[160], shuffled], "train"), *rows(texts[150:], "test")], "ours")
    assert data.dropped[REPEATED] == 1 and data.dropped[SAME_WORDS] == 1
    assert len(data.parts["test"]) == 50


def test_a_group_stays_in_one_part_also_where_words_join_two_of_them():
    texts = sentences(400)
    grouped = [replace(row, group=f"g{place // 4}") for place, row in enumerate(rows(texts))]
    grouped.append(Labelled(Example(" ".join(sorted(texts[0][0].split())), "even"), group="g99"))
    data = split("t", grouped, "ours")
    where = {one.text: part for part, examples in data.parts.items() for one in examples}
    for place in range(0, 400, 4):
        assert len({where[text] for text, _ in texts[place : place + 4] if text in where}) <= 1
    together = {where[text] for text, _ in [*texts[:4], *texts[396:]] if text in where}
    assert len(together) == 1


def test_a_part_without_a_class_is_refused():
    with pytest.raises(
        SentenceDataError, match="t: the dev part has no example of 'odd'; every part needs examples of every class"
    ):
        split("t", rows([*sentences(40)[::2], ("One .", "odd")]), "senteval")


def test_pairs_are_repeats_only_if_both_sentences_are_equal():
    pairs = [Labelled(Example("The same premise .", label, text)) for text, label in sentences(100)]
    data = split("t", [*pairs, pairs[0]], "ours")
    assert data.dropped == {REPEATED: 1} and sum(map(len, data.parts.values())) == 100


def data(train: int, dev: int, test: int, labels=("a", "b", "c")) -> SentenceData:
    sizes = dict(zip(PARTS, (train, dev, test), strict=True))
    parts = {
        part: tuple(Example(f"{part} {n}", labels[n % len(labels)]) for n in range(size))
        for part, size in sizes.items()
    }
    return SentenceData("mine", "ours", parts, {"repeated texts": 2})


def sizes(one: SentenceData) -> list[int]:
    return [len(one.parts[part]) for part in PARTS]


def test_a_cut_keeps_the_proportions_of_the_parts_and_of_the_classes():
    whole = data(1800, 300, 900)
    cut = cut_to(whole, 1000)
    assert sizes(cut) == [600, 99, 300]
    assert all(
        set(Counter(one.label for one in cut.parts[part]).values()) == {len(cut.parts[part]) // 3} for part in PARTS
    )
    assert all(cut.parts[part] == whole.parts[part][: len(cut.parts[part])] for part in PARTS), (
        "the beginning of the larger draw"
    )
    assert cut.dropped == whole.dropped


def test_what_is_small_enough_stays_as_it_is_and_every_part_keeps_each_class():
    assert cut_to(data(60, 9, 30), 99) == data(60, 9, 30)
    assert sizes(cut_to(data(900, 9, 90), 50)) == [45, 3, 3]


def examples(labels: str) -> list[Example]:
    return [Example(f"Sentence {place}", label) for place, label in enumerate(labels)]


def test_the_majority_label_is_the_commonest_of_training_and_of_ties_the_first():
    assert majority_label(examples("abb")) == "b"
    assert majority_label(examples("bbaa")) == "a"
    assert majority_right(examples("bbaa"), examples("abbb")) == 1


def test_surface_features_are_length_first_letter_final_mark_and_training_words():
    train = [Example("The dog ran .", "x"), Example("the dog ?", "y")]
    features = surface_features(train, [Example("The cat sat on a dog ?", "x"), Example("oh", "y")])
    assert features.dtype == np.float32
    # Words of training by frequency, then alphabetically: dog, the, ., ?, ran.
    assert features[0].tolist() == [7, 22, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0]
    assert features[1].tolist() == [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]


def test_pairs_have_the_shape_of_both_and_only_2000_words_count():
    train = [Example(f"w{place} w{place + 1}", "x", "Yes .") for place in range(3000)]
    features = surface_features(train, train[:2])
    assert features.shape == (2, 24 + 2000)
    assert features[0, :3].tolist() == [2, 5, 0] and features[0, 12:16].tolist() == [2, 5, 1, 1]


@pytest.mark.parametrize("text", ["", " ", "."])
def test_what_has_no_word_has_features(text):
    assert np.isfinite(surface_features([Example(text, "x")], [Example(text, "x")])).all()


#: Shares of sentences on which the two probes disagree, and the base's accuracy.
DISAGREE, BASE = (0.05, 0.10, 0.15, 0.20, 0.30), 0.75
DRAWS = 4_000
#: Steps of a chain.
CHAIN = 5

outcome_of = cache(lambda *counts: outcome(PairedCounts(*counts), 0.5))


def drawn(n: int, disagree: float, difference: float, draws: int = DRAWS) -> np.ndarray:
    """(draws,) outcomes of a fine-tuned model's probe with this true difference from the base's, on n test
    sentences.
    """
    only_tuned, only_base = (disagree + difference) / 2, (disagree - difference) / 2
    shares = (BASE - only_base, only_tuned, only_base, 1 - BASE - only_tuned)
    counts = np.random.default_rng([n, int(1000 * disagree), int(-1000 * difference)]).multinomial(
        n, shares, size=draws
    )
    return np.array([outcome_of(*one) for one in counts.tolist()])


@pytest.mark.parametrize("n", [600, 3_000])
@pytest.mark.parametrize("disagree", DISAGREE)
def test_equal_probes_have_rarely_lost(n, disagree):
    assert (drawn(n, disagree, 0.0) == LOST).mean() <= 0.04


@pytest.mark.parametrize(("n", "least"), [(3_000, 0.75), (6_000, 0.95)])
def test_equal_probes_hold_with_enough_sentences(n, least):
    assert (drawn(n, 0.15, 0.0) == HOLDS).mean() >= least


@pytest.mark.parametrize("n", [1_000, 3_000])
@pytest.mark.parametrize("disagree", DISAGREE)
def test_probes_that_are_three_points_worse_rarely_hold_in_a_whole_chain(n, disagree):
    # Independent steps: no dependence between them makes a probe that holds more likely.
    chains = drawn(n, disagree, -0.03, CHAIN * DRAWS // 2).reshape(-1, CHAIN)
    assert (chains == HOLDS).any(axis=1).mean() <= 0.05


def test_a_probe_that_guesses_rarely_holds_next_to_a_base_that_is_little_better():
    # 51 % against 50 %, of which half is the majority: nine tenths hold by the comparison alone.
    counts = np.random.default_rng(7).multinomial(6_000, (0.48, 0.02, 0.03, 0.47), size=DRAWS).tolist()
    assert np.mean([outcome_of(*one) == HOLDS for one in counts]) <= 0.06
    assert np.mean([outcome(PairedCounts(*one), 0.4) == HOLDS for one in counts]) >= 0.9


def test_what_is_undecided_is_decided_with_more_sentences():
    assert (drawn(600, 0.30, -0.03) == UNDECIDED).mean() > 0.3
    assert (drawn(6_000, 0.15, -0.03) == LOST).mean() > 0.95
