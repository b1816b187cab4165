"""The recipe that decides a head's weights, and its data: masked text, and the positions of each step."""

import contextlib
import hashlib
import json
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from pydantic import AliasChoices, Field
from transformers import get_linear_schedule_with_warmup

from probing.kernel.errors import HeadError
from probing.kernel.models.arrays import mask_pieces, read_sealed, write_sealed
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import HEAD_KINDS, STORED, HeadKind
from probing.kernel.options import spelled
from probing.kernel.provenance import Frozen

#: Settings that are younger than the first shipped heads. At their default they are left out of the canonical form, so
#: that the recipes of shipped heads stay the same.
LATER = (
    "pieces_per_block",
    "blocks_per_step",
    "precision",
    "states_dtype",
    "steps",
    "validate_every",
    "patience",
    "tolerance",
    "ridge",
    "start_positions",
    "version",
)
#: Settings of gradient steps, which a closed form does not have.
OF_STEPS = (
    "epochs",
    "batch",
    "learning_rate",
    "warm_up",
    "weight_decay",
    "start",
    "blocks_per_step",
    "precision",
    "steps",
    "validate_every",
    "patience",
    "tolerance",
    "start_positions",
    "version",
)
#: Version of new recipes. In version 1 step n, from 0, has the rate after n + 1 steps of the warm-up; in version 2
#: after n, as in transformers.
VERSION = 2
FROM_LEAST_SQUARES, PRETRAINED = "least-squares", "pre-trained"
CHOICES = {
    "kind": STORED,
    "start": (PRETRAINED, FROM_LEAST_SQUARES, "random"),
    "precision": ("float32", "bfloat16"),
    "states_dtype": ("float32", "float16"),
}


class HeadRecipe(Frozen):
    """Everything that decides a head's weights."""

    kind: str  #: one of ``STORED``
    text_sha256: str
    #: masked positions to learn from, a few more as blocks are complete; 0 takes the whole text
    positions: int = 30_000
    validation_positions: int = 5_000
    masked_share: float = 0.15
    max_pieces: int = 128  #: of a sentence; ignored if the text is read in blocks
    epochs: int = 3  #: passes over the positions
    batch: int = 256  #: positions per step if the text is read in sentences
    learning_rate: float = 5e-4  #: at its peak
    warm_up: float = 0.1  #: share of the steps in which the rate rises; it falls to 0 over the rest
    weight_decay: float = 0.01
    seed: int = 0  #: of the order and of a random start
    start: str = "pre-trained"  #: ``pre-trained``; ``least-squares``, after the closed-form map; or ``random``
    #: of contiguous text, special tokens included; 0 reads sentences
    pieces_per_block: int = Field(
        default=0,
        validation_alias=AliasChoices("pieces_per_block", "pieces_a_block"),
        serialization_alias="pieces_a_block",
    )
    #: blocks whose masked positions are one step
    blocks_per_step: int = Field(
        default=8,
        validation_alias=AliasChoices("blocks_per_step", "blocks_a_step"),
        serialization_alias="blocks_a_step",
    )
    precision: str = "float32"  #: of the products with the vocabulary matrix; all else is float32
    states_dtype: str = "float32"
    steps: int = 0  #: 0 follows ``epochs``
    validate_every: int = 0  #: steps; 0: every epoch
    patience: int = 0  #: validations in a row without a lower loss that end the training; 0 takes all steps
    tolerance: float = 0.0  #: nats by which a loss must be below the lowest one to count as lower
    ridge: float = 1e-3  #: of the closed-form map, as a share of the mean diagonal of its sums
    start_positions: int = 0  #: first validation positions on which map and pre-trained head are compared; 0: all
    version: int = 1  #: of the schedule, 1 or ``VERSION``

    @property
    def form(self) -> HeadKind:
        """What the kind of head is; of an unknown one, which ``check`` refuses, that of a tied head."""
        return HEAD_KINDS.get(self.kind, HeadKind(self.kind))

    @property
    def mapped(self) -> bool:
        """Whether the closed-form map is computed, as the head or as its start."""
        return self.form.closed_form or self.start == FROM_LEAST_SQUARES

    @property
    def follows(self) -> bool:
        """Whether the head needs the last layer's states, for the map or as the training target."""
        return self.mapped or self.form.follows

    def canonical(self) -> str:
        """Canonical JSON without settings that do not decide the weights, as it is stored and compared.

        Renamed settings keep their first names there, so that the recipes of stored heads stay equal.
        """
        defaults = {name: HeadRecipe.model_fields[name].default for name in LATER}
        left_out = {
            name
            for name, default in defaults.items()
            if getattr(self, name) == default and not (name == "ridge" and self.mapped)
        }
        left_out |= set(OF_STEPS) if self.form.closed_form else set()
        left_out |= set() if self.mapped else {"start_positions"}
        settings = self.model_dump(by_alias=True, exclude=left_out)
        return json.dumps(settings, sort_keys=True, separators=(",", ":"))

    def check(self) -> None:
        """Raises a ``HeadError`` if no head can be trained with a setting."""
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise HeadError(
                    f"got {getattr(self, name)!r} as a head's {name}, expected one of {', '.join(map(repr, known))}"
                )
        if not 0 <= self.learning_rate < math.inf:
            raise HeadError(
                f"got a learning rate of {self.learning_rate}, expected a finite number of at least 0"
                f" ({spelled('rate')})"
            )
        if self.version not in (1, VERSION):
            raise HeadError(f"got version {self.version} of the recipe, expected 1 or {VERSION}; update the program")
        if self.form.mapped and self.start == "random":
            raise HeadError(f"a {self.kind} head has no random start; leave {spelled('start')} out")
        if self.form.closed_form and self.seed:
            raise HeadError(
                f"got seed {self.seed} for {self.kind}: it draws nothing at random, so it has no other seed; leave"
                f" {spelled('seed')} out"
            )

    def rate(self, step: int, steps: int) -> float:
        """Learning rate of a step, counted from 0: linear warm-up, then linear decay to 0."""
        warm = max(1, round(self.warm_up * steps))
        if self.version > 1:
            return self.learning_rate * _linear_schedule(warm, steps)(step)
        return self.learning_rate * min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))

    def has_stopped(self, losses: Sequence[float]) -> bool:
        """Whether the last ``patience`` validation losses are not below the lowest before, the start's included."""
        lowest, waited = losses[0], 0
        for loss in losses[1:]:
            waited = 0 if loss < lowest - self.tolerance else waited + 1
            lowest = min(lowest, loss)
        return 0 < self.patience <= waited

    @property
    def window_dtype(self) -> torch.dtype:
        """The number format of states on disk."""
        return torch.float16 if self.states_dtype == "float16" else torch.float32


