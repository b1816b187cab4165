"""What is stored about the training of heads, with their runs: validation losses, steps and seconds by layer."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from probing.heads.files import head_path, read_identity, read_seconds, validation_losses
from probing.kernel.errors import Say
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.models.records import add_rows
from probing.kernel.registry import name_in_files


def write_training(model: str, seed: int, folder: Path, layers: Sequence[int], target: Path, say: Say) -> None:
    """Adds the heads in a folder to the runs' ``head_training``; rows of other recipes and seeds stay."""
    rows = []
    for losses in validation_losses(folder, layers):
        identity = read_identity(head_path(folder, losses["layer"]))
        random = json.loads(identity.recipe).get("start") == "random"
        made = {
            "model": model,
            "head": identity.kind,
            "seed": seed,
            "layer": losses["layer"],
            "recipe": identity.recipe,
        }
        reached = {"start_loss": losses["start"], "loss": losses["best"], "steps": losses["steps"]}
        found = {"lens_loss": _of_the_logit_lens(losses, random)} | reached
        rows.append(made | found | {"seconds": read_seconds(folder, losses["layer"], identity.recipe)})
    kind = rows[0]["head"]
    add_rows("head_training", rows, target / f"head_training-{name_in_files(model)}-{kind}.parquet", say)


def _of_the_logit_lens(losses: Mapping[str, Any], random: bool) -> float | None:
    """The logit lens's loss on all validation positions, from a row of ``validation_losses``; None if it is unknown."""
    if LOGIT_LENS not in losses:
        # A head that was not tried on top of the map started as the pre-trained one, unless it started at random.
        return None if random else losses["start"]
    if "positions" not in losses:
        return losses[LOGIT_LENS]
    # The two were compared on some positions; only the start was measured on all.
    return losses["start"] if losses[LOGIT_LENS] <= losses["map"] else None
