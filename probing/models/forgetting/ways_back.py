"""Every way back of every lost fact, with its yardsticks; resumable, one file per model that was asked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from probing.core.errors import FactsError
from probing.core.facts.fact import Fact
from probing.core.forgetting.groups import LOST, NEVER_KNOWN, Answered
from probing.core.forgetting.protocols import OWN, RANDOM_BODY, RIGHT, Group, Split, lessons, split
from probing.core.forgetting.ways import FITTED_HEAD, LAYERS_BACK, OTHER_LAYER, RELEARNED, Part
from probing.core.provenance import RANDOM_BODY as WITH_RANDOM_BODY
from probing.models.encoders.head import DecodingHead
from probing.models.encoders.load import Encoder
from probing.models.encoders.random_encoder import encoder_of_kind
from probing.models.forgetting.answer_ranks import Prompts, answered, ranks, ranks_with_layers_back
from probing.models.forgetting.relearning import RelearnRecipe, relearned
from probing.models.runtime.checked_arrays import kept_arrays

#: Asks prompts for tokens: (levels, prompts) ranks.
Ask = Callable[[Prompts, Sequence[int]], NDArray[np.int64]]
#: Fewer lost facts are too few to speak of.
LEAST_LOST = 50


@dataclass(frozen=True)
class RecoveryRecipe:
    """How lost facts are looked for.

    Attributes:
        k: the rank up to which an answer counts as known.
        seeds: of folds, pairs and relearning.
        folds: parts of the subjects; each is held out once.
        most_relearned: facts that a model relearns.
        most_pairs: matched pairs, wrong answers and swapped subjects of one seed.
        relearning: the training.
    """

    k: int = 1
    seeds: tuple[int, ...] = (1, 2, 3)
    folds: int = 5
    most_relearned: int = 1000
    most_pairs: int = 2000
    relearning: RelearnRecipe = field(default_factory=RelearnRecipe)


@dataclass(frozen=True)
class RecoveryWork:
    """The inputs.

    Attributes:
        base, tuned: the two models; the fine-tuned one is read by its pre-trained head, or its base's.
        facts: those that both can be asked.
        gold: (facts,) token id of each right answer.
        fit: fits a head to the last layer of a model of this shape, without facts; called only if its answers are not kept.
        folder: where finished parts are kept; it belongs to this work alone.
    """

    base: Encoder
    tuned: Encoder
    facts: Sequence[Fact]
    gold: Sequence[int]
    fit: Callable[[Encoder], DecodingHead]
    folder: Path
    recipe: RecoveryRecipe = field(default_factory=RecoveryRecipe)

    @cached_property
    def prompts(self) -> Prompts:
        """The prompts of all facts, which every model is asked in the same tokens."""
        return Prompts.of([fact.prompt for fact in self.facts], self.base)


def asked_of(work: RecoveryWork) -> Answered:
    """What both models answer.

    Raises:
        FactsError: if too few facts were lost.
    """

    def made() -> dict[str, np.ndarray]:
        found = answered(work.base, work.tuned, work.prompts, work.facts, work.gold)
        return {name: np.asarray(value) for name, value in vars(found).items() if isinstance(value, np.ndarray)}

    columns = kept_arrays(work.folder / "answered.safetensors", made)
    found = Answered([fact.about for fact in work.facts], [fact.relation for fact in work.facts], **columns)
    if (lost := len(found.lost(work.recipe.k))) < LEAST_LOST:
        known = int((found.base_rank <= work.recipe.k).sum())
        raise FactsError(
            f"{work.tuned.name} lost {lost:,} of the {known:,} facts that {work.base.name} knows; expected at least {LEAST_LOST}: "
            "with fewer, nothing can be said on how they come back"
        )
    return found


def splits_of(work: RecoveryWork, asked: Answered) -> dict[int, Split]:
    """Seed -> its folds and groups."""
    return {seed: split(asked, work.facts, work.recipe.k, work.recipe, seed) for seed in work.recipe.seeds}


def parts(work: RecoveryWork, asked: Answered, splits: Mapping[int, Split]) -> Iterator[Part]:
    """All ways, from the cheapest; a part that is finished already is read."""
    yield from _without_training(work, asked, splits)
    recipe = work.recipe
    first = recipe.seeds[0]
    for protocol in (RIGHT, OWN, RANDOM_BODY):
        # The random body only shows what the training alone brings, so one seed is enough.
        for seed in recipe.seeds if protocol != RANDOM_BODY else (first,):
            for fold in range(recipe.folds):
                yield _relearned(work, asked, splits[seed], protocol, seed, fold)


def count_of_parts(recipe: RecoveryRecipe) -> int:
    """How many parts there are, for a progress bar."""
    return 6 + recipe.folds * (2 * len(recipe.seeds) + 1)


def _without_training(work: RecoveryWork, asked: Answered, splits: Mapping[int, Split]) -> Iterator[Part]:
    """The ways that train nothing, of the fine-tuned model and of the one with random layers."""
    seed, last = work.recipe.seeds[0], work.tuned.depth
    levels = {OTHER_LAYER: tuple(reversed(range(last))), FITTED_HEAD: (last,), LAYERS_BACK: tuple(range(1, last // 2 + 1))}
    for protocol in (RIGHT, RANDOM_BODY):
        model = work.tuned if protocol == RIGHT else encoder_of_kind(work.tuned, WITH_RANDOM_BODY)
        groups = splits[seed].groups if protocol == RIGHT else _of_pairs(asked, splits[seed])
        for way in levels:
            found = kept_arrays(_path(work, way, protocol), partial(_asked_by, way, work, model, groups))
            yield Part(way, protocol, seed, -1, levels[way], found)


def _asked_by(way: str, work: RecoveryWork, model: Encoder, groups: Mapping[str, Group]) -> dict[str, np.ndarray]:
    """The ranks of a way that trains nothing."""
    last = model.depth
    if way == LAYERS_BACK:
        return _by_group(work, groups, partial(ranks_with_layers_back, model, work.base, most=last // 2))
    heads = {last: work.fit(model)} if way == FITTED_HEAD else dict.fromkeys(reversed(range(last)), model.head)
    return _by_group(work, groups, partial(ranks, model, heads=heads))


def _of_pairs(asked: Answered, of_seed: Split, fold: int | None = None) -> dict[str, Group]:
    """What a body with random layers is asked: the two facts of every pair, as only these are compared with it."""
    lost = of_seed.matched_lost if fold is None else of_seed.matched_lost[of_seed.fold[of_seed.matched_lost] == fold]
    never = of_seed.groups[NEVER_KNOWN] if fold is None else of_seed.held_out(NEVER_KNOWN, fold)
    return {LOST: Group(lost, lost, asked.answers[lost]), NEVER_KNOWN: never}


def _relearned(work: RecoveryWork, asked: Answered, of_seed: Split, protocol: str, seed: int, fold: int) -> Part:
    recipe = work.recipe
    random = protocol == RANDOM_BODY
    groups = _of_pairs(asked, of_seed, fold) if random else {name: of_seed.held_out(name, fold) for name in of_seed.groups}

    def made() -> dict[str, np.ndarray]:
        taught = lessons(asked, of_seed, protocol, fold, recipe.k, recipe, seed)
        start = encoder_of_kind(work.tuned, WITH_RANDOM_BODY) if random else work.tuned
        learning = relearned(start, work.prompts.some(taught.prompts), taught.targets.tolist(), recipe.relearning, seed)
        found = [_by_group(work, groups, partial(ranks, model)) for _, model in learning]
        return {name: np.concatenate([at[name] for at in found]) for name in groups}

    path = _path(work, RELEARNED, protocol, f"seed {seed}", f"fold {fold}")
    return Part(RELEARNED, protocol, seed, fold, recipe.relearning.steps, kept_arrays(path, made))


def _path(work: RecoveryWork, *words: str) -> Path:
    """The file of a part."""
    return work.folder / ("-".join(words).replace(" ", "-").replace("'", "") + ".safetensors")


def _by_group(work: RecoveryWork, groups: Mapping[str, Group], ask: Ask) -> dict[str, np.ndarray]:
    """Group -> (levels, facts) ranks. All groups are asked together, which fills batches of prompts of one length."""
    ends = np.cumsum([len(group.facts) for group in groups.values()])
    prompts, targets = (np.concatenate([getattr(group, name) for group in groups.values()]) for name in ("prompts", "targets"))
    ranked = ask(work.prompts.some(prompts), targets.tolist())
    return dict(zip(groups, np.split(ranked, ends[:-1], axis=1), strict=True))
