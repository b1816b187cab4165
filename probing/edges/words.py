"""A typed sentence as words that spans can count, and how a target's prediction changes from layer to layer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probing.edges.targets import Span
from probing.edges.tasks import SEVERAL_LABELS
from probing.kernel.errors import EdgeDataError

#: Marks that are separate words unless they are inside a word.
_MARKS = r"!-/:-@\[-`{-~¡«»¿‐-―‘-‟…"
_LETTER = rf"[^\s{_MARKS}]"
_CLITIC = r"['’](?:s|re|ve|ll|d|m)(?!\w)"
_NOT = r"n['’]t(?!\w)"
#: Tried in turn: abbreviations with points; "n't", the word before it; "'s" and its like; words with marks inside; a
#: mark, or equal marks.
_WORD = re.compile(
    rf"(?:[^\W\d_]\.){{2,}}|{_NOT}|{_LETTER}+?(?={_NOT})|{_CLITIC}|{_LETTER}+(?:(?!{_CLITIC})[-.,:/&@_'’]{_LETTER}+)*|([{_MARKS}])\1*",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d{1,9})[:-](\d{1,9})", re.ASCII)


def split_words(text: str) -> tuple[str, ...]:
    """The words of a sentence, split as in treebanks: "don't" is "do" and "n't", "it's" is "it" and "'s".

    Marks inside a word do not split it: "well-known", "1,000.5", "U.S." and addresses are one word. A text whose words
    are already separated by blanks, as in the data sets, stays unchanged.
    """
    return tuple(match[0] for match in _WORD.finditer(text))


def read_span(text: str, words: int, name: str) -> Span:
    """A half-open span, written ``3:5`` or ``3-5``, inside a sentence of some words; ``name`` is for errors."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise EdgeDataError(
            f"got {name} {text!r}; expected two numbers of words such as 3:5, which is the fourth and the fifth word"
        )
    start, end = int(match[1]), int(match[2])
    if not 0 <= start < end <= words:
        raise EdgeDataError(
            f"got {name} {start}:{end} in a sentence of {words} words; expected 0 <= start < end <= {words}"
        )
    return start, end


def written_span(span: Span) -> str:
    """A span as links write it."""
    return f"{span[0]}-{span[1]}"


def numbered(words: Sequence[str]) -> str:
    """The words with their numbers, from 0: ``0 he  1 smoked``."""
    return "  ".join(f"{number} {word}" for number, word in enumerate(words))


#: A probe predicts a label whose p is at least this.
HALF = 0.5
#: A target is ambiguous if no label has a mean normalised p above this (the caption of Figure 3 of Tenney et al. 2019).
AMBIGUOUS = 0.7


@dataclass(frozen=True)
class Traces:
    """What the layers predict for targets."""

    #: (targets, layers) normalised p of the wrong label that has the greatest mean over layers.
    wrong: NDArray[np.float64]
    #: (targets,) greatest mean over layers of a gold label's normalised p; 0 if there is none.
    best_gold: NDArray[np.float64]


def settled_layer(right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The first layer from which the top label, (targets, layers), stays right; -1 if it is wrong at the last."""
    layers = right.shape[1]
    at_the_end = np.cumprod(right[:, ::-1], axis=1).sum(axis=1)
    return np.where(at_the_end > 0, layers - at_the_end, -1)


def revisions(top: NDArray[np.int64]) -> NDArray[np.int64]:
    """(targets,) how many times the most probable label, (targets, layers), differs from that of the layer below."""
    return (top[:, 1:] != top[:, :-1]).sum(axis=1)


def strongest_mean(traces: Traces) -> NDArray[np.float64]:
    """(targets,) the greatest mean over layers of a label's normalised p: of the gold or the stored wrong label."""
    return np.maximum(traces.best_gold, traces.wrong.mean(axis=1))


def normalised(p: NDArray, total: NDArray) -> NDArray[np.float64]:
    """p over the sum of p over all labels, as the paper's Figure 3 shows it; 0 if all of them are 0."""
    return np.divide(p, total, out=np.zeros(np.broadcast(p, total).shape), where=total > 0)


@dataclass(frozen=True)
class SpanTrace:
    """What one task's probes P(0)..P(L) predict for a span, or a pair of spans, of one sentence; spans are in words."""

    task: str
    title: str
    spans: tuple[Span, ...]
    labels: tuple[str, ...]
    #: (layers, labels) the sigmoid of each label.
    p: NDArray[np.float64]
    #: (layers,) of these probes on the development part.
    f1: tuple[float, ...]

    @property
    def shares(self) -> NDArray[np.float64]:
        """(layers, labels) each layer's p over their sum."""
        return normalised(self.p, self.p.sum(axis=1, keepdims=True))

    @property
    def top(self) -> NDArray[np.int64]:
        """(layers,) the most probable label."""
        return self.p.argmax(axis=1)

    def given(self, layer: int) -> tuple[str, ...]:
        """The labels that a layer predicts, those with p >= 0.5, the most probable first; there may be none."""
        return tuple(self.labels[number] for number in self._by_p(layer) if self.p[layer, number] >= HALF)

    def best(self, layer: int, limit: int = 3) -> tuple[int, ...]:
        """The most probable labels of a layer."""
        return tuple(int(number) for number in self._by_p(layer)[:limit])

    @property
    def several(self) -> bool:
        """Whether a target may have several labels, or none, so that labels do not compete."""
        return self.task in SEVERAL_LABELS or len(self.given(len(self.p) - 1)) > 1

    @property
    def answer(self) -> tuple[str, ...]:
        """What the last layer predicts: the most probable label or, if there may be several, all with p >= 0.5."""
        return self.given(len(self.p) - 1) if self.several else (self.labels[int(self.top[-1])],)

    @property
    def settled(self) -> int:
        """The first layer from which the prediction stays the last layer's."""
        same = np.array([set(self.given(layer)) == set(self.answer) for layer in range(len(self.p))])
        return int(settled_layer((same if self.several else self.top == self.top[-1])[None])[0])

    @property
    def before(self) -> tuple[str, ...]:
        """What the layer before the settled one predicts; empty if every layer predicts the same."""
        if not self.settled:
            return ()
        layer = self.settled - 1
        return self.given(layer) if self.several else (self.labels[int(self.top[layer])],)

    def distinguished(self, limit: int = 3) -> tuple[int, ...]:
        """The labels that show how the prediction developed: the last layer's, others' first ones, then by mean p."""
        last = len(self.p) - 1
        if self.several:
            return self.best(last, limit)
        means = self.shares.mean(axis=0)
        held = sorted(set(map(int, self.top)) - {int(self.top[-1])}, key=lambda label: -means[label])
        rest = [int(label) for label in np.argsort(-means, kind="stable")]
        return tuple(dict.fromkeys([int(self.top[-1]), *held, *rest]))[:limit]

    def _by_p(self, layer: int) -> NDArray[np.int64]:
        return np.argsort(-self.p[layer], kind="stable")
