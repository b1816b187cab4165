"""Fine-tunes a base by several recipes against forgetting, and stores scores on the task and facts kept."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from probing.finetuning.finetune import planned, prepared
from probing.finetuning.requests import FinetuneRequest, Protection
from probing.finetuning.setup import Between, Prepared
from probing.finetuning.trainer import finetune as train
from probing.forgetting.callback import trained_encoder
from probing.forgetting.follow import Training, series_config, series_files, write_series
from probing.forgetting.ranks import Questions, Ranks, ranks_by_layer
from probing.forgetting.recover import one_set
from probing.forgetting.requests import PreventRequest, parts_of
from probing.forgetting.series import AskedStates, Progress
from probing.kernel.errors import Say
from probing.kernel.files import atomic_text, cache_folder, require_writable, runs_folder
from probing.kernel.locks import LONG_WORK, exclusive_lock
from probing.kernel.models.catalogue import open_entry
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import find_entry
from probing.kernel.models.torch_settings import set_threads
from probing.kernel.objectives import Task
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.recipe import UNPROTECTED, FinetuneRecipe, protection_of, variant_of
from probing.kernel.registry import ModelEntry, name_in_files


@dataclass(frozen=True)
class _Compared:
    """What all recipes share: the base and its ranks before, the objective, the questions, and results' folder."""

    request: PreventRequest
    entry: ModelEntry
    task: Task
    base: Encoder
    questions: Questions
    before: Ranks
    threads: int
    target: Path

    def wanted(self, recipe: str, seed: int) -> FinetuneRequest:
        """The fine-tuning of a recipe and a seed."""
        request, parts = self.request, parts_of(recipe)
        rate = request.length.rate or float(self.task.settings["learning_rate"])
        length = replace(request.length, rate=rate * parts["rate"]) if "rate" in parts else request.length
        protection = Protection(
            freeze_layers=max(1, round(parts["freeze"] * self.base.depth)) if "freeze" in parts else 0,
            replay=parts.get("replay", 0.0),
            replay_text=request.replay_text if "replay" in parts else None,
            average=parts.get("average", 0.0),
        )
        plain = FinetuneRequest(request.model, request.objective, request.data, seed=seed, device=request.device)
        return replace(plain, length=length, protection=protection, freeze_embeddings=request.freeze_embeddings)


def prevent(request: PreventRequest, say: Say = print) -> list[Path]:
    """Fine-tunes in every recipe and seed, and stores counts and scores of each; what is stored is not repeated.

    Returns the files with the rows of the series, one per recipe and seed.
    """
    threads = set_threads(request.threads)
    entry = find_entry(request.model)
    task = FinetuneRequest(request.model, request.objective).task
    target = request.out or runs_folder()
    require_writable(target)
    base = open_entry(entry, request.device)
    questions = Questions.of(one_set(request.facts, say=say), base, request.size)
    say(
        f"{base.name}, {len(request.recipes)} recipes of {task.label} with {len(request.seeds)} seeds,"
        f" {len(questions.facts):,} facts"
    )
    before = ranks_by_layer(base, questions, range(base.layers))
    compared = _Compared(request, entry, task, base, questions, before, threads, target)
    found = [_one(compared, recipe, seed, say) for recipe in request.recipes for seed in request.seeds]
    return found


def _one(compared: _Compared, recipe: str, seed: int, say: Say) -> Path:
    """Trains one recipe with one seed, unless its series is stored."""
    request = compared.wanted(recipe, seed)
    ready, settings = prepared(request, compared.task, compared.entry)
    words = _words(recipe, settings)
    key = fingerprint_of(
        canonical_json([settings.canonical(), compared.questions.sha256, compared.base.weights_id, compared.threads])
    )
    work = cache_folder() / "finetune" / f"prevent-{key}"
    note = cache_folder() / "forgetting" / "prevented" / f"{key}.txt"
    with exclusive_lock(cache_folder() / "locks" / f"prevent-{key}.lock", limit=LONG_WORK):
        stored = compared.target / note.read_text(encoding="utf-8").strip() if note.is_file() else None
        if stored and stored.is_file():
            say(f"  {words}, seed {seed}: exists already")
            return stored
        dev = ready.development_score if settings.looks else None
        trained = train(ready.training.model, planned(ready, settings), work, request.device, development_score=dev)
        if settings.average:
            Between(ready.training.model, ready.before).move(100 * (1 - settings.average))
        score = ready.training.score()[0]
        history = {entry["step"]: Progress(entry["step"], entry["loss"]) for entry in trained.history}
        last = history.get(trained.kept_step, Progress(trained.kept_step))
        history[trained.kept_step] = replace(last, score=score.value, metric=score.metric)
        path = _stored(compared, ready, settings, words, [history[step] for step in sorted(history)])
        atomic_text(note, path.name)
        shutil.rmtree(work, ignore_errors=True)
    say(f"  {words}, seed {seed}: {score.metric} {score.value:.3f}")
    return path


def _stored(compared: _Compared, ready: Prepared, recipe: FinetuneRecipe, words: str, history: list[Progress]) -> Path:
    """Asks the trained model and writes the series of two states."""
    base = compared.base
    model = trained_encoder(ready.training.model, base)
    layers = range(base.layers)
    after = ranks_by_layer(model, compared.questions, layers)
    steps = (0, max(one.step for one in history if one.score is not None))
    both = (compared.before, after)
    own, swapped = np.stack([one.own for one in both]), np.stack([one.swapped for one in both])
    asked = AskedStates(steps, layers, own, swapped, compared.questions.relations)
    name = name_in_files(
        f"{base.name}-{compared.task.name}-{words.replace(', ', '-').replace(' ', '-')}-seed-{recipe.seed}"
    )
    training = Training(
        name, base.name, base.weights_id, compared.task.label, variant_of(recipe.fields()), recipe.seed, words
    )
    config = series_config(training, model, model.weights_id, compared.questions, (steps, layers), compared.threads)
    files = series_files(config, compared.target, fact_by_fact=False)
    write_series(files, model, asked, compared.questions, history)
    return files.file("series_runs")


def _words(recipe: str, settings: FinetuneRecipe) -> str:
    """What a recipe does against forgetting."""
    parts = parts_of(recipe)
    rate = f"rate {parts['rate']:g}" if "rate" in parts else ""
    other = protection_of(settings.fields())
    return ", ".join(one for one in (rate, "" if rate and other == UNPROTECTED else other) if one)
