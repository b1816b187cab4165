"""A smaller draw of a task's data."""

from collections import Counter

from probing.core.sentences.example import PARTS, Example, SentenceData
from probing.core.sentences.splits import cut_to


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
