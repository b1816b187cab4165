"""Numbers from counts of facts: total knowledge, where it appears, early exit, and the kinds of words ranked first."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from probing.kernel.fact import MASK
from probing.kernel.stats.intervals import AVERAGES, Estimate, RelationCounts, macro, micro
from probing.kernel.stats.paired_tests import Difference, PairedCounts, paired_difference
from probing.kernel.text import NO_TEXT


@dataclass(frozen=True)
class KnowledgeCounts:
    """Facts of one relation with rank <= k, at the last layer and at any layer 1..L (the last is one of them)."""

    relation: str
    n: int
    last: int
    any: int

    def __post_init__(self) -> None:
        if not 0 <= self.last <= self.any <= self.n:
            raise ValueError(
                f"relation {self.relation!r} counts last {self.last}, any {self.any}, n {self.n}; expected 0 <= last <="
                " any <= n"
            )


@dataclass(frozen=True)
class Knowledge:
    """Knowledge of a set of relations at one k; the intermediate share is None if nothing is known."""

    last: Estimate
    total: Estimate
    intermediate_share: float | None
    average: str


def intermediate_share(total: float | None, last: float | None) -> float | None:
    """(total - last) / total, in [0, 1]: the part of the knowledge found that the last layer lacks; None of 0 or None.

    A union over L noisy read-outs grows by chance alone, so this share is an upper bound unless it is compared with a
    union over re-trained heads of the last layer.
    """
    if total is None or last is None:
        return None
    # Means of the same shares in another order may differ in the last bit.
    if not 0 <= last <= total + 1e-12 <= 1 + 2e-12:
        raise ValueError(f"total is {total}, last is {last}; expected 0 <= last <= total <= 1")
    return max(total - last, 0.0) / total if total else None


def knowledge(counts: Sequence[KnowledgeCounts], average: str = "macro", seed: int = 0) -> Knowledge:
    """Last-layer and total knowledge with their intervals; ``seed`` is of the draws of ``macro``."""
    if average not in AVERAGES:
        raise ValueError(f"average is {average!r}, expected one of {AVERAGES}")

    def estimate(pairs: list[RelationCounts]) -> Estimate:
        return macro(pairs, seed=seed) if average == "macro" else micro(pairs)

    last = estimate([RelationCounts(c.relation, c.n, c.last) for c in counts])
    total = estimate([RelationCounts(c.relation, c.n, c.any) for c in counts])
    return Knowledge(last, total, intermediate_share(total.value, last.value), average)


def onset(by_layer: Mapping[int, float], last: int) -> int | None:
    """The first layer from 1 with at least half of the last layer's share known; None if the last has none."""
    known = by_layer.get(last, 0.0)
    if not known > 0:
        return None
    return min((layer for layer, value in by_layer.items() if layer >= 1 and value >= known / 2), default=None)


def steepest(by_layer: Mapping[int, float]) -> tuple[int, int] | None:
    """The two neighbouring layers between which the share rises most, the first of several; None under two layers."""
    layers = sorted(by_layer)
    steps = list(pairwise(layers))
    return max(steps, key=lambda step: by_layer[step[1]] - by_layer[step[0]], default=None)


@dataclass(frozen=True)
class ExitCounts:
    """One relation of one run at one rank k; layers are 1..L, the choosing and the scored half share no fact."""

    relation: str
    #: Layer -> facts of the choosing half that it knows.
    chosen_hits: Mapping[int, int]
    #: Layer -> how many facts of the scored half it (first) and the last layer (second) know.
    scored: Mapping[int, PairedCounts]
    #: Facts of the scored half that some layer knows.
    union: int


@dataclass(frozen=True)
class EarlyExit:
    """Micro shares over the scored half of all relations; ``union`` is the most that choosing by fact could reach."""

    n: int
    last_layer: float | None
    early_exit: float | None
    union: float | None
    difference: Difference
    layers: Mapping[str, int]


