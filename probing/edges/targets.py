"""What edge probing asks: labels of one span or of a pair (Tenney et al. 2019); its kinds of probes and labels."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

#: P(l) mixes the layers 0..l; a probe at l reads layer l alone; the full mix reads all layers.
CUMULATIVE, AT, FULL = KINDS = ("cumulative", "at", "full")
#: The gold labels, and those of the control task (Hewitt and Liang 2019).
TASK, CONTROL = LABELS = ("task", "control")


def layers_of_kind(kind: str, last: int) -> tuple[int, ...]:
    """The layers l that a run of this kind has a probe for."""
    return (last,) if kind == FULL else tuple(range(last + 1))


def layers_read(kind: str, layer: int) -> tuple[int, ...]:
    """The layers that a probe of this kind mixes."""
    return (layer,) if kind == AT else tuple(range(layer + 1))


Span = tuple[int, int]
#: The parts of a task's data, in the order in which they are read.
PARTS = ("train", "dev", "test")
#: The repository's own sentences, with predictions and without scores: they are too few for a test.
OWN = "own"


@dataclass(frozen=True)
class Target:
    """One question: which labels has this span, or this pair of spans?

    Labels are sorted and without repeats; most tasks have exactly one, proto-roles have none or several.
    """

    span1: Span
    span2: Span | None
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """A sentence with its targets, if any, in the order of the file.

    If its licence does not leave it ``open``, results name it by its hash only.
    """

    words: tuple[str, ...]
    targets: tuple[Target, ...]
    document: str = ""
    open: bool = True

    @property
    def text(self) -> str:
        """The words, separated by blanks; a blank inside a word is a no-break space."""
        return " ".join(word.replace(" ", "\u00a0") for word in self.words)

    @property
    def sha256(self) -> str:
        """sha256 of the text: names a sentence whose words may not be published."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Part:
    """The sentences of a part that have a target; ``sentences`` counts those that were read, with or without."""

    records: tuple[Record, ...]
    #: Reason -> number of targets (or sentences, if the reason says so) that were left out.
    dropped: Mapping[str, int] = field(default_factory=dict)
    sentences: int = 0

    @property
    def targets(self) -> int:
        """Number of targets of all records."""
        return sum(len(record.targets) for record in self.records)


@dataclass(frozen=True)
class TaskData:
    """The data of one task."""

    task: str
    train: Part
    dev: Part
    test: Part | None = None

    def parts(self) -> dict[str, Part]:
        """The parts that exist, in the order of ``PARTS``."""
        parts = {"train": self.train, "dev": self.dev}
        return parts if self.test is None else parts | {"test": self.test}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training part, sorted: all that a probe can predict."""
        return tuple(
            sorted({label for record in self.train.records for target in record.targets for label in target.labels})
        )
