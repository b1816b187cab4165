"""What sentence-level probing asks: one label of a sentence or a pair (Conneau et al. 2018, Mosbach et al. 2020)."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

#: The parts of a task's data, in the order in which they are read.
PARTS = ("train", "dev", "test")
#: How a task's sentences become parts: our own protocol, a smaller sample by the same rule, and the parts as SentEval's
#: files have them.
OURS, QUICK, SENTEVAL = "ours", "quick", "senteval"
PROTOCOLS = (OURS, QUICK, SENTEVAL)
#: Maximum number of sentences of each part, by protocol; None: all.
MAX_EXAMPLES: Mapping[str, tuple[int, int, int] | None] = {
    OURS: (12_000, 2_000, 6_000),
    QUICK: (4_000, 1_000, 2_000),
    SENTEVAL: None,
}
#: How a sentence becomes one vector: the state of its first token, or the mean over all its tokens, special ones
#: included.
FIRST, MEAN = "first", "mean"
POOLINGS = (FIRST, MEAN)
#: Probes of a fine-tuned model: its own, the base's probe unchanged, an MLP probe.
OWN, FROZEN, MLP = "own", "frozen", "mlp"
READINGS = (OWN, FROZEN, MLP)
#: Stored in place of a label's number for a test sentence that a model cannot take.
LEFT_OUT = 255


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence, or a pair of sentences, with its gold label."""

    text: str
    label: str
    pair: str = ""

    @property
    def sha256(self) -> str:
        """sha256 of text, pair and label: its first 16 digits name an example whose words may not be stored."""
        return hashlib.sha256("\t".join((self.text, self.pair, self.label)).encode()).hexdigest()


@dataclass(frozen=True)
class SentenceData:
    """A task's data, ready for probes; ``task`` is of a user's file its name without the ending."""

    task: str
    protocol: str
    #: In a fixed order: a smaller sample is the beginning of a larger one, class by class.
    parts: Mapping[str, tuple[Example, ...]]
    #: Reason -> number of examples that were left out.
    dropped: Mapping[str, int] = field(default_factory=dict)
    said: str = field(default="", compare=False)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training part, sorted; predictions are stored as indices into this list."""
        return tuple(sorted({example.label for example in self.parts["train"]}))

    @cached_property
    def sha256(self) -> str:
        """Fingerprint of all parts in their order."""
        lines = (f"{part}\t{example.sha256}" for part in PARTS for example in self.parts[part])
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Labelled:
    """A row of a file; ``part`` is train, dev or test if the file says so, else empty."""

    example: Example
    part: str = ""
    #: Rows of one group stay in one part; empty: only rows with the same words do.
    group: str = ""


def majority_label(train: Sequence[Example]) -> str:
    """The commonest label of the training part; of equally common ones the first in sorted order."""
    counts = Counter(example.label for example in train)
    return min(counts, key=lambda label: (-counts[label], label))


def majority_right(train: Sequence[Example], part: Sequence[Example]) -> int:
    """How many examples of a part have the commonest training label."""
    answer = majority_label(train)
    return sum(example.label == answer for example in part)
