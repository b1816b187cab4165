"""Savings: is what the base said relearned faster than a counterfeit, an answer of equal probability that it did not
say?
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from probing.forgetting.memory import LOST, NEVER_KNOWN, WRONG, Answered, Group, Groups, drawn
from probing.forgetting.plant import PLANTED
from probing.forgetting.ranks import choice_logps, first_answers
from probing.forgetting.savings import ALL_LOOKS, FIRST, GAINED, LOST_PLANTED, MEASURES, UNTAUGHT, Saved, SavingsRecipe
from probing.forgetting.ways_back import RecoveryWork, RelearnRecipe, relearned
from probing.kernel.models.arrays import stored_arrays
from probing.kernel.stats.equal_confidence import randomised


def saved_groups(
    answers: Answered,
    groups: Groups,
    prompts: Sequence[str],
    exposure: Sequence[str],
    untaught: Sequence[tuple[int, int]] = (),
) -> dict[str, Group]:
    """The answers of each group; a prompt is in one of them, and once, as it is taught one answer.

    ``untaught``: numbers of facts, with answers that were drawn like planted ones and not taught.
    """
    lost = groups.of[LOST]
    planted = np.array([bool(exposure) and exposure[n] == PLANTED for n in lost.facts], bool)
    taken: set[str] = set()
    found = {}
    others = np.array([pair for pair in untaught if answers.said[pair[0]] != pair[1]], np.int64).reshape(-1, 2)
    parts = {LOST: lost.some(~planted), LOST_PLANTED: lost.some(planted), UNTAUGHT: Group(*others.T)}
    for name, group in (parts | {name: groups.of[name] for name in (WRONG, NEVER_KNOWN)}).items():
        new = []
        for n in group.facts.tolist():
            new.append(prompts[n] not in taken)
            taken.add(prompts[n])
        found[name] = group.some(np.array(new, bool))
    return found


def counterfeits(
    work: RecoveryWork, answers: Answered, group: Group, nats: float, evenly: bool = False
) -> NDArray[np.int64]:
    """(answers,) token id of a counterfeit of each; -1 where there is none.

    It is the answer of another fact of the relation, drawn as often as it is one there, because common answers are
    learned faster; ``evenly`` draws all answers alike, as planted ones are drawn. It is not right for the prompt, not
    the base's first answer, not first in the fine-tuned model, and has there a log-probability within ``nats`` of that
    of the answer.
    """
    right, of_relation = defaultdict(list), defaultdict(list)
    for fact, token in zip(work.facts, work.gold, strict=True):
        right[fact.prompt].append(token)
        of_relation[fact.relation].append(token)
    of = {name: np.unique(tokens, return_counts=True) for name, tokens in of_relation.items()}
    relations = [answers.relations[n] for n in group.facts]
    choices = [of[name][0] for name in relations]
    first, logp = choice_logps(work.tuned, work.prompts.some(group.facts), choices)
    found = np.full(len(group.facts), -1, np.int64)
    for place, (number, target) in enumerate(zip(group.facts.tolist(), group.targets.tolist(), strict=True)):
        tokens, times = of[relations[place]]
        never = (target, answers.said[number], first[place], *right[work.facts[number].prompt])
        near = np.abs(logp[place] - logp[place][tokens == target]) <= nats
        able = np.flatnonzero(near & ~np.isin(tokens, never))
        if len(able) and target != first[place]:
            random = np.random.default_rng(_number("counterfeit", work.facts[number].fact_id))
            weights = times[able] ** (not evenly)
            found[place] = tokens[random.choice(able, p=weights / weights.sum())]
    return found


def _number(*words: str) -> int:
    return int(hashlib.sha256("\n".join(words).encode()).hexdigest()[:12], 16)


def savings(
    work: RecoveryWork,
    answers: Answered,
    groups: Groups,
    recipe: SavingsRecipe,
    exposure: Sequence[str] = (),
    untaught: Sequence[tuple[int, int]] = (),
) -> list[Saved]:
    """Teaches each answer or its counterfeit, as a coin decides, in one training, and compares both; resumable.

    A group with fewer than two answers, or two counterfeits, has no difference.
    """
    ids = [fact.fact_id for fact in work.facts]
    parts: list[tuple[str, int, int, Group, NDArray[np.bool_]]] = []
    prompts = [fact.prompt for fact in work.facts]
    for name, group in saved_groups(answers, groups, prompts, exposure, untaught).items():
        other = counterfeits(work, answers, group, recipe.nats, evenly=name in (LOST_PLANTED, UNTAUGHT))
        able = np.flatnonzero(other >= 0)
        chosen = drawn(able, recipe.most, seed=0)
        coin = np.array([_number("coin", ids[n]) % 2 == 0 for n in group.facts[chosen]], bool)
        taught = np.where(coin, group.targets[chosen], other[chosen])
        parts.append((name, len(able), len(group.facts), Group(group.facts[chosen], taught), coin))
    lessons = Group(*(np.concatenate([getattr(part[3], one) for part in parts]) for one in ("facts", "targets")))
    curves = stored_arrays(work.folder / "savings.safetensors", lambda: _curves(work, lessons, recipe))
    relations = np.unique(answers.relations, return_inverse=True)[1].astype(np.int64)
    found: list[Saved] = []
    end = 0
    for name, able_number, size, group, coin in parts:
        here = slice(end, end := end + len(group.facts))
        clusters = relations[group.facts] * (1 << 32) + group.targets
        for measure in MEASURES:
            values = curves[measure][:, here]
            for passes, each in ((ALL_LOOKS, values.mean(0)), *zip(recipe.passes, values, strict=True)):
                found.append(Saved(name, measure, passes, randomised(each, coin, clusters), able_number, size))
    return found


def _curves(work: RecoveryWork, lessons: Group, recipe: SavingsRecipe) -> dict[str, NDArray[np.float64]]:
    """Measure -> (looks, lessons): what each taught answer became."""
    prompts, targets, size = work.prompts.some(lessons.facts), lessons.targets.tolist(), len(lessons.facts)
    batch = min(recipe.batch, size)
    steps = tuple(-(-passes * size // max(1, batch)) for passes in recipe.passes)
    looks = relearned(work.tuned, prompts, targets, RelearnRecipe(recipe.rate, batch, steps), seed=1) if size else ()
    _, _, _, (before,) = first_answers(work.tuned, prompts, [targets])
    curves: dict[str, list[NDArray[np.float64]]] = {name: [] for name in MEASURES}
    for _, learner in looks:
        _, _, (rank,), (logp,) = first_answers(learner, prompts, [targets])
        curves[FIRST].append((rank == 1).astype(float))
        curves[GAINED].append(logp - before)
    return {name: np.array(rows).reshape(len(recipe.passes), size) for name, rows in curves.items()}
