"""What decides a head's weights."""

import hashlib
import json
from collections.abc import Sequence

import torch
from pydantic import BaseModel, ConfigDict

from probing.core.errors import HeadError
from probing.core.head_kinds import HEADS

#: Settings that came after heads were first shipped: at their default they are left out of the canonical form, so that the
#: recipes of shipped heads stay what they were.
LATER = ("pieces_a_block", "blocks_a_step", "precision", "states_dtype")
CHOICES = {
    "kind": tuple(kind for kind in HEADS if kind != "lens"),
    "start": ("pre-trained", "random"),
    "precision": ("float32", "bfloat16"),
    "states_dtype": ("float32", "float16"),
}


class HeadRecipe(BaseModel):
    """Everything that decides a head's weights.

    Attributes:
        kind: ``full`` or ``tied``.
        text_sha256: what ``text_sha256`` makes of the text.
        positions: masked positions to learn from; 0 takes the whole text. Blocks are taken whole, so there may be a few more.
        validation_positions: masked positions of the validation text.
        masked_share: share of a row's word pieces that are masked.
        max_pieces: longest sentence in word pieces; of no account where the text is read in blocks.
        epochs: passes over the positions.
        batch: positions a step where the text is read in sentences.
        learning_rate: peak learning rate.
        warm_up: share of the steps in which the rate rises; it falls to 0 over the rest.
        weight_decay: AdamW's.
        seed: of the order and of a random start.
        start: ``pre-trained`` or ``random``.
        pieces_a_block: length of the contiguous blocks that the text is read in, special tokens included; 0 reads sentences.
        blocks_a_step: blocks whose masked positions make one step.
        precision: of the products with the vocabulary matrix; weights, optimiser and loss are float32.
        states_dtype: how hidden states are kept on disk.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    text_sha256: str
    positions: int = 30_000
    validation_positions: int = 5_000
    masked_share: float = 0.15
    max_pieces: int = 128
    epochs: int = 3
    batch: int = 256
    learning_rate: float = 5e-4
    warm_up: float = 0.1
    weight_decay: float = 0.01
    seed: int = 0
    start: str = "pre-trained"
    pieces_a_block: int = 0
    blocks_a_step: int = 8
    precision: str = "float32"
    states_dtype: str = "float32"

    def canonical(self) -> str:
        """Canonical JSON, the form that is compared and stored."""
        defaults = {name: HeadRecipe.model_fields[name].default for name in LATER}
        kept = {name: value for name, value in self.model_dump().items() if name not in LATER or value != defaults[name]}
        return json.dumps(kept, sort_keys=True, separators=(",", ":"))

    def check(self) -> None:
        """Raises HeadError for a setting that no head can be trained with."""
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise HeadError(f"a head's {name} is one of {', '.join(map(repr, known))}, not {getattr(self, name)!r}")

    def rate(self, step: int, steps: int) -> float:
        """Learning rate of a step, counted from 0: up in a line while warming, then down in a line to 0."""
        warm = max(1, round(self.warm_up * steps))
        return self.learning_rate * min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))

    @property
    def kept_dtype(self) -> torch.dtype:
        """The number format of states on disk."""
        return torch.float16 if self.states_dtype == "float16" else torch.float32


def text_sha256(train: Sequence[str], validation: Sequence[str]) -> str:
    """What a recipe calls its text: sha256 over training and validation sentences."""
    digest = hashlib.sha256()
    for part in (train, validation):
        digest.update(("\n".join(part) + "\0").encode())
    return digest.hexdigest()
