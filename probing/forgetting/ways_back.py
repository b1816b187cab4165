"""Every way back of every lost fact, a refitted head or a few training steps, with yardsticks; resumable."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from probing.facts.askable import askable
from probing.forgetting.lesson_kinds import IN_OTHER_WORDING, OF_OTHER_RELATIONS, Exam, exams_of
from probing.forgetting.memory import LOST, PARTS, Answered, Group, Groups
from probing.forgetting.ranks import Prompts, rank_answers, ranks, ranks_with_layers_back
from probing.forgetting.ways import (
    AS_IT_IS,
    BY_ANSWER,
    BY_SUBJECT,
    FITTED_HEAD,
    LAYERS_BACK,
    LESSONS,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    STEPS,
    Tried,
)
from probing.heads.lenses import Sums, least_squares
from probing.heads.recipe import HeadRecipe, mask_rows
from probing.kernel.errors import FactsError, HeadError, ModelError
from probing.kernel.fact import Fact, FactSet
from probing.kernel.models.arrays import stored_arrays
from probing.kernel.models.head import DecodingHead, fresh_copy
from probing.kernel.models.layer_swap import NotReplaceable, check_replaceable, layers_of
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import LEAST_SQUARES
from probing.kernel.models.states import all_hidden_states, batches_by_length, encoder_of_kind, padded_inputs
from probing.kernel.provenance import RANDOM_BODY as WITH_RANDOM_BODY

#: Padded tokens of one batch.
_TOKENS = 4096


def fitted_head(tuned: Encoder, base: Encoder, sentences: Sequence[str], positions: int, seed: int = 0) -> DecodingHead:
    """The base's head on top of the affine map that takes the tuned last layer nearest to the base's (least squares).

    Both read ``sentences``, without any fact that is asked, with the same ``positions`` masked pieces. If only the
    tuned model's head has changed, this is the base's own head.
    """
    recipe = HeadRecipe(kind=LEAST_SQUARES, seed=seed, text_sha256="")
    text = mask_rows(base, sentences, recipe, positions, seed)
    rows = [text.row(number) for number in range(len(text.ends))]
    width = base.hidden + 1
    squares, products = (
        torch.zeros(width, width, dtype=torch.float64),
        torch.zeros(width, base.hidden, dtype=torch.float64),
    )
    for batch in batches_by_length([len(row) for row in rows], _TOKENS):
        where = [(place, int(text.index[n])) for place, number in enumerate(batch) for n in text.positions_of(number)]
        states = [_last_states(model, [rows[n] for n in batch], where) for model in (tuned, base)]
        own = torch.cat([states[0], states[0].new_ones((len(where), 1))], 1)
        squares, products = squares + own.T @ own, products + own.T @ states[1]
    if not torch.isfinite(products).all():
        raise HeadError(f"the last layer of {tuned.name} is not finite on the text that a head is fitted to")
    affine = least_squares(Sums(squares, products), recipe.ridge)
    head = fresh_copy(base.head, LEAST_SQUARES)
    head.fold(affine.weight, affine.bias)
    return head.eval().requires_grad_(False)


def _last_states(model: Encoder, rows: Sequence[Sequence[int]], where: Sequence[tuple[int, int]]) -> torch.Tensor:
    """(positions, hidden) states of the last layer, in float64 on the CPU."""
    states = all_hidden_states(rows, model)[model.depth]
    index = torch.tensor(where, device=states.device).T
    return states[index[0], index[1]].to("cpu", torch.float64)


@dataclass(frozen=True)
class RelearnRecipe:
    """How a model relearns, with AdamW at one learning rate."""

    rate: float = 2e-4
    batch: int = 32  #: facts per step
    steps: tuple[int, ...] = STEPS  #: after which the model is asked, ascending
    weight_decay: float = 0.01


def relearned(
    encoder: Encoder, prompts: Prompts, targets: Sequence[int], recipe: RelearnRecipe, seed: int
) -> Iterator[tuple[int, Encoder]]:
    """The model after each of the recipe's numbers of steps; it is trained further when the next is asked for.

    All weights of the body are trained, without dropout; the head is frozen. The given model does not change.
    """
    if not prompts.rows:
        raise ModelError(f"{encoder.name}: got no facts to relearn, expected at least one")
    learner = replace(encoder, body=copy.deepcopy(encoder.body).requires_grad_(True).eval())
    body = learner.body
    optimiser = torch.optim.AdamW(body.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay)
    order = _order(len(prompts.rows), recipe, seed)
    for step in range(1, recipe.steps[-1] + 1):
        numbers = next(order)
        loss = _loss(learner, prompts.some(numbers), [targets[n] for n in numbers])
        if not torch.isfinite(loss):
            raise ModelError(
                f"{encoder.name}: the loss is {loss.item()} at relearning step {step}; lower the learning rate"
            )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step in recipe.steps:
            yield step, learner


def _loss(learner: Encoder, prompts: Prompts, targets: Sequence[int]) -> torch.Tensor:
    """Mean cross-entropy of the right tokens at the masks."""
    states = learner.body(**padded_inputs(prompts.rows, learner)).last_hidden_state
    logits = learner.head(states[torch.arange(len(prompts.rows)), torch.tensor(prompts.positions)])
    return F.cross_entropy(logits.float(), torch.tensor(targets, device=logits.device))


def _order(size: int, recipe: RelearnRecipe, seed: int) -> Iterator[list[int]]:
    """The numbers of the facts of each step: passes in a new order each, joined without a gap."""
    random = np.random.default_rng(seed)
    queue: list[int] = []
    while True:
        while len(queue) < min(recipe.batch, size):
            queue += random.permutation(size).tolist()
        batch, queue = queue[: recipe.batch], queue[recipe.batch :]
        yield batch


#: Asks prompts for tokens: (levels, prompts) ranks.
Ask = Callable[[Prompts, Sequence[int]], NDArray[np.int64]]
#: Fewer lost facts are too few to speak of.
LEAST_LOST = 50


@dataclass(frozen=True)
class RecoveryRecipe:
    """How lost facts are looked for."""

    k: int = 1  #: the rank up to which an answer counts as known
    seeds: tuple[int, ...] = (1, 2, 3)  #: of the parts and the order of relearning
    most_relearned: int = 1000  #: facts that a model relearns
    most_pairs: int = 2000  #: matched pairs, and wrong answers
    relearning: RelearnRecipe = field(default_factory=RelearnRecipe)
    lessons: tuple[str, ...] = ()  #: kinds of lessons that are compared
    size: int = 480  #: different lessons of each kind, as many as the usual steps take


@dataclass(frozen=True)
class RecoveryWork:
    """The inputs; the fine-tuned model is read by its pre-trained head, or its base's."""

    base: Encoder
    tuned: Encoder
    facts: Sequence[Fact]  #: those that both can be asked
    gold: Sequence[int]  #: (facts,) token id of each right answer
    fit: Callable[[Encoder], DecodingHead]  #: fits a head to the last layer of a model of this shape, without facts
    folder: Path  #: of finished parts, of this work alone
    recipe: RecoveryRecipe = field(default_factory=RecoveryRecipe)
    wordings: Mapping[int, str] = field(default_factory=dict)  #: number of a fact -> its prompt in another wording
    besides: FactSet | None = None  #: from which kept facts are taught, too, if ``facts`` have too few

    @cached_property
    def prompts(self) -> Prompts:
        """The prompts of all facts, which every model is asked in the same tokens."""
        return Prompts.of([fact.prompt for fact in self.facts], self.base)

    @cached_property
    def not_put_back(self) -> str:
        """Why no layers are put back; empty if they are."""
        return why_not_put_back(self.tuned, self.base)


