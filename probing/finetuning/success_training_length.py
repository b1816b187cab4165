"""How long a model was fine-tuned, from the note that ``finetune`` writes to its folder."""

from dataclasses import dataclass
from pathlib import Path

from probing.kernel.errors import ModelError
from probing.kernel.files import cache_folder
from probing.kernel.models.names import finetuning_note
from probing.kernel.registry import read_registry


@dataclass(frozen=True)
class Training:
    """Length of a fine-tuning: ``size`` is per step, in ``tokens`` (padded) or ``rows``."""

    steps: int
    size: int
    unit: str

    @property
    def words(self) -> str:
        """ "600 steps of 2,000 tokens"."""
        return f"{self.steps:,} steps of {self.size:,} {self.unit}"


def training_of(model: str) -> Training | None:
    """The fine-tuning of a shipped model, or of one in ``cache/models``; None if nothing is recorded."""
    shipped = [Path(entry.location) for entry in read_registry().models if entry.name == model and entry.shipped]
    for folder in (*shipped, cache_folder() / "models" / model):
        try:
            note = finetuning_note(folder)
            recipe, steps = note["recipe"], int(note["steps"])
            tokens = int(recipe["tokens_a_step"])
            return Training(steps, tokens, "tokens") if tokens else Training(steps, int(recipe["batch"]), "rows")
        except (ModelError, ValueError, KeyError, TypeError):
            continue
    return None
