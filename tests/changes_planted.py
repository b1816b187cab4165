"""A planted store of what fine-tuning changed: measured values, and sums of cross-entropy."""

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from probing.kernel.provenance import fingerprint_of
from tests.planted_files import Change, write_planted
from tests.planted_relatives import LAST, LAYERS, MODELS, PlantedModel

HEADS, BLOCKS, BLOCK_PIECES = 2, 12, 32
#: Measures of what fine-tuning changed -> (least layer, whether of one model alone, whether by head).
MEASURES = {
    "entropy-first": (1, True, True),
    "flatness-first": (1, True, False),
    "to-separator-first": (1, True, False),
    "emd-first": (1, False, True),
    "total-variation-first": (1, False, False),
    "entropy-change-first": (1, False, False),
    "cka-first": (0, False, False),
    "cka-mean": (0, False, False),
    "same-token-cosine": (0, False, False),
    "self-similarity": (0, True, False),
    "anisotropy": (0, True, False),
}
ALL_HEADS = 255


def change_config(model: PlantedModel) -> str:
    """Canonical JSON of what the fingerprint of a run of changes is made of."""
    return model.config(
        head_recipe="{}",
        seed=0,
        sentences_sha256="planted",
        blocks_sha256="planted",
    )


def change_run_id(model: PlantedModel) -> str:
    """Fingerprint of a model's run of changes."""
    return fingerprint_of(change_config(model))


def planted_value(model: PlantedModel, measure: str, layer: int, head: int) -> float:
    """A measure's value: of fine-tuned models the farther from the base's the higher the layer."""
    at_base = {
        "entropy-first": 2.5,
        "flatness-first": 0.9,
        "cka-first": 1.0,
        "cka-mean": 1.0,
        "same-token-cosine": 1.0,
    }.get(measure, 0.1)
    if measure.startswith(("emd", "total", "entropy-change")):
        at_base = 0.0
    if not model.base:
        return at_base
    size = {"control": 0.02, "CoLA": 0.1, "SST-2": 0.06}.get(model.objective, 0.04) + 0.001 * model.more
    return (
        at_base
        - size * layer * (-1 if at_base == 0.0 else 1)
        + (0.0 if head == ALL_HEADS else 0.01 * (head - (HEADS - 1) / 2))
    )


def block_sums(model: PlantedModel, layers_put_back: int, embeddings: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(blocks,) sums of cross-entropy as float32, and numbers of masked pieces, which are equal for all models."""
    masked = _random("masked").integers(4, 7, BLOCKS)
    at_base = masked * (4.0 + 0.3 * _random("blocks").normal(size=BLOCKS))
    size = {"": 0.0, "control": 0.03, "CoLA": 0.3, "SST-2": 0.5}.get(model.objective if model.base else "", 0.8)
    left = 0.0 if embeddings else size * (1 - 0.8 * layers_put_back / LAST)
    noise = 0.05 * _random("noise", model.name).normal(size=BLOCKS) if left else 0.0
    return (at_base + masked * (left + noise)).astype(np.float32), masked


def change_rows(model: PlantedModel) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a model's run of changes."""
    run_id = change_run_id(model)
    run = {
        "run_id": run_id,
        "model": model.name,
        "model_revision": "planted",
        "base": model.base or None,
        "objective": model.objective,
        "variant": model.variant,
        "tuned_seed": model.tuned_seed,
        "seed": 0,
        "layers": LAST + 1,
        "heads": HEADS,
        "width": 16,
        "sentences": 50,
        "blocks": BLOCKS,
        "block_pieces": BLOCK_PIECES,
        "left_out": json.dumps({}),
        "device": "cpu",
        "code_version": "planted",
        "created": "2026-01-01T00:00:00Z",
        "config": change_config(model),
    }
    values = [
        {
            "run_id": run_id,
            "measure": measure,
            "layer": layer,
            "head": head,
            "value": value,
            "low": value - 0.01,
            "high": value + 0.01,
            "n": 50,
        }
        for measure, (least, alone, by_head) in MEASURES.items()
        if model.base or alone
        for layer in range(least, LAST + 1)
        for head in ((*range(HEADS), ALL_HEADS) if by_head else (ALL_HEADS,))
        for value in [planted_value(model, measure, layer, head)]
    ]
    put_back: list[tuple[str, int, bool]] = [("none", 0, False)]
    if model.base:
        put_back += [(where, n, False) for where in ("last", "first", "single") for n in range(1, LAST + 1)] + [
            ("last", LAST, True)
        ]
    perplexity = []
    for where, n, embeddings in put_back:
        sums, masked = block_sums(model, 1 if where == "single" else n, embeddings)
        perplexity.append(
            {
                "run_id": run_id,
                "replaced": where,
                "n": n,
                "embeddings": embeddings,
                "masked": int(masked.sum()),
                "cross_entropy": float(sums.astype(np.float64).sum()),
                "by_block": sums.tolist(),
                "masked_by_block": masked.tolist(),
            }
        )
    return {"change_runs": [run], "change_values": values, "perplexity": perplexity}


def epoch_rows(model: PlantedModel) -> list[dict[str, Any]]:
    """Perplexity while a model was fine-tuned."""
    return [
        {
            "model": model.name,
            "base": model.base,
            "epoch": epoch,
            "step": int(100 * epoch),
            "blocks": BLOCKS,
            "masked": 60,
        }
        | {"cross_entropy": 60 * (4.0 + 0.2 * epoch + 0.001 * model.more)}
        for epoch in (0.0, 0.5, 1.0)
    ]


def plant_changes(
    folder: Path,
    models: Sequence[PlantedModel] = MODELS,
    change: Change | None = None,
) -> Path:
    """Writes the Parquet files of the runs of changes, epochs and weight drift below ``folder``; ``change`` damages
    rows by table.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for model in models:
        run_id = change_run_id(model)
        write_planted(folder / run_id, run_id, change, change_rows, model)
        if model.base:
            write_planted(folder, model.name, change, rows_of_tuning, model)
    return folder


def rows_of_tuning(model: PlantedModel) -> dict[str, list[dict[str, Any]]]:
    """Table -> the rows of a fine-tuned model's epochs and weight drift."""
    drift = [
        {"model": model.name, "base": model.base, "layer": layer, "drift": 0.02 * layer, "parameters": 100}
        for layer in LAYERS
    ]
    return {"epoch_perplexity": epoch_rows(model), "weight_drift": drift}


def _random(*key: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))