def recovery_answers(work: RecoveryWork, part: str = "answered") -> Answered:
    """What both models answer; FactsError if too few facts were lost."""

    def made() -> dict[str, np.ndarray]:
        answers = rank_answers(work.base, work.tuned, work.prompts, work.facts, work.gold)
        return {name: np.asarray(value) for name, value in vars(answers).items() if isinstance(value, np.ndarray)}

    columns = stored_arrays(_path(work, part), made)
    answers = Answered([fact.about for fact in work.facts], [fact.relation for fact in work.facts], **columns)
    if (lost := len(answers.lost(work.recipe.k))) < LEAST_LOST:
        known = int((answers.base_rank <= work.recipe.k).sum())
        raise FactsError(
            f"{work.tuned.name} lost {lost:,} of the {known:,} facts that {work.base.name} knows; expected at least"
            f" {LEAST_LOST}: with fewer, nothing can be said on how they come back"
        )
    return answers


def known_inside(work: RecoveryWork, groups: Groups) -> NDArray[np.bool_]:
    """(layers, lost) whether the base's head reads a lost fact in the base at the layers below the last, downwards."""
    only = {LOST: groups.of[LOST]}
    by_group = stored_arrays(work.folder / "base.safetensors", partial(_by_group, work, only, _inside(work.base)))
    return np.asarray(by_group[LOST] <= work.recipe.k)


