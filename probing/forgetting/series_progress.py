"""Loss and score of a training by step, from what the Trainer of transformers logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

#: Logged with a score, but no score.
_NO_SCORES = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second", "eval_model_preparation_time")
_LOSS = "eval_loss"


@dataclass(frozen=True)
class Progress:
    """What is known of a training at one step: mean loss since the entry before, and score; None if none was logged."""

    step: int
    loss: float | None = None
    score: float | None = None
    metric: str = ""


def progress(history: Sequence[Mapping[str, Any]], metric: str | None = None) -> list[Progress]:
    """Loss and score by step, from ``log_history`` of the Trainer's state or the looks of ``finetuning.json``.

    Metric None takes the first that is logged, and the loss only if there is no other; ``eval_`` may be left out.

    >>> progress([{"step": 5, "loss": 0.7}, {"step": 5, "eval_loss": 0.8, "eval_f1": 0.5, "eval_runtime": 2.0}])
    [Progress(step=5, loss=0.7, score=0.5, metric='f1')]
    """
    by_step: dict[int, Progress] = {}
    names = [name for entry in history for name in entry if name.startswith("eval_") and name not in _NO_SCORES]
    score_key = (
        f"eval_{metric.removeprefix('eval_')}" if metric else next((name for name in names if name != _LOSS), _LOSS)
    )
    for entry in history:
        if not isinstance(step := entry.get("step"), int):
            continue
        point = by_step.setdefault(step, Progress(step))
        if isinstance(loss := entry.get("loss"), int | float):
            point = replace(point, loss=float(loss))
        for name, metric_name in ((score_key, score_key.removeprefix("eval_")), ("score", metric or "score")):
            if isinstance(score := entry.get(name), int | float):
                point = replace(point, score=float(score), metric=metric_name)
        by_step[step] = point
    return [by_step[step] for step in sorted(by_step) if by_step[step] != Progress(step)]
