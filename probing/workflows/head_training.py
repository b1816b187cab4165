"""What is stored of how heads were trained: validation losses, steps and seconds of every layer, beside the runs made with them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from probing.core.head_kinds import LOGIT_LENS
from probing.core.registry import name_in_files
from probing.models.heads.files import head_path, read_identity, read_seconds, validation_losses
from probing.workflows.model_records import add_rows
from probing.workflows.say import Say


def write_training(model: str, seed: int, folder: Path, layers: Sequence[int], target: Path, say: Say) -> None:
    """Adds the heads in a folder to ``head_training`` beside the runs; what is stored there of other recipes and seeds stays.

    Args:
        model: as results call it.
        seed: of the heads.
        folder: of the heads.
        layers: those that were asked.
        target: folder of the runs.
        say: called with a line where a damaged file is made again.
    """
    rows = []
    for losses in validation_losses(folder, layers):
        identity = read_identity(head_path(folder, losses["layer"]))
        random = json.loads(identity.recipe).get("start") == "random"
        made = {"model": model, "head": identity.kind, "seed": seed, "layer": losses["layer"], "recipe": identity.recipe}
        reached = {"start_loss": losses["start"], "loss": losses["best"], "steps": losses["steps"]}
        found = {"lens_loss": _of_the_logit_lens(losses, random)} | reached
        rows.append(made | found | {"seconds": read_seconds(folder, losses["layer"], identity.recipe)})
    kind = rows[0]["head"]
    add_rows("head_training", rows, target / f"head_training-{name_in_files(model)}-{kind}.parquet", say)


def _of_the_logit_lens(losses: Mapping[str, Any], random: bool) -> float | None:
    """The logit lens's loss on all validation positions; None where it is not known.

    Args:
        losses: a row of ``validation_losses``.
        random: whether the head began at random.
    """
    if LOGIT_LENS not in losses:
        # A head that was not tried behind the map began as the pre-trained one, unless at random.
        return None if random else losses["start"]
    if "positions" not in losses:
        return losses[LOGIT_LENS]
    # Compared on some positions alone; only the start was measured on all.
    return losses["start"] if losses[LOGIT_LENS] <= losses["map"] else None
