"""Computes a fine-tuned model's task scores again, from its stored weights, its task's head and the test data."""

import json
from dataclasses import dataclass
from pathlib import Path

from probing.finetuning.objectives import task_named
from probing.finetuning.requests_score import ScoreRequest
from probing.finetuning.setup import prepare, take_stored_weights
from probing.kernel.errors import ModelError, Say
from probing.kernel.models.load import pick_device
from probing.kernel.models.names import FINETUNING, base_entry, find_entry


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
