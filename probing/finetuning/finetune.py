"""Fine-tunes an encoder on one of the paper's objectives and scores it, or scores stored weights again."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from probing.finetuning.epoch_perplexity import epoch_perplexity
from probing.finetuning.evaluation import Score
from probing.finetuning.requests import FinetuneRequest, ScoreRequest
from probing.finetuning.setup import Between, Prepared, Replay, prepare, take_stored_weights
from probing.finetuning.trainer import Finetuned, KeptStates, PlannedSteps
from probing.finetuning.trainer import finetune as train
from probing.heads.training_run import fetched_text
from probing.kernel.errors import ModelError, Say
from probing.kernel.files import atomic_folder, atomic_text, cache_folder
from probing.kernel.locks import LONG_WORK, exclusive_lock
from probing.kernel.models.hub import weights_id_of
from probing.kernel.models.load import pick_device
from probing.kernel.models.names import FINETUNING, base_entry, find_entry
from probing.kernel.objectives import Task, task_named
from probing.kernel.recipe import FinetuneRecipe
from probing.kernel.registry import ModelEntry, name_in_files, name_of_model
from probing.kernel.store.parquet import write_table
from probing.kernel.success import Beside, in_words, task_scores, verdict_of
from probing.kernel.text import wikitext_sentences


@dataclass(frozen=True)
class _Place:
    """Where a model is made; ``work`` is the folder of its checkpoints."""

    name: str
    target: Path
    work: Path

    @property
    def note(self) -> Path:
        return self.target / FINETUNING


def finetune(request: FinetuneRequest, say: Say = print) -> Path:
    """Fine-tunes, scores and stores a model, and returns its folder; does nothing if it exists already.

    A killed run resumes from its last checkpoint; the task's head is stored apart.
    """
    task, entry = request.task, find_entry(request.model, revision=request.revision)
    place = _place(request, entry)
    # Checkpoints have one name: a second process waits, and then finds the model finished.
    with exclusive_lock(cache_folder() / "locks" / f"finetune-{place.work.name}.lock", limit=LONG_WORK):
        if place.note.is_file():
            _refuse_another(place.note, request, task, entry)
            say(f"{place.name} exists already: {place.target}")
            return place.target
        request, tried = _with_best_rate(request, task, entry, place, say)
        ready, recipe = prepared(request, task, entry)
        say(f"{place.name}: {len(ready.training.rows):,} training rows, scored on {ready.training.test_words}")
        for reason, number in ready.training.left_out.items():
            say(f"  left out: {number:,} ({reason})")
        data = planned(ready, recipe)
        look = epoch_perplexity(request.perplexity_text, ready, place.work / "perplexity.json", say)
        states = (
            KeptStates(cache_folder() / "checkpoints" / place.name, request.checkpoints, ready.tokenizer)
            if request.checkpoints
            else None
        )
        dev = ready.development_score if recipe.looks else None
        trained = train(
            ready.training.model, data, place.work, request.device, look=look, development_score=dev, kept=states
        )
        record = _record(request, entry, ready, recipe, trained) | (
            {"perplexity_text": look.text_sha256} if look else {}
        )
        record |= {"rates": tried} if tried else {}
        if recipe.average:
            Between(ready.training.model, ready.before).move(100 * (1 - recipe.average))
        looked = {"epoch_perplexity": look.rows(place.name, entry.name)} if look else {}
        scores = _stored(request, place, ready, record, looked)
    _say_scores(task, scores, say)
    say(f"wrote {place.target}")
    return place.target


def _with_best_rate(
    request: FinetuneRequest, task: Task, entry: ModelEntry, place: _Place, say: Say
) -> tuple[FinetuneRequest, list[dict[str, float]]]:
    """The request with its best rate, and each rate's development score after a third of the steps; ties: the lower."""
    if not request.rates:
        return request, []
    note = place.work.with_name(f"{place.work.name}-rates") / "scores.json"
    tried: dict[str, float] = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else {}
    length = request.length
    steps, looks = max(1, (length.steps or 0) // 3), max(1, (length.looks or 0) // 3)
    for rate in sorted(request.rates):
        if str(rate) in tried:
            continue
        shorter = replace(request, rates=(), length=replace(length, rate=rate, steps=steps, looks=looks))
        ready, recipe = prepared(shorter, task, entry)
        data = planned(ready, recipe)
        work = note.parent / f"{rate:g}"
        train(ready.training.model, data, work, request.device, development_score=ready.development_score)
        tried[str(rate)] = ready.development_score()
        atomic_text(note, json.dumps(tried))
        shutil.rmtree(work, ignore_errors=True)
        say(f"  learning rate {rate:g}: development score {tried[str(rate)]:.4f} after {steps:,} steps")
    best = max(sorted(request.rates), key=lambda rate: tried[str(rate)])
    scores = [
        {"learning_rate": rate, "steps": steps, "development_score": tried[str(rate)]} for rate in sorted(request.rates)
    ]
    return replace(request, length=replace(length, rate=best), rates=()), scores


def _say_scores(task: Task, scores: Sequence[Score], say: Say) -> None:
    """A line for each score, and whether the task was learned."""
    for score in scores:
        chance = "" if score.chance is None else f"; {score.chance_name}: {score.chance:.3f}"
        say(f"  {score.metric}: {score.value:.3f}{chance}")
    judged = task_scores(
        task.label, [Beside(score.metric, score.value, score.n, score.chance, score.chance_name) for score in scores]
    )
    verdict = verdict_of(task.label, judged)
    if judged and judged[0].decides and verdict != "control":
        first = judged[0]
        baseline = "no baseline" if first.baseline is None else f"{first.baseline_name} {first.baseline:.3f}"
        say(
            f"  task: {in_words(verdict)} ({first.metric} {first.value:.3f}, 95 % interval {first.low:.3f} to"
            f" {first.high:.3f}; {baseline})"
        )


def _place(request: FinetuneRequest, entry: ModelEntry) -> _Place:
    name = name_of_model(request.out) if request.out else name_in_files(f"{entry.name}-{request.task.name}")
    target = request.out or cache_folder() / "models" / name
    if target.exists() and not target.is_dir():
        raise ModelError(f"{target} is not a folder; name another with --out")
    return _Place(name, target, cache_folder() / "finetune" / name_in_files(name))


def _refuse_another(note: Path, request: FinetuneRequest, task: Task, entry: ModelEntry) -> None:
    """Raises a ``ModelError`` if a finished model was made in another way than requested; None is not compared."""
    requested: dict[str, Any] = {
        "base": entry.name,
        "objective": task.label,
        "seed": request.seed,
        **vars(request.length),
    }
    requested |= {"freeze-embeddings": request.freeze_embeddings or None, "difference": request.difference or None}
    if Path(entry.location).is_dir():
        requested["base weights"] = weights_id_of(entry.location)[:12]
    made = json.loads(note.read_text(encoding="utf-8"))
    recipe = made["recipe"]
    names = {
        "steps": "steps",
        "tokens_a_step": "tokens",
        "batch": "batch",
        "learning_rate": "rate",
        "max_pieces": "pieces",
        "seed": "seed",
    }
    names |= {name: name for name in ("dropout", "looks", "patience")}
    there = {"base": made["base"], "objective": made["objective"], "difference": made["stored_as_difference"]}
    there["base weights"] = recipe["base_weights"][:12]
    if entry.hub_id and (source := made.get("base_source")):
        requested["base"], there["base"] = entry.hub_id, source.rpartition("@")[0]
    protections = {"frozen_layers": "freeze-layers", "replay": "replay", "average": "average"}
    requested |= {option: request.protection.settings().get(name) for name, option in protections.items()}
    there |= {option: recipe.get(name, 0) for name, option in protections.items()}
    there |= {option: recipe.get(name) for name, option in names.items()} | {
        "freeze-embeddings": recipe["freeze_embeddings"]
    }
    there["bfloat16"] = recipe.get("bfloat16", False)
    if request.difference:
        requested["bits"], there["bits"] = request.bits or 8, made.get("difference_bits", 8)
    other = [
        f"{option} {there[option]}, expected {value}"
        for option, value in requested.items()
        if value not in (None, there[option])
    ]
    if other:
        raise ModelError(
            f"{note.parent} holds a model with {'; '.join(other)}; name another folder with --out, or delete it"
        )


def planned(ready: Prepared, recipe: FinetuneRecipe) -> PlannedSteps:
    """The batches of a training."""
    return PlannedSteps(ready.training.rows, recipe, ready.tokenizer, ready.training.labels, ready.replay)


def prepared(request: FinetuneRequest, task: Task, entry: ModelEntry) -> tuple[Prepared, FinetuneRecipe]:
    """The loaded base, its rows, the text that is replayed, and the recipe."""
    data = task.data_at(request.data)
    if entry.base:
        raise ModelError(
            f"{entry.name} is fine-tuned from {entry.base} already; fine-tuning begins with a base encoder"
        )
    settings = request.length.settings(task)
    ready = prepare(task, entry, data, request.lama, settings, request.seed)
    protection = request.protection.settings()
    if request.protection.replay:
        texts = list(wikitext_sentences(request.protection.replay_text or fetched_text("train")))
        ready = replace(ready, replay=Replay(texts, ready.tokenizer, settings["max_pieces"], ready.before))
        protection["replay_sha256"] = ready.replay.sha256 if ready.replay else ""
    recipe = FinetuneRecipe(
        objective=task.slug,
        base_weights=ready.base_weights,
        data_sha256=ready.data_sha256,
        freeze_embeddings=request.freeze_embeddings,
        seed=request.seed,
        **settings,
        **protection,
    )
    return ready, recipe


def _record(
    request: FinetuneRequest, entry: ModelEntry, ready: Prepared, recipe: FinetuneRecipe, trained: Finetuned
) -> dict[str, Any]:
    """What is recorded with the model; the scores follow."""
    # The registry knows where its own models are; a folder of the user's is found again by its path, a model of the hub
    # by id and commit.
    folder_of_base = str(Path(entry.location).resolve()) if Path(entry.location).is_dir() and not entry.shipped else ""
    return {
        "base": entry.name,
        "base_folder": folder_of_base,
        "objective": request.task.label,
        "recipe": recipe.fields(),
        "steps": trained.steps,
        "training_rows": len(ready.training.rows),
        "history": trained.history,
        "stored_as_difference": request.difference,
        **({"base_source": ready.base_source} if ready.base_source else {}),
        **({"difference_bits": request.bits} if request.bits and request.bits != 8 else {}),
        **({"left_out": dict(ready.training.left_out)} if ready.training.left_out else {}),
        **({"looks": trained.looks, "kept_step": trained.kept_step} if trained.looks else {}),
    }


def _stored(
    request: FinetuneRequest,
    place: _Place,
    ready: Prepared,
    record: Mapping[str, Any],
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
) -> list[Score]:
    """Writes the model with these tables, scores the written model, and moves it to its folder."""
    names = {"model": place.name, "base": record["base"], "objective": record["objective"]}
    # A folder that looks like a model is taken as one. A folder without finetune's note is no finished model.
    with atomic_folder(place.target, replace=True) as half:
        unrounded = (
            {"unrounded_scores": [vars(score) for score in ready.training.score()]} if request.difference else {}
        )
        ready.save(half, (request.bits or 8) if request.difference else None)
        scores = ready.training.score()
        for table, rows in ({"tasks": [{**names, **vars(score)} for score in scores]} | {**tables}).items():
            write_table(table, rows, half / f"{table}-{place.work.name}.parquet")
        noted = {**record, "scores": [vars(score) for score in scores], **unrounded}
        (half / FINETUNING).write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")
    for work in (place.work, place.work.with_name(f"{place.work.name}-rates")):
        shutil.rmtree(work, ignore_errors=True)
    return scores


@dataclass(frozen=True)
class ScoredAgain:
    """One score of a model, computed now and after the training (None if the record lacks it)."""

    metric: str
    value: float
    recorded: float | None
    n: int


def score(request: ScoreRequest, say: Say = print) -> list[ScoredAgain]:
    entry = find_entry(request.model, request.base)
    note = Path(entry.location) / FINETUNING
    if not note.is_file():
        raise ModelError(f"{note} is missing; expected the folder of a model that `finetune` made")
    record = json.loads(note.read_text(encoding="utf-8"))
    origin = base_entry(entry)
    if origin is None:
        raise ModelError(f"the base of {entry.name} is not known; name it with --base")
    recipe = record["recipe"]
    task = task_named(recipe["objective"]).pooled(recipe.get("pooling"))
    ready = prepare(task, origin, task.data_at(request.data), request.lama, recipe, recipe["seed"])
    take_stored_weights(ready, note.parent)
    ready.training.model.to(str(pick_device(request.device)))  # type: ignore[arg-type]  # transformers wraps it
    earlier = {score["metric"]: score["value"] for score in record["scores"]}
    say(f"{entry.name}, scored on {ready.training.test_words}")
    scores = [
        ScoredAgain(score.metric, score.value, earlier.get(score.metric), score.n) for score in ready.training.score()
    ]
    for score in scores:
        recorded = "not recorded" if score.recorded is None else f"recorded {score.recorded:.4f}"
        say(f"  {score.metric}: {score.value:.4f} (n = {score.n:,}; {recorded})")
    return scores
