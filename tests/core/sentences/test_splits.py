"""Parts by hash: no copy crosses them, classes are equal, smaller draws are beginnings of larger ones."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from probing.core.errors import SentenceDataError
from probing.core.sentences import splits
from probing.core.sentences.example import MAX_EXAMPLES, PARTS, Example
from probing.core.sentences.readers.labelled_sentence import Labelled
from probing.core.sentences.splits import BALANCED, CAPPED, REPEATED, SAME_WORDS, TWO_LABELS, split, words_key
from tests.core.sentences.sentence_files import rows, sentences


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
    assert (
        MAX_EXAMPLES["quick"] is not None
        and MAX_EXAMPLES["ours"] is not None
        and MAX_EXAMPLES["quick"] < MAX_EXAMPLES["ours"]
    )


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
