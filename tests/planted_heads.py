"""A family read by several kinds of heads: which model keeps what under which kind is planted; some runs are stored as
counts only.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from probing.kernel.fact import Fact, fill
from probing.kernel.store.parquet import write_table
from tests.planted_store import PlantedRun, forget_predictions, plant_runs

_TEMPLATE = "The capital of [X] is [Y] ."
#: Facts enough for intervals that lie apart. Every third is answered alike for a swapped subject (``prediction_rows``).
FACTS = tuple(
    Fact("trex", "P36", f"Land {number}", ("paris", "berlin")[number % 2], _TEMPLATE, fill(_TEMPLATE, f"Land {number}"))
    for number in range(120)
)
BASE, TUNED, CONTROL = "nesia-mini", "nesia-mini-qa-squad-2", "nesia-mini-control"
#: (model, kind of head) -> how many of the first 90 facts are known at layer 3, the last; at layer 2 half of them.
KNOWN = {
    (BASE, "tied"): 90,
    (BASE, "logit_lens"): 90,
    (BASE, "least_squares"): 90,
    (TUNED, "tied"): 3,
    (TUNED, "least_squares"): 60,
    (CONTROL, "tied"): 87,
    (CONTROL, "least_squares"): 87,
}


def recipe(head: str) -> str:
    """The recipe that a run's configuration and the table of head training name."""
    return (
        ""
        if head == "logit_lens"
        else json.dumps({"kind": head, **({} if head == "least_squares" else {"start": "pre-trained"})})
    )


def headed(model: str, head: str) -> PlantedRun:
    """One run of the family."""

    def rank(number: int, layer: int) -> int:
        known = KNOWN[model, head] if layer == 3 else KNOWN[model, head] // 2 if layer == 2 else 0
        return 1 if number < known else 200

    objective = {BASE: "pre-training", TUNED: "QA-SQuAD-2", CONTROL: "control"}[model]
    return PlantedRun(
        model=model,
        head=head,
        base="" if model == BASE else BASE,
        objective=objective,
        rank=rank,
        facts=FACTS,
        made=(("head_recipe", recipe(head)),),
    )


RUNS = tuple(headed(*one) for one in KNOWN)
LENS_LOSS = (9.0, 8.0, 7.0, 5.0)
#: Kind -> validation loss by layer, steps and seconds of a layer.
TRAINED = {"tied": ((8.0, 6.5, 5.5, 5.0), 350, 12.5), "least_squares": ((8.5, 7.0, 5.0, 5.0), 0, None)}


def training_rows(model: str = BASE) -> list[dict]:
    """The rows of ``head_training``."""
    return [
        {
            "model": model,
            "head": head,
            "seed": 0,
            "layer": layer,
            "lens_loss": LENS_LOSS[layer],
            "start_loss": LENS_LOSS[layer],
            "loss": loss,
            "steps": steps,
            "seconds": seconds,
            "recipe": recipe(head),
        }
        for head, (losses, steps, seconds) in TRAINED.items()
        for layer, loss in enumerate(losses)
    ]


def plant_training(folder: Path, rows: Sequence[dict] | None = None) -> Path:
    """Writes the file of head training of the base."""
    write_table(
        "head_training", training_rows() if rows is None else list(rows), folder / "head_training-planted.parquet"
    )
    return folder


def plant_heads(folder: Path, counted: Sequence[tuple[str, str]] = ()) -> Path:
    """The whole family with its head training; the named (model, head) as counts only."""
    plant_runs(folder, RUNS)
    for one in counted:
        forget_predictions(folder, headed(*one))
    return plant_training(folder)
