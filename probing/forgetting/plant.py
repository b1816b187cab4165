"""A control with planted facts: a base that was taught arbitrary answers is fine-tuned again as a model was."""

import copy
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from probing.finetuning.setup import Between, Prepared, prepare
from probing.finetuning.trainer import PlannedSteps, finetune
from probing.forgetting.ranks import Prompts, first_answers, ranks
from probing.forgetting.ways_back import RelearnRecipe, relearned
from probing.kernel.errors import FactsError, ModelError, Say
from probing.kernel.fact import Fact, FactSet, facts_sha256
from probing.kernel.files import atomic_folder, atomic_text, cache_folder
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import FINETUNING, base_entry, find_entry, finetuning_note
from probing.kernel.objectives import TASKS
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.recipe import FinetuneRecipe
from probing.kernel.registry import ModelEntry, name_in_files, read_registry

#: What exposure is called: an answer that was taught, and a first answer that was never taught.
PLANTED, GUESSED = "planted", "guessed"
#: Teaching ends when so many planted answers are first: further steps would only make them surer than what is learned
#: from text.
_SHARE = 0.9
#: Steps from one look at them to the next, and at most for each.
_EVERY, _MOST = 20, 4
#: Why a fact that should have been guessed is left out.
NO_GUESS = "the taught base's answer is right, or no answer of the relation"


@dataclass(frozen=True)
class Planted:
    """The control: a base that was taught arbitrary answers, and the same fine-tuning, done again from it.

    Both are asked ``kept``, where a planted or guessed fact has its new answer. ``gold`` (facts,) has the answers'
    token ids; ``exposure`` (facts,) is ``planted``, ``guessed`` or empty. ``untaught`` has the numbers of facts whose
    own answers stay, and token ids that were drawn for them like planted answers and not taught.
    """

    base: Encoder
    tuned: Encoder
    kept: FactSet
    gold: list[int]
    exposure: list[str]
    untaught: list[tuple[int, int]]


def planted(
    entry: ModelEntry,
    base: Encoder,
    kept: FactSet,
    gold: Sequence[int],
    number: int,
    folder: Path,
    threads: int,
    say: Say,
) -> Planted:
    """Draws ``number`` arbitrary answers, teaches the base half of them, and fine-tunes it again; a killed call goes
    on, a finished one is read.

    Of as many other facts as are taught, which the base does not know, the taught base's own first answers count as
    right from then on. They are wrong and were not taught, so they are guesses. ``folder`` keeps both new models, until
    the caller removes it. Refused if the model was not made by ``finetune``, or the base cannot be taught so many.
    """
    recipe, note, data, ready = _recorded(entry)
    prompts = Prompts.of([fact.prompt for fact in kept.facts], base)
    said, _, (rank,), _ = first_answers(base, prompts, [gold])
    lessons, guesses, others = _drawn(kept.facts, gold, said.tolist(), rank.tolist(), number, base.name)
    known = {n: gold[n] for n in np.flatnonzero(rank == 1).tolist()}
    parts = (recipe.canonical(), facts_sha256(kept.facts, gold), sorted(lessons.items()), threads)
    place = folder / fingerprint_of(canonical_json(parts))
    before, after = (place / name_in_files(f"{one.name}-planted-{len(lessons)}") for one in (base, entry))
    if not before.is_dir():
        ready.before.base_model.load_state_dict(_taught(base, prompts, lessons, known).body.state_dict())
        with atomic_folder(before) as half:
            ready.before.save_pretrained(half)
            ready.tokenizer.save_pretrained(half)
    learned = open_encoder(str(before), device=str(base.device))
    if not after.is_dir():
        _made_again(recipe, note, data, before, after, "cpu" if base.device.type == "cpu" else "auto", say)
    given, still = (_first(learned, prompts, answers) for answers in (lessons, known))
    say(f"{learned.name} gives {given:.0%} of {len(lessons):,} planted answers, {still:.0%} of {len(known):,} known")
    guessed, *_ = first_answers(learned, prompts.some(guesses))
    changed = _changed(kept, gold, lessons, dict(zip(guesses, guessed.tolist(), strict=True)))
    say(f"  and {changed[2].count(GUESSED):,} wrong answers of its own")
    there = {(fact.relation, token) for fact, token in zip(changed[0].facts, changed[1], strict=True)}
    drawn = {kept.facts[n].prompt: token for n, token in others.items() if (kept.facts[n].relation, token) in there}
    untaught = [(n, drawn[fact.prompt]) for n, fact in enumerate(changed[0].facts) if fact.prompt in drawn]
    return Planted(learned, open_encoder(str(after), device=str(base.device)), *changed, untaught)