@dataclass(frozen=True)
class Lessons:
    """Exams of one kind of lessons, by seed; the numbers of what is taught are those of ``work.facts``."""

    work: RecoveryWork
    exams: Sequence[Sequence[Exam]]

    def fewest(self, first: int = 0) -> int:
        """Lessons of the exam that has fewest, counting the facts from number ``first``."""
        return min(int((exam.taught.facts >= first).sum()) for of_seed in self.exams for exam in of_seed)


def lessons_by_kind(work: RecoveryWork, answers: Answered, groups: Groups) -> dict[str, Lessons]:
    """The lessons of every kind; where the own kept facts are too few, they are drawn from those besides, too."""

    def of_kind(kind: str, work: RecoveryWork, answers: Answered) -> Lessons:
        fixed = (answers, groups, BY_ANSWER, work.recipe.size)
        return Lessons(work, [exams_of(*fixed, seed, kind, work.recipe.k, work.wordings) for seed in work.recipe.seeds])

    found = {kind: of_kind(kind, work, answers) for kind in work.recipe.lessons}
    if work.besides and "kept" in found and found["kept"].fewest() < work.recipe.size:
        more, gold = askable(work.besides, work.base)
        wide = replace(work, facts=(*work.facts, *more.facts), gold=[*work.gold, *gold])
        found["kept"] = of_kind("kept", wide, recovery_answers(wide, "answered-besides"))
    return found


def notes_on_lessons(work: RecoveryWork, lessons: Mapping[str, Lessons]) -> dict[str, int]:
    """Note -> number of lessons, of each kind that has too few, or some of another set, in its poorest exam."""
    notes = {}
    for kind, one in lessons.items():
        if one.fewest() < work.recipe.size:
            notes[f"{LESSONS[kind]} ({work.recipe.size} are needed)"] = one.fewest()
        elif work.besides and one.work is not work:
            others = one.fewest(len(work.facts))
            notes[f"{LESSONS[kind]} (of {work.besides.probe_set}, as this set has too few)"] = others
    return notes


