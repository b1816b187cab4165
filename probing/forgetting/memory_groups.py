"""Which facts a fine-tuned model lost, and the answers that they are compared with."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Facts that the base knows and the fine-tuned model does not.
LOST = "lost"
#: Facts that neither knows, each matched to a lost one with the same relation and answer.
NEVER_KNOWN = "never known"
#: Wrong first answers of the base that the fine-tuned model no longer gives, and that are right for another fact of the
#: relation.
WRONG = "wrong answers"
GROUPS = (LOST, NEVER_KNOWN, WRONG)


@dataclass(frozen=True)
class Answered:
    """Last-layer answers of a base and its fine-tuned model to a probe set, each read by its own head; all (facts,).

    ``said`` is the base's first answer, ``first_logp`` that of the fine-tuned model's own; answers are token ids, ranks
    count from 1, log-probabilities are in nats.
    """

    subjects: Sequence[str]
    relations: Sequence[str]
    answers: NDArray[np.int64]
    said: NDArray[np.int64]
    base_rank: NDArray[np.int64]
    rank: NDArray[np.int64]
    rank_of_said: NDArray[np.int64]
    base_logp: NDArray[np.float64]
    logp: NDArray[np.float64]
    base_logp_of_said: NDArray[np.float64]
    logp_of_said: NDArray[np.float64]
    first_logp: NDArray[np.float64]

    def of(self, group: str) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
        """(facts,) ``base_logp, rank, logp`` of what a group looks for: the base's first answers or the right ones."""
        return (
            (self.base_logp_of_said, self.rank_of_said, self.logp_of_said)
            if group == WRONG
            else (self.base_logp, self.rank, self.logp)
        )

    def lost(self, k: int = 1) -> NDArray[np.int64]:
        """Numbers of the facts that the base knows (rank <= k) and the fine-tuned model does not."""
        return np.flatnonzero((self.base_rank <= k) & (self.rank > k))

    def never_known(self, k: int = 1) -> NDArray[np.int64]:
        """Numbers of the facts that neither knows."""
        return np.flatnonzero((self.base_rank > k) & (self.rank > k))

    def wrong_answers(self, k: int = 1) -> NDArray[np.int64]:
        """Facts whose first answer by the base is wrong and no longer among the first k of the fine-tuned model.

        Only answers that are right for another fact of the relation count: they are of the same kind as right ones.
        """
        right = set(zip(self.relations, self.answers.tolist(), strict=True))
        same_kind = np.array([pair in right for pair in zip(self.relations, self.said.tolist(), strict=True)], bool)
        return np.flatnonzero((self.base_rank > 1) & (self.rank_of_said > k) & same_kind)


@dataclass(frozen=True)
class Group:
    """Answers that are looked for together: (n,) numbers of the facts that are asked, and token ids."""

    facts: NDArray[np.int64]
    targets: NDArray[np.int64]

    def some(self, chosen: NDArray[np.bool_]) -> "Group":
        """Some of the answers."""
        return Group(self.facts[chosen], self.targets[chosen])


@dataclass(frozen=True)
class Groups:
    """Lost facts and their yardsticks; the never-known facts are those of pairs."""

    of: dict[str, Group]
    #: (pairs,) place among the lost facts of the partner of each never-known one.
    matched_lost: NDArray[np.int64]


def groups_of(facts: Answered, k: int, most: int, seed: int = 0) -> Groups:
    """Lost facts, and at most ``most`` matched pairs and as many wrong answers, drawn at random."""
    lost, wrong = facts.lost(k), drawn(facts.wrong_answers(k), most, seed)
    pairs = matched(facts, lost, facts.never_known(k), seed, most)
    of = {
        LOST: Group(lost, facts.answers[lost]),
        NEVER_KNOWN: Group(pairs[:, 1], facts.answers[pairs[:, 1]]),
        WRONG: Group(wrong, facts.said[wrong]),
    }
    return Groups(of, np.searchsorted(lost, pairs[:, 0]))


def matched(facts: Answered, lost: ArrayLike, candidates: ArrayLike, seed: int, most: int) -> NDArray[np.int64]:
    """(pairs, 2) numbers of a lost fact and of a fact that was never known, with the same relation and right answer.

    Every fact is in one pair at most; pairs are drawn at random, at most ``most``.
    """
    random = np.random.default_rng(seed)
    free: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number in random.permutation(np.asarray(candidates, np.int64)).tolist():
        free[facts.relations[number], int(facts.answers[number])].append(number)
    pairs: list[tuple[int, int]] = []
    for number in random.permutation(np.asarray(lost, np.int64)).tolist():
        if len(pairs) < most and (partners := free[facts.relations[number], int(facts.answers[number])]):
            pairs.append((number, partners.pop()))
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def drawn(numbers: NDArray[np.int64], most: int, seed: int) -> NDArray[np.int64]:
    """At most ``most`` of the numbers, drawn at random, in order."""
    if len(numbers) <= most:
        return numbers
    return np.sort(np.random.default_rng(seed).choice(numbers, most, replace=False))
