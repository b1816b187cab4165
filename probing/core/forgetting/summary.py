"""From the ranks that every way gave to verdicts on single facts and shares with their yardsticks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probing.core.forgetting.excess import (
    Excess,
    Outcomes,
    excess,
    excess_at_equal_confidence,
    pooled_relations,
    share,
)
from probing.core.forgetting.groups import GROUPS, LOST, NEVER_KNOWN, SWAPPED, WRONG, Answered
from probing.core.forgetting.protocols import PROTOCOLS, RANDOM_BODY, RIGHT, Split
from probing.core.forgetting.ways import RELEARNED, WAYS, Part, cheapest

#: Yardsticks that are no group: the same steps from a body with random layers, and facts that are in no sentence of the training text.
NOT_IN_TEXT = "not in the training text"
#: Yardstick -> what it is compared by.
YARDSTICKS = (NEVER_KNOWN, WRONG, SWAPPED, RANDOM_BODY, NOT_IN_TEXT)
#: A way with several levels counts a fact that comes back at any of them.
ANY = -1
#: Training steps that a headline speaks of.
USUAL_STEPS = 15


@dataclass(frozen=True)
class FactBack:
    """How one lost fact came back.

    Attributes:
        fact: its number.
        way: number of the cheapest way in ``WAYS``; their count for none.
        level: layer, number of layers put back, or steps; -1 for none.
        seeds: share of the seeds in which relearning brought it back.
    """

    fact: int
    way: int
    level: int
    seeds: float


@dataclass(frozen=True)
class ShareBack:
    """The share of a group that came back by one way."""

    way: str
    level: int
    protocol: str
    group: str
    n: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class ExcessBack:
    """The share of lost facts that came back by one way, minus that of a yardstick; ``relation`` is empty for all."""

    way: str
    level: int
    protocol: str
    yardstick: str
    relation: str
    excess: Excess


@dataclass(frozen=True)
class Summary:
    """What a recovery found.

    Attributes:
        facts: every lost fact.
        shares, excesses: of every way, level and protocol.
    """

    facts: list[FactBack]
    shares: list[ShareBack]
    excesses: list[ExcessBack]

    def share(self, way: str, level: int, protocol: str, group: str) -> ShareBack | None:
        """The share of a group; None if it has no facts, or the way was not gone."""
        return next((one for one in self.shares if (one.way, one.level, one.protocol, one.group) == (way, level, protocol, group)), None)

    def excess(self, way: str, level: int, protocol: str, yardstick: str) -> Excess | None:
        """The excess of all lost facts over a yardstick; None if one of them has no facts."""
        key = (way, level, protocol, yardstick, "")
        found = (one for one in self.excesses if (one.way, one.level, one.protocol, one.yardstick, one.relation) == key)
        return next((one.excess for one in found), None)

    def above(self, way: str, usual: int = USUAL_STEPS) -> bool:
        """Whether lost facts come back by this way more often than wrong answers of equal confidence and than never-known facts."""
        found = [self.excess(way, usual if way == RELEARNED else ANY, RIGHT, one) for one in (WRONG, NEVER_KNOWN)]
        return all(one is not None and one.shown for one in found)


class _Facts:
    """What all outcomes share: subjects as numbers, confidence, and which fact of which seed was asked in a part."""

    def __init__(self, asked: Answered, splits: Mapping[int, Split], k: int) -> None:
        names = [name.casefold() for name in asked.subjects]
        self.subject = np.unique(names, return_inverse=True)[1].astype(np.int64)
        self.asked, self.splits, self.k, self.seeds = asked, splits, k, list(splits)

    def numbers(self, part: Part, group: str) -> NDArray[np.int64]:
        """The facts of a group in a part, in the order of its ranks."""
        of_seed = self.splits[part.seed]
        if part.fold < 0:
            return of_seed.groups[group].facts
        if part.protocol == RANDOM_BODY and group == LOST:
            return of_seed.matched_lost[of_seed.fold[of_seed.matched_lost] == part.fold]
        return of_seed.held_out(group, part.fold).facts

    def outcomes(self, parts: Sequence[Part], group: str, level: int, only: Mapping[int, NDArray[np.int64]] | None = None) -> Outcomes:
        """The outcomes of a group in all parts of one way and protocol.

        Args:
            parts: of all seeds and folds.
            group: one of ``GROUPS``.
            level: ``ANY`` or one of the parts' levels.
            only: seed -> the facts that count; None: all.
        """
        seeds = sorted({part.seed for part in parts})
        seen: dict[tuple[int, int], bool] = {}
        for part in parts:
            if group not in part.ranks:
                continue
            known = np.asarray(part.ranks[group] <= self.k)
            back = np.asarray(known.any(0) if level == ANY else known[part.levels.index(level)])
            numbers = self.numbers(part, group)
            kept = np.isin(numbers, only[part.seed]) if only is not None else np.ones(len(numbers), bool)
            seen |= {(part.seed, int(n)): bool(one) for n, one in zip(numbers[kept], back[kept], strict=True)}
        facts = np.array(sorted({number for _, number in seen}), np.int64)
        place = {number: column for column, number in enumerate(facts.tolist())}
        rows = np.full((len(seeds), len(facts)), np.nan)
        for (seed, number), whether in seen.items():
            rows[seeds.index(seed), place[number]] = whether
        chances = self.asked.probability_of_said if group == WRONG else self.asked.probability
        return Outcomes(self.subject[facts], rows, chances[facts], facts)


def summary(
    asked: Answered, splits: Mapping[int, Split], parts: Sequence[Part], k: int, exposure: Sequence[str] = (), usual: int = USUAL_STEPS
) -> Summary:
    """Verdicts, shares and excesses.

    Args:
        asked: what both models answer.
        splits: seed -> folds and groups.
        parts: what every way gave.
        k: the rank up to which an answer counts as known.
        exposure: (facts,) how each fact occurs in the base's training text, where that is known: ``stated``, ``evidence`` or another.
        usual: training steps that tables by relation are for.
    """
    facts = _Facts(asked, splits, k)
    shares: list[ShareBack] = []
    excesses: list[ExcessBack] = []
    for way in WAYS:
        for protocol in PROTOCOLS:
            some = [part for part in parts if (part.way, part.protocol) == (way, protocol)]
            for level in some[0].levels if some and way == RELEARNED else (ANY,) if some else ():
                key = (way, level, protocol)
                groups = {name: facts.outcomes(some, name, level) for name in GROUPS}
                for name, outcomes in groups.items():
                    if found := share(outcomes):
                        shares.append(ShareBack(*key, name, outcomes.n, *found))
                paired = facts.outcomes(some, LOST, level, {seed: splits[seed].matched_lost for seed in facts.seeds})
                compared = {
                    NEVER_KNOWN: excess(paired, groups[NEVER_KNOWN]),
                    WRONG: excess_at_equal_confidence(groups[LOST], groups[WRONG]),
                    SWAPPED: excess(groups[LOST], groups[SWAPPED]),
                    NOT_IN_TEXT: _by_exposure(groups[LOST], exposure),
                }
                excesses += [ExcessBack(*key, name, "", one) for name, one in compared.items() if one]
                if protocol == RIGHT and level in (ANY, usual):
                    excesses += [ExcessBack(*key, WRONG, *one) for one in _by_relation(asked, groups)]
    return Summary(_verdicts(facts, parts), shares, excesses + _over_random_body(shares_of(parts, facts)))


def shares_of(parts: Sequence[Part], facts: _Facts) -> list[tuple[str, int, Outcomes, Outcomes]]:
    """Way and level with the outcomes of matched lost facts in the fine-tuned model and in the one with random layers."""
    found = []
    for way in WAYS:
        tuned, random = ([part for part in parts if (part.way, part.protocol) == (way, one)] for one in (RIGHT, RANDOM_BODY))
        if not tuned or not random:
            continue
        first = facts.seeds[0]
        same = {first: facts.splits[first].matched_lost}
        of_first = [part for part in tuned if part.seed == first]
        for level in tuned[0].levels if way == RELEARNED else (ANY,):
            found.append((way, level, facts.outcomes(of_first, LOST, level, same), facts.outcomes(random, LOST, level, same)))
    return found


def _over_random_body(found: Sequence[tuple[str, int, Outcomes, Outcomes]]) -> list[ExcessBack]:
    compared = [(way, level, excess(own, random)) for way, level, own, random in found]
    return [ExcessBack(way, level, RIGHT, RANDOM_BODY, "", one) for way, level, one in compared if one]


def _by_exposure(lost: Outcomes, exposure: Sequence[str]) -> Excess | None:
    """Stated facts against those that no sentence of the training text has, at equal confidence."""
    if not len(exposure):
        return None
    kinds = np.array([exposure[number] for number in lost.facts.tolist()])
    return excess_at_equal_confidence(lost.of(kinds == "stated"), lost.of(~np.isin(kinds, ("stated", "evidence", ""))))


def _by_relation(asked: Answered, groups: Mapping[str, Outcomes]) -> list[tuple[str, Excess]]:
    sides = [[asked.relations[number] for number in groups[name].facts.tolist()] for name in (LOST, WRONG)]
    names = pooled_relations(*sides)
    rows = []
    for relation in sorted(set(names.values())):
        chosen = [np.array([names[one] == relation for one in side], bool) for side in sides]
        lost, wrong = groups[LOST].of(chosen[0]), groups[WRONG].of(chosen[1])
        if found := excess_at_equal_confidence(lost, wrong):
            rows.append((relation, found))
    return rows


def _verdicts(facts: _Facts, parts: Sequence[Part]) -> list[FactBack]:
    """The cheapest way of every lost fact; relearning counts if it brings the fact back in more than half of the seeds."""
    lost = facts.asked.lost(facts.k)
    place = {number: column for column, number in enumerate(lost.tolist())}
    levels, came_back = np.full((len(WAYS), len(lost)), ANY), np.zeros((len(WAYS), len(lost)), bool)
    relearned = [part for part in parts if (part.way, part.protocol) == (RELEARNED, RIGHT)]
    of_steps: dict[int, NDArray[np.int64]] = {}
    for part in parts:
        if part.protocol != RIGHT or part.way == RELEARNED:
            continue
        known = part.ranks[LOST] <= facts.k
        row = WAYS.index(part.way)
        came_back[row], levels[row] = known.any(0), np.where(known.any(0), np.array(part.levels)[known.argmax(0)], ANY)
    for part in relearned:
        columns = [place[number] for number in facts.numbers(part, LOST).tolist()]
        for level, ranks in zip(part.levels, part.ranks[LOST], strict=True):
            of_steps.setdefault(level, np.zeros(len(lost), np.int64))[columns] += ranks <= facts.k
    seeds, last = len({part.seed for part in relearned}), WAYS.index(RELEARNED)
    for level in sorted(of_steps, reverse=True):
        often = of_steps[level] > seeds / 2
        came_back[last] |= often
        levels[last] = np.where(often, level, levels[last])
    share_of_seeds = np.max([*of_steps.values(), np.zeros(len(lost))], axis=0) / max(seeds, 1)
    way = cheapest(list(came_back))
    reached = np.where(way < len(WAYS), levels[np.minimum(way, len(WAYS) - 1), np.arange(len(lost))], ANY)
    return [FactBack(*row) for row in zip(lost.tolist(), way.tolist(), reached.tolist(), share_of_seeds.tolist(), strict=True)]
