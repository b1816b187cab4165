"""What decides a head's weights."""

import hashlib
import json
import math
from collections.abc import Sequence

import torch
from pydantic import BaseModel, ConfigDict

from probing.core.errors import HeadError
from probing.core.head_kinds import LEAST_SQUARES, MAPPED, STORED, TUNED_LENS

#: Settings that came after heads were first shipped: at their default they are left out of the canonical form, so that the
#: recipes of shipped heads stay what they were.
LATER = (
    "pieces_a_block", "blocks_a_step", "precision", "states_dtype", "steps", "validate_every", "patience", "tolerance", "ridge",
    "start_positions",
)  # fmt: skip
#: Settings of gradient steps, of which a closed form takes none.
OF_STEPS = (
    "epochs", "batch", "learning_rate", "warm_up", "weight_decay", "start", "blocks_a_step", "precision", "steps", "validate_every",
    "patience", "tolerance", "start_positions",
)  # fmt: skip
FROM_LEAST_SQUARES, PRETRAINED = "least-squares", "pre-trained"
CHOICES = {
    "kind": STORED,
    "start": (PRETRAINED, FROM_LEAST_SQUARES, "random"),
    "precision": ("float32", "bfloat16"),
    "states_dtype": ("float32", "float16"),
}


class HeadRecipe(BaseModel):
    """Everything that decides a head's weights.

    Attributes:
        kind: one of ``STORED``.
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
        start: ``pre-trained``; ``least-squares``, the pre-trained head behind the closed-form map; or ``random``.
        pieces_a_block: length of the contiguous blocks that the text is read in, special tokens included; 0 reads sentences.
        blocks_a_step: blocks whose masked positions make one step.
        precision: of the products with the vocabulary matrix; weights, optimiser and loss are float32.
        states_dtype: how hidden states are kept on disk.
        steps: steps of the training; 0 goes by ``epochs``.
        validate_every: steps from one validation to the next; 0 validates after every epoch.
        patience: validations in a row without a fall of the loss that end the training; 0 takes all steps.
        tolerance: nats by which the loss must be below its lowest to have fallen.
        ridge: of the closed-form map, as a share of the mean diagonal of its sums.
        start_positions: validation positions, the first ones, on which the map is compared with the pre-trained head before training
            starts; 0 takes all. A head in closed form is always compared on all of them.
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
    steps: int = 0
    validate_every: int = 0
    patience: int = 0
    tolerance: float = 0.0
    ridge: float = 1e-3
    start_positions: int = 0

    @property
    def mapped(self) -> bool:
        """Whether the closed-form map is made: as the head, or as its start."""
        return self.kind == LEAST_SQUARES or self.start == FROM_LEAST_SQUARES

    @property
    def follows(self) -> bool:
        """Whether the head is made with the last layer's states: for the map, or as what it learns from."""
        return self.mapped or self.kind == TUNED_LENS

    def canonical(self) -> str:
        """Canonical JSON, the form that is compared and stored: without what does not decide the weights."""
        defaults = {name: HeadRecipe.model_fields[name].default for name in LATER}
        left_out = {name for name, default in defaults.items() if getattr(self, name) == default and not (name == "ridge" and self.mapped)}
        left_out |= set(OF_STEPS) if self.kind == LEAST_SQUARES else set()
        left_out |= set() if self.mapped else {"start_positions"}
        kept = {name: value for name, value in self.model_dump().items() if name not in left_out}
        return json.dumps(kept, sort_keys=True, separators=(",", ":"))

    def check(self) -> None:
        """Raises HeadError for a setting that no head can be trained with."""
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise HeadError(f"a head's {name} is one of {', '.join(map(repr, known))}, not {getattr(self, name)!r}")
        if not 0 <= self.learning_rate < math.inf:
            raise HeadError(f"got a learning rate of {self.learning_rate}, expected a finite number of at least 0 (--rate)")
        if self.kind in MAPPED and self.start == "random":
            raise HeadError(f"a {self.kind} head has no random start; leave --start out")
        if self.kind == LEAST_SQUARES and self.seed:
            raise HeadError(f"got seed {self.seed} for least_squares: nothing of it is drawn, so it has no other seed; leave --seed out")

    def rate(self, step: int, steps: int) -> float:
        """Learning rate of a step, counted from 0: up in a line while warming, then down in a line to 0."""
        warm = max(1, round(self.warm_up * steps))
        return self.learning_rate * min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))

    def has_stopped(self, losses: Sequence[float]) -> bool:
        """Whether validation losses, the start's first, have not fallen for as long as ``patience`` says."""
        lowest, waited = losses[0], 0
        for loss in losses[1:]:
            waited = 0 if loss < lowest - self.tolerance else waited + 1
            lowest = min(lowest, loss)
        return 0 < self.patience <= waited

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
