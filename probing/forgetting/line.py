"""Asks eleven means of the weights of a base and its fine-tuned model for facts, scores them, and saves one of them."""

import hashlib
import json
import reprlib
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from probing.finetuning.readers import DEV
from probing.finetuning.setup import TASK_HEAD, Between, Prepared, loaded_with_base, prepare, take_stored_weights
from probing.forgetting.callback import trained_encoder
from probing.forgetting.follow import COUNTED, Training, series_config, write_series
from probing.forgetting.ranks import Questions, ranks_by_layer
from probing.forgetting.recover import one_set, opened_pair
from probing.forgetting.requests import LineRequest
from probing.forgetting.series import HALVES, MEANS, AskedStates, line_rows
from probing.forgetting.ways import LINE
from probing.kernel.errors import ModelError, OptionError, ProbingError, Say
from probing.kernel.files import atomic_folder, atomic_text, cache_folder, require_writable, result_folders, runs_folder
from probing.kernel.jobs.stored_runs import RunFiles
from probing.kernel.models.arrays import stored_arrays
from probing.kernel.models.hub import locate
from probing.kernel.models.load import Encoder, pick_device
from probing.kernel.models.names import FINETUNING, finetuning_note
from probing.kernel.models.records import refuse_taken_name
from probing.kernel.models.torch_settings import set_threads
from probing.kernel.objectives import task_named
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.kernel.registry import ModelEntry, name_in_files
from probing.kernel.store.parquet import read_table, write_table

#: A user's score of a model with its tokenizer: a number, or one per example, whose mean it is.
ScoreFunction = Callable[[Any, Any], float | Sequence[float]]


def _prepared(request: LineRequest, folder: Path, origin: ModelEntry, say: Say) -> Prepared | None:
    """The model that ``finetune`` made, with the examples of its task; None without them, which is said."""
    if not (recipe := finetuning_note(folder).get("recipe")):
        return None
    task = task_named(recipe["objective"]).pooled(recipe.get("pooling"))
    # Other tasks have a development part only if the training left it out.
    settings = recipe | ({"looks": 1} if task.slug in DEV else {})
    try:
        ready = prepare(task, origin, task.data_at(request.data), None, settings, recipe["seed"])
        take_stored_weights(ready, folder)
    except ProbingError as error:
        if request.data:
            raise
        say(f"the points have no score: {error}")
        return None
    ready.training.model.to(str(pick_device(request.device)))  # type: ignore[arg-type]  # transformers wraps it
    return ready


def _half(text: Any) -> int:
    """Which half something falls in, 0 or 1, by the hash of its text."""
    return hashlib.sha256(str(text).encode()).digest()[0] % 2


def _refuse_another(between: Between, model: Any, base: Encoder, tuned: Encoder, few: Questions) -> None:
    """Raises a ``ModelError`` if either end of the line answers otherwise than the model whose weights it has."""
    for percent, whole in ((0, base), (100, tuned)):
        between.move(percent)
        here, there = (ranks_by_layer(one, few, [base.depth]).own for one in (trained_encoder(model, base), whole))
        # Sums in another order turn near scores.
        if not np.isclose(here, there, rtol=0.05, atol=1).all():
            raise ModelError(
                f"the weights of {whole.name} answer otherwise inside the other model; expected models with the same"
                " config.json, but for the task"
            )


def _in_parts(every: Sequence[Any], halved: Sequence[Any]) -> list[Sequence[Any]]:
    """All examples, and the halves of those that choose and report a point; a single one is in both."""
    halves = [[one for n, one in enumerate(halved) if _half(n) == half] for half in (0, 1)]
    parts = [every, *(halves if len(halved) > 1 else (halved, halved))]
    if not all(map(len, parts)):
        raise OptionError(f"got scores of {len(halved)} examples; expected more, so that both halves have some")
    return parts