def best_layer(hits: Mapping[int, int]) -> int:
    """The layer that knows most facts; of equal ones the last, so that there is no exit without a reason."""
    if not hits:
        raise ValueError("no layers to choose from, expected 1 to L")
    return max(hits, key=lambda layer: (hits[layer], layer))


def compare_early_exit(relations: Sequence[ExitCounts]) -> EarlyExit:
    """Chooses a layer for each relation on one half, scores it on the other and pools the facts.

    A relation without facts in the choosing half exits at the last layer; one without scored facts does not count.
    """
    layers = {r.relation: best_layer(r.chosen_hits or dict.fromkeys(r.scored, 0)) for r in relations if r.scored}
    pairs = [r.scored[layers[r.relation]] for r in relations if r.scored]
    pooled = PairedCounts(
        sum(p.both for p in pairs),
        sum(p.first_only for p in pairs),
        sum(p.second_only for p in pairs),
        sum(p.neither for p in pairs),
    )
    n, union = pooled.n, sum(r.union for r in relations)
    if not max(pooled.both + pooled.first_only, pooled.both + pooled.second_only) <= union <= n:
        raise ValueError(
            f"{union} of {n} scored facts are known at some layer, expected at least those of one layer and at most all"
        )
    return EarlyExit(
        n,
        (pooled.both + pooled.second_only) / n if n else None,
        (pooled.both + pooled.first_only) / n if n else None,
        union / n if n else None,
        paired_difference(pooled),
        layers,
    )


def hits_of(share: float, n: int) -> int:
    """Number of facts behind a share of n facts."""
    return round(share * n)


#: Kind -> its label, in the order in which kinds are tried: the first that applies counts.
KIND_LABELS: dict[str, str] = {
    "right": "right",
    "subject answer": "another recorded answer of this subject",
    "relation answer": "an answer of this relation",
    "copied": "copied from the prompt",
    "punctuation": "punctuation",
    "sub-word": "sub-word",
    "other word": "other word",
}
KINDS: tuple[str, ...] = tuple(KIND_LABELS)


@dataclass(frozen=True)
class Piece:
    """A token of a vocabulary in the form that is compared: without accents, case folded; empty for half a character.

    A piece inside a word, which is not ``whole``, never equals an answer or a word of the prompt.
    """

    text: str
    whole: bool

    @property
    def word(self) -> str | None:
        """The text if the piece is a word, that is, begins one and has a letter or digit; else None."""
        return self.text if self.whole and _spoken(self.text) else None

    @property
    def shape(self) -> str:
        """The kind of a piece that is no answer and not copied."""
        if not _spoken(self.text):
            return "punctuation"
        return "other word" if self.whole else "sub-word"


def plain(text: str) -> str:
    """Text in the form that is compared: case folded, accents removed, as an uncased vocabulary writes it."""
    folded = text.strip().casefold()
    if folded.isascii():
        return folded
    return "".join(c for c in unicodedata.normalize("NFD", folded) if unicodedata.category(c) != "Mn")


def piece(text: str, starts_word: bool) -> Piece:
    """A piece of a token's text in ``vocabulary``."""
    return Piece(plain(text.replace(NO_TEXT, "")), starts_word)


def words(prompt: str) -> frozenset[str]:
    """The words of a prompt in the form that is compared: runs of letters and digits, without the mask."""
    return frozenset(re.findall(r"[^\W_]+", plain(prompt.replace(MASK, " "))))


def shares(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Kind -> share of the top tokens, in [0, 1]; all None if nothing is counted."""
    if unknown := sorted(set(counts) - set(KINDS)):
        raise ValueError(f"unknown kinds of answer {unknown}, expected some of {KINDS}")
    n = sum(counts.values())
    return {kind: counts.get(kind, 0) / n if n else None for kind in KINDS}


def _spoken(text: str) -> bool:
    return any(map(str.isalnum, text))