def try_ways(
    work: RecoveryWork,
    answers: Answered,
    groups: Groups,
    done: Callable[[], object],
    lessons: Mapping[str, Lessons] | None = None,
) -> Iterator[Tried]:
    """All ways, from the cheapest; a part that is finished already is read. ``done`` is called after each part."""
    # A body with random layers is asked for all lost facts, and for these only.
    lost, last, k = {LOST: groups.of[LOST]}, work.tuned.depth, work.recipe.k
    random = encoder_of_kind(work.tuned, WITH_RANDOM_BODY)
    inner, upper = tuple(reversed(range(last))), tuple(range(1, last // 2 + 1))

    def asked_once(
        way: str, protocol: str, levels: tuple[int, ...], of: Mapping[str, Group], ask: Callable[[], Ask]
    ) -> Tried:
        ranked = stored_arrays(_path(work, way, protocol), lambda: _by_group(work, of, ask()))
        done()
        return Tried(way, protocol, levels, {name: (ranks <= k)[None] for name, ranks in ranked.items()})

    yield asked_once(OTHER_LAYER, AS_IT_IS, inner, groups.of, lambda: _inside(work.tuned))
    yield asked_once(OTHER_LAYER, RANDOM_BODY, inner, lost, lambda: _inside(random))
    yield asked_once(
        FITTED_HEAD,
        AS_IT_IS,
        (last,),
        groups.of,
        lambda: partial(ranks, work.tuned, heads={last: work.fit(work.tuned)}),
    )
    if not work.not_put_back:
        back = partial(ranks_with_layers_back, work.tuned, work.base, most=len(upper))
        yield asked_once(LAYERS_BACK, AS_IT_IS, upper, groups.of, lambda: back)
    for protocol in (BY_ANSWER, BY_SUBJECT, RANDOM_BODY):
        # The random body only shows what the training alone brings, so one seed is enough.
        seeds = work.recipe.seeds[:1] if protocol == RANDOM_BODY else work.recipe.seeds
        start, of = (random, lost) if protocol == RANDOM_BODY else (work.tuned, groups.of)
        exams = [exams_of(answers, groups, protocol, work.recipe.most_relearned, seed) for seed in seeds]
        yield _relearned(work, of, protocol, exams, start, done)
    for kind, of_kind in (lessons or {}).items():
        if of_kind.fewest() == work.recipe.size:
            reworded = kind in IN_OTHER_WORDING
            yield _relearned(of_kind.work, groups.of, LESSONS[kind], of_kind.exams, work.tuned, done, reworded)


def count_of_parts(recipe: RecoveryRecipe) -> int:
    """How many parts there are at most, for a progress bar."""
    of_lessons = sum(4 if kind in OF_OTHER_RELATIONS else 2 for kind in recipe.lessons)
    return 4 + PARTS[RANDOM_BODY] + (PARTS[BY_ANSWER] + PARTS[BY_SUBJECT] + of_lessons) * len(recipe.seeds)


def why_not_put_back(tuned: Encoder, base: Encoder) -> str:
    """Why putting back the base's upper layers shows nothing, in words; empty if it may show something.

    It shows nothing if the layers do not fit, if none was changed, or if the upper half is all that was changed: then
    it is the base itself that answers.
    """
    try:
        check_replaceable(tuned, base)
    except NotReplaceable as error:
        return str(error)
    pairs = zip(layers_of(tuned.body), layers_of(base.body), strict=True)
    changed = [n for n, (own, other) in enumerate(pairs, start=1) if not _equal(own.state_dict(), other.state_dict())]
    if not changed:
        return "fine-tuning changed none of the layers"
    whole = [_outside(encoder) for encoder in (tuned, base)]
    if (
        changed[0] > tuned.depth - tuned.depth // 2
        and _equal(*whole)
        and _equal(tuned.head.state_dict(), base.head.state_dict())
    ):
        return (
            f"the layers that fine-tuning changed are {', '.join(map(str, changed))}: with them put back it is the base"
            " itself"
        )
    return ""


def _outside(encoder: Encoder) -> dict[str, torch.Tensor]:
    """The weights of a body that are in none of its layers."""
    inside = {id(weight) for weight in layers_of(encoder.body).parameters()}
    return {name: weight for name, weight in encoder.body.named_parameters() if id(weight) not in inside}


def _equal(first: Mapping[str, torch.Tensor], second: Mapping[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(
        torch.equal(tensor.cpu(), second[name].cpu()) for name, tensor in first.items()
    )


def _inside(model: Encoder) -> Ask:
    """Asks at every layer below the last, the highest first."""
    return partial(ranks, model, heads=dict.fromkeys(reversed(range(model.depth)), model.head))


def _relearned(
    work: RecoveryWork,
    of: Mapping[str, Group],
    protocol: str,
    exams: Sequence[Sequence[Exam]],
    start: Encoder,
    done: Callable[[], object],
    reworded: bool = False,
) -> Tried:
    """What comes back after the lessons of every exam, by seed; ``reworded``: they are taught in the other wording."""
    recipe = work.recipe
    steps = recipe.relearning.steps
    back = {name: np.zeros((len(exams), len(steps), len(group.facts)), bool) for name, group in of.items()}
    for place, (seed, of_seed) in enumerate(zip(recipe.seeds, exams, strict=False)):
        for part, exam in enumerate(of_seed):

            def made(seed: int = seed, exam: Exam = exam) -> dict[str, np.ndarray]:
                asked = {name: group.some(exam.asked[name]) for name, group in of.items()}
                facts = exam.taught.facts.tolist()
                prompts = Prompts.of([work.wordings[n] for n in facts], work.base) if reworded else None
                learning = relearned(
                    start, prompts or work.prompts.some(facts), exam.taught.targets.tolist(), recipe.relearning, seed
                )
                asked_again = [_by_group(work, asked, partial(ranks, model)) for _, model in learning]
                return {name: np.concatenate([at[name] for at in asked_again]) for name in asked}

            ranked = stored_arrays(_path(work, RELEARNED, protocol, f"seed {seed}", f"part {part}"), made)
            for name, values in ranked.items():
                back[name][place][:, exam.asked[name]] = values <= recipe.k
            done()
    return Tried(RELEARNED, protocol, steps, back)


def _path(work: RecoveryWork, *words: str) -> Path:
    """The file of a part."""
    return work.folder / ("-".join(words).replace(":", "").replace(" ", "-") + ".safetensors")


def _by_group(work: RecoveryWork, groups: Mapping[str, Group], ask: Ask) -> dict[str, np.ndarray]:
    """Group -> (levels, answers) ranks. All groups are asked together, which fills batches of prompts of one length."""
    ends = np.cumsum([len(group.facts) for group in groups.values()])
    prompts, targets = (
        np.concatenate([getattr(group, name) for group in groups.values()]) for name in ("facts", "targets")
    )
    ranked = ask(work.prompts.some(prompts), targets.tolist())
    return dict(zip(groups, np.split(ranked, ends[:-1], axis=1), strict=True))
