"""Which facts a fine-tuned model lost, and the facts that they are compared with."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Facts that the base knows and the fine-tuned model does not.
LOST = "lost"
#: Facts that neither knows, each matched to a lost one with the same relation and answer.
NEVER_KNOWN = "never known"
#: Wrong first answers of the base that the fine-tuned model no longer gives, and that are right for another fact of the relation.
WRONG = "wrong answers"
#: Lost facts whose answer is asked for with another subject.
SWAPPED = "swapped subject"
GROUPS = (LOST, NEVER_KNOWN, WRONG, SWAPPED)


@dataclass(frozen=True)
class Answered:
    """What a base and its fine-tuned model answer to the facts of one probe set at the last layer, both read by the base's head.

    Attributes:
        subjects, relations: (facts,) texts.
        answers: (facts,) token id of the right answer.
        said: (facts,) token id of the base's first answer.
        base_rank, tuned_rank: (facts,) rank of the right answer, from 1.
        tuned_rank_of_said: (facts,) rank of the base's first answer in the fine-tuned model.
        probability: (facts,) the base's probability of the right answer.
        probability_of_said: (facts,) the base's probability of its first answer.
    """

    subjects: Sequence[str]
    relations: Sequence[str]
    answers: NDArray[np.int64]
    said: NDArray[np.int64]
    base_rank: NDArray[np.int64]
    tuned_rank: NDArray[np.int64]
    tuned_rank_of_said: NDArray[np.int64]
    probability: NDArray[np.float64]
    probability_of_said: NDArray[np.float64]

    def lost(self, k: int = 1) -> NDArray[np.int64]:
        """Numbers of the facts that the base knows (rank <= k) and the fine-tuned model does not."""
        return np.flatnonzero((self.base_rank <= k) & (self.tuned_rank > k))

    def never_known(self, k: int = 1) -> NDArray[np.int64]:
        """Numbers of the facts that neither knows."""
        return np.flatnonzero((self.base_rank > k) & (self.tuned_rank > k))

    def wrong_answers(self, k: int = 1) -> NDArray[np.int64]:
        """Numbers of the facts whose first answer by the base is wrong and no longer among the first k of the fine-tuned model.

        Only answers that are right for another fact of the relation count, so that they are of the same kind as the right ones.
        """
        right = set(zip(self.relations, self.answers.tolist(), strict=True))
        same_kind = np.array([pair in right for pair in zip(self.relations, self.said.tolist(), strict=True)], bool)
        return np.flatnonzero((self.base_rank > 1) & (self.tuned_rank_of_said > k) & same_kind)


def subject_folds(subjects: Sequence[str], folds: int, seed: int) -> NDArray[np.int64]:
    """(facts,) fold of each fact, 0 to ``folds`` - 1, by a hash of its subject without case: no subject is in two folds.

    Raises:
        ValueError: if there are fewer than two folds.
    """
    if folds < 2:
        raise ValueError(f"got {folds} folds, expected at least 2: what is relearned must differ from what is asked")
    drawn = {
        name: int(hashlib.sha256(f"{seed}\n{name.casefold()}".encode()).hexdigest()[:12], 16) % folds for name in dict.fromkeys(subjects)
    }
    return np.array([drawn[name] for name in subjects], np.int64)


def matched(asked: Answered, lost: ArrayLike, candidates: ArrayLike, seed: int, most: int) -> NDArray[np.int64]:
    """(pairs, 2) numbers of a lost fact and of a fact that was never known, with the same relation and right answer.

    Every fact is in one pair at most; pairs are drawn at random, at most ``most``.
    """
    random = np.random.default_rng(seed)
    free: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number in random.permutation(np.asarray(candidates, np.int64)).tolist():
        free[asked.relations[number], int(asked.answers[number])].append(number)
    pairs: list[tuple[int, int]] = []
    for number in random.permutation(np.asarray(lost, np.int64)).tolist():
        if len(pairs) < most and (there := free[asked.relations[number], int(asked.answers[number])]):
            pairs.append((number, there.pop()))
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def drawn(numbers: NDArray[np.int64], most: int, seed: int) -> NDArray[np.int64]:
    """At most ``most`` of the numbers, drawn at random, in order."""
    if len(numbers) <= most:
        return numbers
    return np.sort(np.random.default_rng(seed).choice(numbers, most, replace=False))
