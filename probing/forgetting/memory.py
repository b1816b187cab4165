"""Does a way bring back more of what the text states than of what it never had? The test of memory."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from probing.forgetting.ways import (
    ANY,
    AS_IN_BASE,
    AS_IT_IS,
    BY_ANSWER,
    BY_SUBJECT,
    FITTED_HEAD,
    LAYERS_BACK,
    LESSONS,
    MOVED,
    NOT_RECOVERED,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    RELEARNED_BY,
    USUAL_STEPS,
    Tried,
)
from probing.kernel.stats.equal_confidence import Answers, Difference, Share, at_equal_confidence, paired, share

#: What is said where there is no test.
NO_TEST = (
    "No test of memory: it is not known fact by fact what the base's training text states, or too few facts of one kind"
    " are lost."
)
MORE, AS_OFTEN, LESS, UNKNOWN, NOTHING = VERDICTS = (
    "stated facts come back more often",
    "stated facts come back as often",
    "stated facts come back less often",
    "cannot tell",
    "nothing comes back",
)
#: A difference whose interval includes 0 and no difference as large as this is small.
SMALL = 0.03
#: Where less of both groups comes back, nothing is tested.
LEAST = 0.01
#: Exposures of answers that the text states (or that were taught), and that it never had. Facts with evidence sentences
#: are in neither.
STATED, NEVER_HAD = ("stated", "planted"), ("unseen", "held out", "guessed")


@dataclass(frozen=True)
class Memory:
    """What the test found of one way: share of stated answers that come back minus that of answers the text never had.

    ``low_without`` to ``high_without`` is its interval without the commonest of the answers that the text never had.
    """

    difference: Difference
    low_without: float
    high_without: float

    @property
    def verdict(self) -> str:
        """One of ``VERDICTS``."""
        each = self.difference
        return verdict(max(each.share, each.yardstick), each.low, each.high, self.low_without, self.high_without)


def verdict(back: float, low: float, high: float, low_without: float, high_without: float) -> str:
    """What an interval of a difference says, if it says the same without the largest cluster; ``back``: the larger of
    the two shares.

    >>> verdict(0.8, 0.01, 0.05, 0.02, 0.06), verdict(0.8, -0.02, 0.02, -0.02, 0.02)
    ('stated facts come back more often', 'stated facts come back as often')
    >>> verdict(0.8, 0.01, 0.05, -0.01, 0.06), verdict(0.8, -0.05, -0.01, -0.06, -0.01)
    ('cannot tell', 'stated facts come back less often')
    """
    if back < LEAST:
        return NOTHING
    overall = _of_interval(low, high)
    return overall if overall == _of_interval(low_without, high_without) else UNKNOWN


def _of_interval(low: float, high: float) -> str:
    return MORE if low > 0 else LESS if high < 0 else AS_OFTEN if max(-low, high) < SMALL else UNKNOWN


def detectable(error: float) -> float:
    """The difference that a test with this standard error would tell from 0 in four of five cases."""
    return float(error * (special.ndtri(0.975) + special.ndtri(0.8)))


def describe(outcome: str, value: float, ends: Sequence[float], seen: float) -> str:
    """The test of one way in words; ``ends``: its interval with and without the commonest answer.

    >>> describe(UNKNOWN, 0.031, (-0.011, 0.074, -0.02, 0.07), 0.06)
    'cannot tell: +3.1 points (-1.1 to 7.4); about 6.0 would be seen in 4 of 5 cases'
    """
    low, high, low_without, high_without = (100 * end for end in ends)
    words = f"{outcome}: {100 * value:+.1f} points ({low:.1f} to {high:.1f})"
    if outcome != UNKNOWN:
        return words if outcome != NOTHING else outcome
    if _of_interval(*ends[:2]) != UNKNOWN:
        return f"{words}, but {low_without:.1f} to {high_without:.1f} without the commonest answer"
    return f"{words}; about {100 * seen:.1f} would be seen in 4 of 5 cases"


def memory(lost: Answers, exposure: Sequence[str]) -> Memory | None:
    """The test of one way; None if a group is too small to compare.

    ``exposure`` is how each of all lost facts occurs in the base's training text; empty where that is not known.
    """
    kinds = np.array(exposure)
    stated, never = lost.of(np.isin(kinds, STATED)), lost.of(np.isin(kinds, NEVER_HAD))
    whole = at_equal_confidence(stated, never, both=True)
    if whole is None:
        return None
    clusters, sizes = np.unique(never.clusters, return_counts=True)
    largest = clusters[sizes.argmax()]
    without = at_equal_confidence(stated.of(stated.clusters != largest), never.of(never.clusters != largest), both=True)
    low, high = (without.low, without.high) if without else (-1.0, 1.0)
    return Memory(whole, low, high)


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

    def some(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Group":
        """Some of the answers, by whether or by their places."""
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


#: Protocol -> parts, each of which is asked once, after lessons from the others.
PARTS = dict.fromkeys(RELEARNED_BY, 2) | {BY_SUBJECT: 5}


def part_of(facts: Answered, group: Group, protocol: str, seed: int) -> NDArray[np.int64]:
    """(answers,) number of the part in which each is asked, by a hash of its subject, else of the answer."""
    names = [facts.subjects[n].casefold() for n in group.facts] if protocol == BY_SUBJECT else group.targets.tolist()
    part_by_name = {
        name: int(hashlib.sha256(f"{seed}\n{name}".encode()).hexdigest()[:12], 16) % PARTS[protocol]
        for name in dict.fromkeys(names)
    }
    return np.array([part_by_name[name] for name in names], np.int64)


#: The yardstick of the test of memory: right answers that the base's training text never had.
NEVER_IN_TEXT = "right answers that the text never had"
#: What the lost facts are compared with.
YARDSTICKS = (WRONG, NEVER_KNOWN, NEVER_IN_TEXT, RANDOM_BODY)


@dataclass(frozen=True)
class ShareBack:
    """The share of a group that came back by one way; ``level`` is ``ANY`` for ways without training."""

    way: str
    level: int
    protocol: str
    group: str
    share: Share


@dataclass(frozen=True)
class Against:
    """The share of lost facts that came back by one way, minus that of a yardstick."""

    way: str
    level: int
    protocol: str
    yardstick: str
    difference: Difference
    #: Ends of its interval without the commonest never-had answer; for ``NEVER_HAD`` only.
    without: tuple[float, float] | None = None


@dataclass(frozen=True)
class Summary:
    """What a recovery found; ``outcomes`` are of ``LOST_OUTCOMES``, one for each lost fact."""

    outcomes: list[str]
    shares: list[ShareBack] = field(default_factory=list)
    against: list[Against] = field(default_factory=list)


def summary(
    facts: Answered,
    groups: Groups,
    tried: Sequence[Tried],
    in_base: NDArray[np.bool_],
    k: int,
    exposure: Sequence[str] = (),
) -> Summary:
    """Outcomes, shares and differences.

    ``in_base``, (layers, lost), is whether the base's head reads a lost fact at the layers of ``OTHER_LAYER``;
    ``exposure``, (facts,), how each occurs in the base's training text, empty if unknown.
    """
    results = Summary(outcomes_of({(attempt.way, attempt.protocol): attempt for attempt in tried}, in_base))
    relations = np.unique(facts.relations, return_inverse=True)[1].astype(np.int64)
    of_lost = [exposure[n] for n in groups.of[LOST].facts] if exposure else []
    random = {attempt.way: attempt for attempt in tried if attempt.protocol == RANDOM_BODY}
    for attempt in tried:
        for level in attempt.levels if attempt.way == RELEARNED else (ANY,):
            key = (attempt.way, level, attempt.protocol)
            answers = {name: _answers(facts, groups, name, attempt.at(level, name), relations) for name in attempt.back}
            results.shares.extend(
                ShareBack(*key, name, part) for name, group in answers.items() if (part := share(group))
            )
            if attempt.protocol == RANDOM_BODY:
                continue
            lost = answers[LOST]
            compared: dict[str, Difference | None] = {}
            if attempt.way == RELEARNED:
                compared[WRONG] = at_equal_confidence(lost, answers[WRONG])
            compared[NEVER_KNOWN] = paired(lost.of(groups.matched_lost), answers[NEVER_KNOWN])
            if attempt.way in random and attempt.protocol in (AS_IT_IS, BY_ANSWER):
                own = random[attempt.way].at(level, LOST)
                compared[RANDOM_BODY] = paired(lost, _answers(facts, groups, LOST, own, relations))
            results.against.extend(Against(*key, name, each) for name, each in compared.items() if each)
            if of_lost and attempt.protocol not in LESSONS.values() and (test := memory(lost, of_lost)):
                results.against.append(
                    Against(*key, NEVER_IN_TEXT, test.difference, (test.low_without, test.high_without))
                )
    return results


def outcomes_of(tried: Mapping[tuple[str, str], Tried], in_base: NDArray[np.bool_]) -> list[str]:
    """(lost,) the first outcome that holds of each; relearning counts if more than half of the seeds bring it back."""
    inside = tried[OTHER_LAYER, AS_IT_IS].back[LOST][0]
    relearned = tried[RELEARNED, BY_ANSWER].at(USUAL_STEPS, LOST)
    holds = {
        AS_IN_BASE: (inside & in_base).any(0),
        MOVED: inside.any(0),
        FITTED_HEAD: tried[FITTED_HEAD, AS_IT_IS].at(ANY, LOST)[0],
        RELEARNED: relearned.sum(0) * 2 > len(relearned),
    }
    if (LAYERS_BACK, AS_IT_IS) in tried:
        holds[LAYERS_BACK] = tried[LAYERS_BACK, AS_IT_IS].at(ANY, LOST)[0]
    order = [name for name in (AS_IN_BASE, MOVED, FITTED_HEAD, LAYERS_BACK, RELEARNED) if name in holds]
    return [str(name) for name in np.select([holds[name] for name in order], order, NOT_RECOVERED)]


def _answers(
    facts: Answered, groups: Groups, name: str, back: NDArray[np.bool_], relations: NDArray[np.int64]
) -> Answers:
    """A group with what a way brought back of it."""
    group = groups.of[name]
    logp, *_ = facts.of(name)
    return Answers(back, np.exp(logp[group.facts]), relations[group.facts], group.targets)
