"""Planted series: trainings whose states know planted facts."""

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from probing.forgetting.series import HALVES, MEANS, AskedStates, Progress, line_rows, stored_rows
from probing.forgetting.ways import LINE
from probing.kernel.provenance import fingerprint_of
from probing.kernel.store.parquet import write_table
from tests.planted_relatives import COLA, CONTROL, LAST, SEED_2, PlantedModel

STEPS = (0, 10, 20, 40)
RELATIONS = ("P1", "P2")
FACTS = 60


@dataclass(frozen=True)
class PlantedSeries:
    """A training to plant.

    Attributes:
        model: at its end.
        protection: what it did against forgetting.
        lost: of ten facts that are known before, so many are lost at the last layer by its end.
        score: on its task, at the end.
        facts: whether single facts are stored.
    """

    model: PlantedModel
    protection: str = "unprotected"
    lost: int = 5
    score: float = 0.8
    facts: bool = True


SERIES = (PlantedSeries(COLA), PlantedSeries(CONTROL, lost=1, score=0.4))
PREVENTED = (
    PlantedSeries(SEED_2, facts=False),
    PlantedSeries(SEED_2, "average 0.5", lost=2, score=0.78, facts=False),
    PlantedSeries(SEED_2, "freeze 2", lost=4, score=0.6, facts=False),
)


def config_of(series: PlantedSeries) -> str:
    """Canonical JSON of what the fingerprint of a series is made of."""
    model = series.model
    return model.config(
        head_recipe="the base's head",
        seed=0,
        steps=STEPS,
        asked_layers=list(range(LAST + 1)),
        probe_set="trex",
        template_set="default",
        facts_sha256="planted",
        protection=series.protection,
        variant=model.variant + series.protection,
        tuned_seed=model.tuned_seed,
    )


def series_id(series: PlantedSeries) -> str:
    """Its fingerprint."""
    return fingerprint_of(config_of(series))


def ids() -> list[str]:
    """Ids of the facts."""
    return [f"{zlib.crc32(str(n).encode()):016x}" for n in range(FACTS)]


def states(series: PlantedSeries) -> AskedStates:
    """Half of the facts are known before; at each layer above 0 and by each step, more of them are lost, and one comes
    back at the end.
    """
    ranks = np.full((len(STEPS), LAST + 1, FACTS), 200, np.uint32)
    known = np.arange(FACTS) % 2 == 0
    ranks[:, 1:, known] = 1
    ranks[:, 1:, np.arange(FACTS) % 4 == 1] = 7
    for place in range(1, len(STEPS)):
        gone = known & (np.arange(FACTS) % 20 // 2 < series.lost * place / (len(STEPS) - 1))
        ranks[place, 1:, gone] = 30
        ranks[place, 1:, 1] = 1
    if series.lost:
        ranks[-1, 1:, 0] = 1
    swapped = np.full_like(ranks, 50)
    swapped[:, :, :5] = 0
    swapped[:, 1:, 5:8] = 1
    return AskedStates(
        STEPS, range(LAST + 1), ranks, swapped, [RELATIONS[n // 2 % 2 if n < 40 else 0] for n in range(FACTS)]
    )


def series_rows(series: PlantedSeries) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a training."""
    run_id, model = series_id(series), series.model
    history = [Progress(5, 1.5), Progress(10, 1.0), Progress(40, 0.5, series.score, "accuracy")]
    run = {
        "run_id": run_id,
        "model": model.name,
        "model_revision": "planted",
        "base": model.base,
        "objective": model.objective,
        "variant": model.variant + series.protection,
        "tuned_seed": model.tuned_seed,
        "protection": series.protection,
        "probe_set": "trex",
        "template_set": "default",
        "layers": LAST + 1,
        "states": len(STEPS),
        "facts": FACTS,
        "left_out": json.dumps({}),
        "device": "cpu",
        "code_version": "planted",
        "created": "2026-01-01T00:00:00Z",
        "config": config_of(series),
    }
    line = {"series_line": points(run_id)} if series.protection == LINE else {}
    return stored_rows(run_id, states(series), ids() if series.facts else [], history) | line | {"series_runs": [run]}


def points(run_id: str) -> list[dict[str, Any]]:
    """A line whose base knows the even facts, of which each step of a tenth loses two more; its scores rise by 0.02."""
    ranks = np.full((len(MEANS), 1, FACTS), 30, np.uint32)
    for place in range(len(MEANS)):
        ranks[place, 0, 4 * place :: 2] = 1
    asked = AskedStates(MEANS, [LAST], ranks, np.full_like(ranks, 50), ["P1"] * FACTS)
    first = np.arange(FACTS) % 4 == 0
    members = dict(zip(HALVES, (first >= 0, first, ~first), strict=True))
    scores = np.array([[(0.6 + 0.02 * place, 100)] * len(HALVES) for place in range(len(MEANS))])
    return [{"run_id": run_id, **row} for row in line_rows(asked, members, scores, "accuracy")]


def plant_series(
    folder: Path,
    planted: Sequence[PlantedSeries] = SERIES,
    change: Callable[[str, list[dict[str, Any]]], list[dict[str, Any]]] = lambda table, rows: rows,
) -> Path:
    """Writes the Parquet files of trainings below ``folder``; ``change`` damages rows by table."""
    folder.mkdir(parents=True, exist_ok=True)
    for series in planted:
        for table, rows in series_rows(series).items():
            write_table(table, change(table, rows), folder / series_id(series) / f"{table}-{series_id(series)}.parquet")
    return folder