def _taught(base: Encoder, prompts: Prompts, lessons: Mapping[int, int], known: Mapping[int, int]) -> Encoder:
    """The base when most lessons, number of a prompt -> first answer, are learned; every second is of what it knows."""
    body, random, wanted = copy.deepcopy(base.body), np.random.default_rng(1), {**known, **lessons}
    # A head may be tied to the word embeddings, and is not trained.
    words: Any = body.get_input_embeddings()
    frozen = words.weight.detach()
    del words.weight
    words.register_buffer("weight", frozen)
    times = max(1, len(known) // len(lessons))
    numbers = [*list(lessons) * times, *random.permutation(list(known))[: times * len(lessons)].tolist()]
    recipe = RelearnRecipe(steps=tuple(range(_EVERY, max(_EVERY, _MOST * len(lessons)) + 1, _EVERY)))
    states = relearned(replace(base, body=body), prompts.some(numbers), [wanted[n] for n in numbers], recipe, 1)
    for _, learner in (bar := tqdm(states, total=len(recipe.steps), unit="look", desc=f"teach {base.name}")):
        first = _first(learner, prompts, lessons)
        bar.set_postfix_str(f"{first:.0%} learned")
        if first >= _SHARE:
            bar.close()
            return learner
    raise ModelError(f"{base.name} learned {first:.0%} of {len(lessons):,} answers, expected {_SHARE:.0%}; plant fewer")


def _first(model: Encoder, prompts: Prompts, answers: Mapping[int, int]) -> float:
    """The share of answers, number of a prompt -> token id, that are first."""
    return float((ranks(model, prompts.some(answers), list(answers.values()))[0] == 1).mean())


def _recorded(entry: ModelEntry) -> tuple[FinetuneRecipe, dict, Path, Prepared]:
    """Recipe and record of a fine-tuned model, the folder of its data, and its base with these."""
    place = Path(entry.location)
    note, origin = finetuning_note(place), base_entry(entry)
    needs = "planted facts need a model that `probing finetune` made, to make it again"
    if not note or origin is None:
        raise ModelError(f"{entry.name} has no {FINETUNING} with a base; {needs}")
    try:
        recipe = FinetuneRecipe.model_validate(note["recipe"])
        task, _ = (
            TASKS[recipe.objective],
            [note[name] for name in ("steps", "objective", "scores", "stored_as_difference")],
        )
    except (LookupError, TypeError, ValueError) as error:
        raise ModelError(f"the recipe in {place / FINETUNING} is incomplete or unknown ({error!r}); {needs}") from error
    if not task.data_set or recipe.replay:
        raise FactsError(
            f"the record of {entry.name} does not name the text that it was made with; choose another model"
        )
    names = [task.data_set, *(one.name for one in read_registry().data if one.stands_in_for == task.data_set)]
    folders = [one for name in names if (one := cache_folder() / "downloads" / name).is_dir()]
    for data in folders:
        ready = prepare(task, origin, data, None, recipe.model_dump(), recipe.seed)
        if ready.data_sha256 == recipe.data_sha256:
            return recipe, note, data, ready
    got = f"other data in {', '.join(map(str, folders))}" if folders else "no data"
    commands = " or ".join(f"python -m probing fetch {name}" for name in names)
    expected = f"expected those of {entry.name}, with sha256 {recipe.data_sha256[:12]}"
    raise FactsError(f"got {got}; {expected}; fetch them with: {commands}")


def _drawn(
    facts: Sequence[Fact], gold: Sequence[int], said: Sequence[int], rank: Sequence[int], number: int, base: str
) -> tuple[dict[int, int], list[int], dict[int, int]]:
    """Numbers of the facts that are taught, with their answers, of those that are left to guess, and of those whose
    answers are not taught, with these.
    """
    times, answers = Counter(fact.prompt for fact in facts), defaultdict(set)
    for fact, token in zip(facts, gold, strict=True):
        answers[fact.relation].add(token)
    # A prompt that asks for two facts would get two answers.
    unknown = [n for n, fact in enumerate(facts) if rank[n] > 1 and times[fact.prompt] == 1]
    others = {n: sorted(answers[facts[n].relation] - {gold[n], said[n]}) for n in unknown}
    able = [n for n, tokens in others.items() if tokens]
    half, most = number // 2, len(able) * 2 // 3
    if number > most:
        got = f"{base} does not know {len(able):,} facts that could have another answer, expected {number + half:,}"
        raise FactsError(f"{got}: a third of them is left to guess; plant at most {most:,}")
    random = np.random.default_rng(1)
    chosen = random.permutation(able)[: number + half].tolist()
    taught, untaught = (
        {n: int(random.choice(others[n])) for n in part} for part in (chosen[:half], chosen[2 * half :])
    )
    return taught, chosen[half : 2 * half], untaught


def _changed(
    kept: FactSet, gold: Sequence[int], lessons: Mapping[int, int], guesses: Mapping[int, int]
) -> tuple[FactSet, list[int], list[str]]:
    """The facts with their new answers, the token ids, and what each is; those without a guess are left out."""
    words = {(fact.relation, token): fact.object for fact, token in zip(kept.facts, gold, strict=True)}
    out = {n for n, token in guesses.items() if token == gold[n] or (kept.facts[n].relation, token) not in words}
    facts, tokens, kinds = list(kept.facts), list(gold), [""] * len(gold)
    for kind, answers in ((PLANTED, lessons), (GUESSED, guesses)):
        for n in answers.keys() - out:
            facts[n] = replace(facts[n], object=words[facts[n].relation, answers[n]])
            tokens[n], kinds[n] = answers[n], kind
    stays = [n for n in range(len(facts)) if n not in out]
    left_out = kept.left_out | ({NO_GUESS: len(out)} if out else {})
    some = FactSet(kept.probe_set, tuple(facts[n] for n in stays), kept.n_read, left_out, kept.template_set)
    return some, [tokens[n] for n in stays], [kinds[n] for n in stays]


def _made_again(
    recipe: FinetuneRecipe, note: dict, data: Path, base: Path, target: Path, device: str, say: Say
) -> None:
    """Fine-tunes a folder's base by a recorded recipe up to the recorded state; looks change no weights."""
    ready = prepare(TASKS[recipe.objective], find_entry(str(base)), data, None, recipe.model_dump(), recipe.seed)
    again = recipe.model_copy(update={"base_weights": ready.base_weights, "looks": 0, "patience": 0})
    step, training = note.get("kept_step", note["steps"]), ready.training
    steps = PlannedSteps(training.rows, again, ready.tokenizer, training.labels, until=step)
    finetune(training.model, steps, base.parent / "work", device)
    if again.average:
        Between(training.model, ready.before).move(100 * (1 - again.average))
    made = {"base": base.name, "base_folder": str(base.resolve()), "recipe": again.fields(), "steps": step}
    with atomic_folder(target) as half:
        ready.save(half, note.get("difference_bits", 8) if note["stored_as_difference"] else None)
        atomic_text(half / FINETUNING, json.dumps(made | {"objective": note["objective"]}, indent=1))
    score, recorded = training.score()[0], note["scores"][0]["value"]
    say(f"{target.name}: {score.metric} {score.value:.3f}, without planted facts {recorded:.3f}")
