"""The floor of every accuracy: always the commonest label."""

from collections import Counter
from collections.abc import Sequence

from probing.sentences.examples import Example


def majority_label(train: Sequence[Example]) -> str:
    """The commonest label of the training part; of equally common ones the first in sorted order."""
    counts = Counter(example.label for example in train)
    return min(counts, key=lambda label: (-counts[label], label))


def majority_right(train: Sequence[Example], part: Sequence[Example]) -> int:
    """How many examples of a part have the commonest training label."""
    answer = majority_label(train)
    return sum(example.label == answer for example in part)