@cache
def _linear_schedule(warm: int, steps: int) -> Callable[[int], float]:
    """Share of the peak rate at a step, counted from 0, by the schedule of transformers."""
    unused = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    return get_linear_schedule_with_warmup(unused, warm, steps).lr_lambdas[0]


def text_sha256(train: Sequence[str], validation: Sequence[str]) -> str:
    """Checksum of a recipe's text: sha256 over training and validation sentences."""
    digest = hashlib.sha256()
    for part in (train, validation):
        digest.update(("\n".join(part) + "\0").encode())
    return digest.hexdigest()


SENTENCES_AT_ONCE = 1000


@dataclass(frozen=True)
class MaskedText:
    """Rows of token ids, some masked, and the labels at the masked positions."""

    ids: np.ndarray  #: (pieces,) of all rows, concatenated
    ends: np.ndarray  #: (rows,) end of each row in ``ids``
    index: np.ndarray  #: (positions,) inside its row, row by row
    cumulative: np.ndarray  #: (rows,) masked positions up to and including each row
    labels: np.ndarray  #: (positions,) token ids that were masked

    def row(self, number: int) -> list[int]:
        return self.ids[self.ends[number - 1] if number else 0 : self.ends[number]].tolist()

    def positions_of(self, number: int) -> range:
        """Numbers of the masked positions of a row."""
        return range(int(self.cumulative[number - 1]) if number else 0, int(self.cumulative[number]))


def masked_text(
    encoder: Encoder, sentences: Sequence[str], recipe: HeadRecipe, positions: int, seed: int, path: Path
) -> MaskedText:
    """Masks the text as BERT does, or reads it from ``path``; HeadError if it has too few word pieces.

    The seed fixes the order of the rows.
    """
    with contextlib.suppress(OSError, TypeError):  # A missing, damaged or foreign cache file is made again.
        return MaskedText(**read_sealed(path))
    text = mask_rows(encoder, sentences, recipe, positions, seed)
    write_sealed(vars(text), path)
    return text