def line(request: LineRequest, say: Say = print, score: ScoreFunction | None = None) -> list[dict[str, Any]]:
    """Asks every point for the facts, stores the series, and returns its rows; a killed run goes on where it was."""
    threads, target = set_threads(request.threads), request.out or runs_folder()
    require_writable(target)
    entry, tuned, origin, base = opened_pair(request)
    refuse_taken_name(tuned, [target] if request.out else result_folders())
    if tuned.tokenizer.get_vocab() != base.tokenizer.get_vocab():
        raise ModelError(f"{tuned.name} and {base.name} have different vocabularies, so their weights have no mean")
    folder, layers = locate(entry.location, entry.revision or None).folder, [base.depth]
    facts = one_set(request.facts, request.called, say)
    questions = Questions.of(facts, base, request.size)
    say(f"{tuned.name} and its base {base.name}, {len(questions.facts):,} facts of {questions.probe_set}")
    ready = None if score else _prepared(request, folder, origin, say)
    model, before = (ready.training.model, ready.before) if ready else loaded_with_base(folder, origin, base.weights_id)
    parts = _in_parts(ready.training.test, ready.dev or ready.training.test) if ready else []
    metric = finetuning_note(folder)["scores"][0]["metric"] if ready else "score" if score else ""
    between = Between(model, before)
    _refuse_another(between, model, base, tuned, Questions.of(facts, base, 64))
    sizes: set[int] = set()

    def scores() -> list[tuple[float, int]]:
        if ready:
            return [(ready.training.scores(part)[0].value, len(part)) for part in parts]
        if not score:
            return [(np.nan, 0)] * len(HALVES)
        given = score(model, tuned.tokenizer)  # type: ignore[arg-type]
        try:
            values = np.atleast_1d(np.asarray(given, np.float64))
        except (TypeError, ValueError, RuntimeError):
            values = np.array([np.nan])
        sizes.add(values.size)
        if isinstance(given, str) or values.ndim > 1 or not (np.abs(values) <= 1).all() or len(sizes) > 1:
            expected = "a number up to 1, or one for each example, and as many at every point"
            raise OptionError(f"got {reprlib.repr(given)} of score=; expected {expected}")
        return [(float(np.mean(part)), len(part)) for part in _in_parts(values.tolist(), values.tolist())]

    def at(percent: int) -> dict[str, NDArray[Any]]:
        between.move(percent)
        ranks = ranks_by_layer(trained_encoder(model, base), questions, layers)
        return {**ranks._asdict(), "scores": np.array(scores(), np.float64)}

    asked = []
    examples = hashlib.sha256(repr(parts).encode()).hexdigest()
    for percent in tqdm(MEANS, unit="point", desc=f"line {tuned.name}"):
        key = (base.weights_id, tuned.weights_id, tuned.configuration, questions.sha256, threads, examples, percent)
        path = cache_folder() / "forgetting" / "line" / f"{fingerprint_of(canonical_json(key))}.safetensors"
        asked.append(at(percent) if score else stored_arrays(path, partial(at, percent)))
    own, swapped, found = (np.stack([one[name] for one in asked]) for name in ("own", "swapped", "scores"))
    training = Training(tuned.name, base.name, base.weights_id, entry.objective, protection=LINE)
    config = series_config(training, tuned, tuned.weights_id, questions, (MEANS, layers), threads)
    config = config.model_copy(update={"scored": fingerprint_of(repr(found.tolist())) if metric else ""})
    files = RunFiles(config, ("series_line", *COUNTED), target)
    if files.whole():
        say(f"{tuned.name}: line {config.fingerprint} exists already")
    else:
        halves = np.array([_half(answer) for answer in questions.gold])
        members = dict(zip(HALVES, (halves >= 0, halves == 0, halves == 1), strict=True))
        states = AskedStates(MEANS, layers, own, swapped, questions.relations)
        rows = [{"run_id": config.fingerprint, **row} for row in line_rows(states, members, found, metric)]
        write_table("series_line", rows, files.file("series_line"))
        write_series(files, tuned, states, questions, [])
        say(f"{tuned.name}: line {config.fingerprint}: {files.file('series_runs')}")
    names = {"model": tuned.name, "base": base.name, "probe_set": questions.probe_set}
    return [{**names, **row} for row in read_table(files.file("series_line"), "series_line").to_pylist()]


def save_point(request: LineRequest, say: Say = print) -> Path:
    """Writes the model at ``save`` to a new folder, with all that only the fine-tuned one has, and the tokenizer."""
    assert request.save is not None
    entry, tuned, origin, base = opened_pair(request)
    out = request.out or cache_folder() / "models" / name_in_files(f"{tuned.name}-mean-{request.save:g}")
    if out.exists():
        raise ModelError(f"{out} exists already; name a new folder with --out")
    require_writable(out.parent)
    source = locate(entry.location, entry.revision or None).folder
    model, before = loaded_with_base(source, origin, base.weights_id)
    Between(model, before).move(100 * request.save)
    with atomic_folder(out) as folder:
        model.save_pretrained(folder)
        tuned.tokenizer.save_pretrained(folder)
        if (source / TASK_HEAD).is_file():
            shutil.copyfile(source / TASK_HEAD, folder / TASK_HEAD)
        if recipe := (note := finetuning_note(source)).get("recipe"):
            average = 1 - request.save * (1 - recipe.get("average", 0))
            note |= {"stored_as_difference": False, "scores": [], "recipe": recipe | {"average": average}}
            atomic_text(folder / FINETUNING, json.dumps(note, indent=1) + "\n")
    say(f"wrote {out}: {request.save:g} of {tuned.name}, the rest of {base.name}")
    return out
