"""From the ranks that every way gave to verdicts on single facts and shares with their yardsticks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probing.core.forgetting.excess import (
    Excess,
    Outcomes,
    Share,
    bins_of,
    excess,
    excess_at_equal_confidence,
    pooled_relations,
    shares,
)
from probing.core.forgetting.groups import GROUPS, LOST, NEVER_KNOWN, SWAPPED, WRONG, Answered
from probing.core.forgetting.protocols import PROTOCOLS, RANDOM_BODY, RIGHT, Split
from probing.core.forgetting.ways import ANY, FITTED_HEAD, LAYERS_BACK, NOT_RECOVERED, OTHER_LAYER, RELEARNED, USUAL_STEPS, WAYS, Part

#: Yardsticks that are no group: the same steps from a body with random layers, and facts that are in no sentence of the training text.
NOT_IN_TEXT = "not in the training text"
#: Yardstick -> what it is compared by.
YARDSTICKS = (NEVER_KNOWN, WRONG, SWAPPED, RANDOM_BODY, NOT_IN_TEXT)


@dataclass(frozen=True)
class FactBack:
    """How one lost fact came back.

    Attributes:
        fact: its number.
        layer: the highest layer below the last at which the head reads the answer; None if there is none.
        fitted: whether the fitted head reads it.
        layers_back: the fewest layers put back that bring it back; None if none do.
        steps: the fewest training steps that bring it back in more than half of the seeds; None if none do.
        seeds: the largest number of seeds, over all numbers of steps, in which relearning brings it back.
        bin: of the base's confidence, from 0.
    """

    fact: int
    layer: int | None
    fitted: bool
    layers_back: int | None
    steps: int | None
    seeds: int
    bin: int

    @property
    def way(self) -> str:
        """The cheapest way back, or ``NOT_RECOVERED``."""
        found = (self.layer is not None, self.fitted, self.layers_back is not None, self.steps is not None)
        return next((way for way, back in zip(WAYS, found, strict=True) if back), NOT_RECOVERED)


@dataclass(frozen=True)
class ShareBack:
    """The share of a group that came back by one way; ``level`` is ``ANY`` for ways without training."""

    way: str
    level: int
    protocol: str
    group: str
    share: Share


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

    def share(self, way: str, level: int, protocol: str, group: str) -> Share | None:
        """The share of a group over all bins; None if it has no facts, or the way was not gone."""
        key = (way, level, protocol, group)
        found = (one.share for one in self.shares if (one.way, one.level, one.protocol, one.group) == key)
        return next((one for one in found if one.bin is None), None)

    def excess(self, way: str, level: int, protocol: str, yardstick: str) -> Excess | None:
        """The excess of all lost facts over a yardstick; None if one of them has no facts."""
        key = (way, level, protocol, yardstick, "")
        found = (one for one in self.excesses if (one.way, one.level, one.protocol, one.yardstick, one.relation) == key)
        return next((one.excess for one in found), None)


class _Facts:
    """What all outcomes share: subjects as numbers, confidence, and which fact of which seed was asked in a part."""

    def __init__(self, asked: Answered, splits: Mapping[int, Split], k: int) -> None:
        names = [name.casefold() for name in asked.subjects]
        self.subject = np.unique(names, return_inverse=True)[1].astype(np.int64)
        self.asked, self.splits, self.k, self.seeds = asked, splits, k, list(splits)

    def numbers(self, part: Part, group: str) -> NDArray[np.int64]:
        """The facts of a group in a part, in the order of its ranks."""
        of_seed = self.splits[part.seed]
        if part.protocol == RANDOM_BODY and group == LOST:
            return of_seed.matched_lost[(part.fold < 0) | (of_seed.fold[of_seed.matched_lost] == part.fold)]
        if part.fold < 0:
            return of_seed.groups[group].facts
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
    of_groups: list[ShareBack] = []
    excesses: list[ExcessBack] = []
    for way in WAYS:
        for protocol in PROTOCOLS:
            some = [part for part in parts if (part.way, part.protocol) == (way, protocol)]
            for level in some[0].levels if some and way == RELEARNED else (ANY,) if some else ():
                key = (way, level, protocol)
                groups = {name: facts.outcomes(some, name, level) for name in GROUPS}
                for name, outcomes in groups.items():
                    of_groups += [ShareBack(*key, name, one) for one in shares(outcomes)]
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
    return Summary(_verdicts(facts, parts), of_groups, excesses + _over_random_body(shares_of(parts, facts)))


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
    """Every way of every lost fact; relearning counts if it brings the fact back in more than half of the seeds."""
    lost = facts.asked.lost(facts.k)
    place = {number: column for column, number in enumerate(lost.tolist())}
    # (lost,) first level of each way that brings a fact back; None where none does.
    first: dict[str, list[int | None]] = {way: [None] * len(lost) for way in WAYS}
    often: dict[int, NDArray[np.int64]] = {}
    seeds: set[int] = set()
    for part in parts:
        if part.protocol != RIGHT:
            continue
        known: NDArray[np.bool_] = np.asarray(part.ranks[LOST] <= facts.k)
        if part.way == RELEARNED:
            seeds.add(part.seed)
            columns = [place[number] for number in facts.numbers(part, LOST).tolist()]
            for level, back in zip(part.levels, known, strict=True):
                often.setdefault(level, np.zeros(len(lost), np.int64))[columns] += back
        else:
            found, reached = np.asarray(known.any(0)).tolist(), np.array(part.levels)[known.argmax(0)].tolist()
            first[part.way] = [level if back else None for level, back in zip(reached, found, strict=True)]
    for level in sorted(often, reverse=True):
        enough = (often[level] > len(seeds) / 2).tolist()
        first[RELEARNED] = [level if back else after for back, after in zip(enough, first[RELEARNED], strict=True)]
    of_seeds = np.max([*often.values(), np.zeros(len(lost), np.int64)], axis=0).tolist()
    bins = bins_of(facts.asked.probability[lost]).tolist()
    fitted = [level is not None for level in first[FITTED_HEAD]]
    columns_of = (lost.tolist(), first[OTHER_LAYER], fitted, first[LAYERS_BACK], first[RELEARNED], of_seeds, bins)
    return [FactBack(*row) for row in zip(*columns_of, strict=True)]
