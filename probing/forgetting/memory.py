"""From what every way brought back to outcomes of single facts, shares, and their yardsticks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from probing.forgetting.memory_groups import LOST, NEVER_KNOWN, WRONG, Answered, Groups
from probing.forgetting.memory_memory import memory
from probing.forgetting.ways import (
    ANY,
    AS_IN_BASE,
    AS_IT_IS,
    BY_ANSWER,
    FITTED_HEAD,
    LAYERS_BACK,
    MOVED,
    NOT_RECOVERED,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    USUAL_STEPS,
    Tried,
)
from probing.kernel.stats.equal_confidence import Answers, Difference, Share, at_equal_confidence, paired, share

#: The yardstick of the test of memory: right answers that the base's training text never had.
NEVER_HAD = "right answers that the text never had"
#: What the lost facts are compared with.
YARDSTICKS = (WRONG, NEVER_KNOWN, NEVER_HAD, RANDOM_BODY)


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
            if of_lost and (test := memory(lost, of_lost)):
                results.against.append(Against(*key, NEVER_HAD, test.difference, (test.low_without, test.high_without)))
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
