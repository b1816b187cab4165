"""A part of a task as arrays: the word pieces of each span and the labels of each target."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from probing.edges.targets import Part


class States(Protocol):
    """A source of states: memory maps of a cache, or an array in memory."""

    @property
    def layers(self) -> int:
        """L + 1."""

    @property
    def hidden(self) -> int:
        """Size of a state."""

    def read(self, pieces: np.ndarray) -> torch.Tensor:
        """(pieces, layers, hidden) states of piece numbers in ascending order."""


class ArrayStates:
    """States in memory, (pieces, layers, hidden)."""

    def __init__(self, states: np.ndarray):
        self.states = states

    @property
    def layers(self) -> int:
        return self.states.shape[1]

    @property
    def hidden(self) -> int:
        return self.states.shape[2]

    def read(self, pieces: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(self.states[pieces])


@dataclass(frozen=True)
class Ragged:
    """A list of piece numbers per target."""

    starts: np.ndarray  #: (targets + 1,), where each target's pieces begin in ``pieces``
    pieces: np.ndarray

    def of(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The concatenated pieces of some targets, and for each piece the position of its target among them."""
        counts = self.starts[targets + 1] - self.starts[targets]
        owner = np.repeat(np.arange(len(targets)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.pieces[self.starts[targets][owner] + within], owner


def ragged(lists: Sequence[np.ndarray]) -> Ragged:
    """Concatenates lists of piece numbers."""
    starts = np.cumsum([0, *(len(numbers) for numbers in lists)])
    return Ragged(starts, np.concatenate(lists).astype(np.int64) if lists else np.empty(0, np.int64))


@dataclass(frozen=True)
class PartArrays:
    """Training or test data of a task's probes."""

    spans: tuple[Ragged, ...]  #: the pieces of each span
    gold: np.ndarray  #: (variants, targets, labels) bool; the task's labels, then those of the control task, if any
    unknown: np.ndarray  #: (targets,), number of gold labels that count and are missing from training
    record: np.ndarray  #: (targets,), number of each target's sentence, ascending
    target: np.ndarray  #: (targets,), number among all targets of the part, those left out included
    left_out: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.record)

    def records(self) -> np.ndarray:
        """Numbers of the sentences that have a target."""
        return np.unique(self.record)

    def of_records(self, records: np.ndarray) -> np.ndarray:
        """Positions of the targets of some sentences, in the order of these sentences."""
        first = np.searchsorted(self.record, records)
        last = np.searchsorted(self.record, records, side="right")
        counts = last - first
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(first, counts) + within


@dataclass(frozen=True)
class TrainingData:
    """The training part and the development part that stops the training, with the states of both."""

    train: PartArrays
    train_states: States
    dev: PartArrays
    dev_states: States
    counted: np.ndarray


def part_arrays(
    part: Part,
    states,
    labels: Sequence[str],
    variants: Sequence[Part] = (),
    counts: Callable[[str], bool] = lambda _: True,
) -> PartArrays:
    """The arrays of a part; targets without states are left out and counted.

    ``labels`` are the training part's, ``variants`` the same targets with other labels. A label that F1 ``counts`` and
    training lacks is a miss.
    """
    number_of = {label: number for number, label in enumerate(labels)}
    lists: list[list[np.ndarray]] = [[], []]
    rows: list[tuple[int, int]] = []
    left_out: Counter[str] = Counter()
    place = -1
    chosen: list[list[tuple[str, ...]]] = [[] for _ in range(1 + len(variants))]
    for number, record in enumerate(part.records):
        for within, target in enumerate(record.targets):
            place += 1
            spans = [target.span1] if target.span2 is None else [target.span1, target.span2]
            pieces = [states.pieces(record, span) for span in spans]
            if reasons := [reason for reason in pieces if isinstance(reason, str)]:
                left_out[reasons[0]] += 1
                continue
            for into, numbers in zip(lists, pieces, strict=False):
                into.append(numbers)
            rows.append((number, place))
            for of_variant, other in zip(chosen, (part, *variants), strict=True):
                of_variant.append(other.records[number].targets[within].labels)
    gold = np.zeros((len(chosen), len(rows), len(labels)), bool)
    unknown = np.zeros(len(rows), np.int64)
    for variant, of_targets in enumerate(chosen):
        for row, names in enumerate(of_targets):
            for name in names:
                if name in number_of:
                    gold[variant, row, number_of[name]] = True
                elif variant == 0 and counts(name):
                    unknown[row] += 1
    table = np.array(rows, np.int64).reshape(-1, 2)
    spans_found = tuple(ragged(numbers) for numbers in lists if numbers)
    return PartArrays(spans_found, gold, unknown, table[:, 0], table[:, 1], dict(left_out))


@dataclass(frozen=True)
class Batch:
    """Some targets with the states of their spans."""

    targets: np.ndarray  #: positions in ``PartArrays``
    states: tuple[torch.Tensor, ...]  #: for each span, (distinct pieces, layers, hidden)
    pieces: tuple[torch.Tensor, ...]  #: for each span, (pairs,) positions in ``states``
    owners: tuple[torch.Tensor, ...]  #: for each span, (pairs,) positions in ``targets``, ascending
    gold: torch.Tensor  #: (variants, targets, labels) float32


def batch_of(arrays: PartArrays, states: States, targets: np.ndarray, device: torch.device) -> Batch:
    """Reads the states of some targets; each distinct piece is read once per span."""
    read, pieces, owners = [], [], []
    for span in arrays.spans:
        numbers, owner = span.of(targets)
        distinct, places = np.unique(numbers, return_inverse=True)
        read.append(states.read(distinct).to(device).float())
        pieces.append(torch.from_numpy(places.astype(np.int64)).to(device))
        owners.append(torch.from_numpy(owner).to(device))
    gold = torch.from_numpy(arrays.gold[:, targets]).to(device).float()
    return Batch(targets, tuple(read), tuple(pieces), tuple(owners), gold)
