"""One task label by label: F1, and the layers that solve each label."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from probing.edges.numbers_numbers import f1, k_gains
from probing.edges.report_curves import DRAWS, GROUP, EdgeCurve, drawn_again, newest_runs, sentence_draws
from probing.edges.report_curves_places import expected_layer_of, reason_of
from probing.edges.store import label_counts, label_sentence_counts, majority_by_label
from probing.edges.targets_encoders import CUMULATIVE, TASK
from probing.kernel.store.database import Database

_NUMBERS = (
    "f1_first",
    "f1_last",
    "f1_last_low",
    "f1_last_high",
    "centre_of_gravity",
    "expected_layer",
    "expected_layer_low",
    "expected_layer_high",
    "k_gains",
)
COLUMNS = (
    "model",
    "encoder",
    "task",
    "part",
    "label",
    "counts",
    "n",
    "seeds",
    "last",
    *_NUMBERS,
    "expected_layer_reason",
)


def by_label(
    db: Database,
    task: str,
    *,
    part: str = "dev",
    unseen: bool = False,
    models: Sequence[str] | None = None,
    kind: str = CUMULATIVE,
) -> pd.DataFrame:
    """F1 and expected layer of every training label, as ``summary`` gives them for the task.

    All labels of a task share a mix, so a label has no centre of gravity: that column is empty. counts: whether the
    task's F1 counts the label; n: targets of the part that have it.
    """
    runs = newest_runs(db, kind, models=models, tasks=[task])
    run_ids = list(runs["run_id"])
    scored = label_counts(db, run_ids, part, unseen)
    by_sentence = {
        (run_ids[int(run)], label): rows
        for (run, label), rows in label_sentence_counts(db, run_ids, part, unseen).groupby(["run", "label"], sort=False)
    }
    traced = {run_id for run_id, _ in by_sentence}
    majority = _majority(db, task, part, unseen)
    rows = []
    for key, group in runs.groupby(list(GROUP), sort=False):
        model, encoder, *_ = (str(name) for name in key)
        of_group = scored[scored["run_id"].isin(list(group["run_id"]))]
        for label, of_label in of_group.groupby("label", sort=False):
            seeds = list(dict.fromkeys(of_label["run_id"]))
            layers = np.unique(of_label["layer"]).astype(int)
            counts = of_label[["tp", "fp", "fn"]].to_numpy(dtype=np.float64).reshape(len(seeds), len(layers), 3)
            scores = f1(*np.moveaxis(counts, 2, 0))
            deviations = [
                _drawn(by_sentence.get((run_id, label)), len(layers)) - score if run_id in traced else None
                for run_id, score in zip(seeds, scores, strict=True)
            ]
            drawn = drawn_again(scores, deviations, np.moveaxis(counts, 2, 1), (*key, label))
            n = int(counts[0, 0, [0, 2]].sum())
            curve = EdgeCurve(
                model, encoder, task, kind, TASK, part, len(seeds), n, layers, scores.mean(axis=0), drawn, scores
            )
            known = bool(of_label["counts"].iloc[0])
            rows.append(
                (
                    curve.model,
                    curve.encoder,
                    task,
                    part,
                    label,
                    known,
                    *_row(curve),
                    reason_of(curve, majority.get(str(label))),
                )
            )
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(_NUMBERS, "float64"))


def _majority(db: Database, task: str, part: str, unseen: bool) -> dict[str, float]:
    """Label -> its F1 if the majority label is predicted for every target: 0 for every other label."""
    counts = majority_by_label(db, task, part, unseen)
    return dict(zip(counts["label"], map(float, f1(counts["tp"], counts["fp"], counts["fn"])), strict=True))


def _row(curve: EdgeCurve) -> tuple:
    last = curve.number(lambda values: values[..., -1])
    place = expected_layer_of(curve)
    bits = np.nan if np.isnan(place.value) else float(k_gains(curve.values))
    ends = (curve.values[0], last.value, last.low, last.high)
    return (curve.targets, curve.seeds, int(curve.layers[-1]), *ends, np.nan, place.value, place.low, place.high, bits)


def _drawn(rows: pd.DataFrame | None, layers: int) -> NDArray[np.float64]:
    """(draws, layers) F1 of a label on drawn sentences."""
    if rows is None:
        return np.full((DRAWS, layers), np.nan)
    texts, of_row = np.unique(rows["text"].to_numpy(), return_inverse=True)
    counts = np.zeros((len(texts), layers, 3), dtype=np.float32)
    counts[of_row, rows["layer"].to_numpy()] = rows[["tp", "fp", "fn"]].to_numpy()
    summed = (sentence_draws(texts) @ counts.reshape(len(texts), -1)).reshape(DRAWS, layers, 3)
    return f1(*np.moveaxis(summed, 2, 0))