def mask_rows(encoder: Encoder, sentences: Sequence[str], recipe: HeadRecipe, positions: int, seed: int) -> MaskedText:
    """The masking itself; ``positions`` 0 takes every row, seed 0 is for training, 1 for validation."""
    tokenizer, rng = encoder.tokenizer, np.random.default_rng([seed, positions])
    special = set(tokenizer.all_special_ids)
    ordinary = np.setdiff1d(encoder.token_ids, list(special))
    # Arrays, because a list of numbers takes ten times as much memory.
    rows: list[np.ndarray] = []
    index: list[int] = []
    cumulative: list[int] = []
    labels: list[int] = []
    whole = recipe.pieces_per_block > 0
    for row in _blocks(encoder, sentences, recipe, rng) if whole else _sentences(encoder, sentences, recipe, rng):
        free = np.array([i for i, token in enumerate(row) if token not in special], dtype=int)
        chosen = free[rng.random(len(free)) < recipe.masked_share]
        if positions and not whole:
            chosen = chosen[: positions - len(labels)]
        if not len(chosen):
            continue
        labels.extend(row[i] for i in chosen)
        read = np.array(row, dtype=np.int32)
        dice = rng.random(len(chosen))
        read[chosen] = mask_pieces(
            read[chosen], dice, lambda other: rng.choice(ordinary, other.sum()), tokenizer.mask_token_id
        )
        rows.append(read)
        index.extend(int(i) for i in chosen)
        cumulative.append(len(labels))
        if positions and len(labels) >= positions:
            break
    if not labels or len(labels) < positions:
        expected = f"{positions:,}" if positions else "at least one"
        part, more = ("validation", "--valid") if seed else ("training", "--text) or ask for fewer (--positions")
        raise HeadError(
            f"the {part} text gives {len(labels):,} masked positions, expected {expected}; give more text ({more})"
        )
    return MaskedText(
        np.concatenate(rows),
        np.cumsum([len(row) for row in rows]),
        np.array(index),
        np.array(cumulative),
        np.array(labels),
    )


def _sentences(
    encoder: Encoder, sentences: Sequence[str], recipe: HeadRecipe, rng: np.random.Generator
) -> Iterator[list[int]]:
    order = rng.permutation(len(sentences))
    length = min(recipe.max_pieces, encoder.max_pieces)
    for start in range(0, len(order), SENTENCES_AT_ONCE):
        texts = [sentences[i] for i in order[start : start + SENTENCES_AT_ONCE]]
        yield from encoder.tokenizer(texts, truncation=True, max_length=length)["input_ids"]


def _blocks(
    encoder: Encoder, sentences: Sequence[str], recipe: HeadRecipe, rng: np.random.Generator
) -> Iterator[list[int]]:
    """The text in blocks of one length, each between the special tokens; an incomplete last one is dropped."""
    ends = encoder.tokenizer("")["input_ids"]
    first, last = ends[:1], ends[1:]
    inside = recipe.pieces_per_block - len(ends)
    if recipe.pieces_per_block > encoder.max_pieces or inside < 1:
        shortest = len(ends) + 1
        raise HeadError(
            f"got blocks of {recipe.pieces_per_block} pieces, expected {shortest} to {encoder.max_pieces} for"
            f" {encoder.name}"
        )
    pieces = array("i")
    for start in range(0, len(sentences), SENTENCES_AT_ONCE):
        for row in encoder.tokenizer(
            list(sentences[start : start + SENTENCES_AT_ONCE]), add_special_tokens=False, verbose=False
        )["input_ids"]:
            pieces.extend(row)
    for block in rng.permutation(len(pieces) // inside):
        yield [*first, *pieces[block * inside : (block + 1) * inside], *last]


def batches(recipe: HeadRecipe, text: MaskedText, layer: int, epoch: int) -> Iterator[np.ndarray]:
    """Masked positions of every step of an epoch, ascending inside a step; seed, layer and epoch fix the order."""
    rng = np.random.default_rng([recipe.seed, layer, epoch])
    if recipe.pieces_per_block:
        order, size = rng.permutation(len(text.cumulative)), recipe.blocks_per_step
        for first in range(0, len(order), size):
            yield np.concatenate([text.positions_of(int(block)) for block in np.sort(order[first : first + size])])
    else:
        order, size = rng.permutation(len(text.labels)), recipe.batch
        for first in range(0, len(order), size):
            yield np.sort(order[first : first + size])


def steps_per_epoch(recipe: HeadRecipe, text: MaskedText) -> int:
    if recipe.pieces_per_block:
        return -(-len(text.cumulative) // recipe.blocks_per_step)
    return -(-len(text.labels) // recipe.batch)


def steps_of(recipe: HeadRecipe, text: MaskedText) -> int:
    """Number of steps of the whole training, unless patience ends it."""
    if recipe.form.closed_form:
        return 0
    return recipe.steps or recipe.epochs * steps_per_epoch(recipe, text)


def steps_from(recipe: HeadRecipe, text: MaskedText, layer: int, first: int) -> Iterator[tuple[int, np.ndarray]]:
    """Number and masked positions of every step from ``first`` on, through all epochs."""
    each, last = steps_per_epoch(recipe, text), steps_of(recipe, text)
    for epoch in range(first // each, -(-last // each)):
        for number, positions in enumerate(batches(recipe, text, layer, epoch), epoch * each):
            if first <= number < last:
                yield number, positions


def most_positions(recipe: HeadRecipe, text: MaskedText) -> int:
    """Maximum number of masked positions of a step."""
    if recipe.pieces_per_block:
        return int(np.sort(np.diff(text.cumulative, prepend=0))[-recipe.blocks_per_step :].sum())
    return min(recipe.batch, len(text.labels))
