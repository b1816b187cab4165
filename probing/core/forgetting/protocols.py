"""What a model that lost facts is trained on, and asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from probing.core.forgetting.groups import LOST, NEVER_KNOWN, SWAPPED, WRONG, Answered, drawn, matched, subject_folds
from probing.core.knowledge.swapped_subjects import Asked, swapped_subjects

#: Training on right answers of lost facts, from the fine-tuned model.
RIGHT = "right answers"
#: Training on the base's own answers that the fine-tuned model no longer gives, right and wrong ones.
OWN = "the base's answers"
#: As ``RIGHT``, from a body with random layers on the fine-tuned embeddings.
RANDOM_BODY = "random body"
PROTOCOLS = (RIGHT, OWN, RANDOM_BODY)


class Sizes(Protocol):
    """How many facts take part."""

    @property
    def folds(self) -> int: ...
    @property
    def most_relearned(self) -> int: ...
    @property
    def most_pairs(self) -> int: ...


@dataclass(frozen=True)
class Group:
    """Facts that are asked together.

    Attributes:
        facts: (n,) number of the fact whose answer counts.
        prompts: (n,) number of the fact whose prompt is asked.
        targets: (n,) token id that is looked for.
    """

    facts: NDArray[np.int64]
    prompts: NDArray[np.int64]
    targets: NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """The groups and folds of one seed.

    Attributes:
        fold: (facts,) fold of every fact; no subject is in two.
        groups: group -> what is asked, sorted by fold. The facts of ``NEVER_KNOWN`` are those of pairs; ``matched_lost`` has the others.
        matched_lost: (pairs,) number of the lost fact of each pair.
    """

    fold: NDArray[np.int64]
    groups: dict[str, Group]
    matched_lost: NDArray[np.int64]

    def held_out(self, group: str, fold: int) -> Group:
        """The part of a group in one fold."""
        one = self.groups[group]
        inside = self.fold[one.facts] == fold
        return Group(one.facts[inside], one.prompts[inside], one.targets[inside])


def split(asked: Answered, facts: Sequence[Asked], k: int, sizes: Sizes, seed: int) -> Split:
    """Draws folds, matched pairs, wrong answers and swapped subjects; all stay within a fold.

    Args:
        asked: what both models answer.
        facts: the same facts.
        k: the rank up to which an answer counts as known.
        sizes: numbers of folds and facts.
        seed: of the draws.
    """
    fold = subject_folds(asked.subjects, sizes.folds, seed)
    lost, never, wrong, each = asked.lost(k), asked.never_known(k), asked.wrong_answers(k), max(1, sizes.most_pairs // sizes.folds)
    pairs, kept, swapped = [], [], []
    for number in range(sizes.folds):
        inside = np.flatnonzero(fold == number)
        pairs.append(matched(asked, np.intersect1d(lost, inside), np.intersect1d(never, inside), seed, each))
        kept.append(drawn(np.intersect1d(wrong, inside), each, seed))
        found = zip(inside.tolist(), swapped_subjects([facts[n] for n in inside.tolist()]), strict=True)
        other_of = {n: int(inside[place]) for n, place in found if place is not None}
        able = [n for n in np.intersect1d(lost, inside).tolist() if n in other_of]
        chosen = drawn(np.array(able, np.int64), each, seed)
        swapped.append(np.array([(n, other_of[n]) for n in chosen.tolist()], np.int64).reshape(-1, 2))
    paired, errors, lent = np.concatenate(pairs), np.concatenate(kept), np.concatenate(swapped)
    groups = {
        LOST: Group(lost, lost, asked.answers[lost]),
        NEVER_KNOWN: Group(paired[:, 1], paired[:, 1], asked.answers[paired[:, 1]]),
        WRONG: Group(errors, errors, asked.said[errors]),
        SWAPPED: Group(lent[:, 0], lent[:, 1], asked.answers[lent[:, 0]]),
    }
    return Split(fold, groups, paired[:, 0])


def lessons(asked: Answered, of_seed: Split, protocol: str, held_out: int, k: int, sizes: Sizes, seed: int) -> Group:
    """What is relearned while one fold is held out: no subject of it takes part."""
    numbers = asked.lost(k)
    targets = asked.answers
    if protocol == OWN:
        wrong = asked.wrong_answers(k)
        numbers, targets = np.union1d(numbers, wrong), asked.answers.copy()
        targets[wrong] = asked.said[wrong]
    chosen = drawn(numbers[of_seed.fold[numbers] != held_out], sizes.most_relearned, seed)
    return Group(chosen, chosen, targets[chosen])
