"""Text with word pieces masked as in BERT's training: sentence by sentence, or in contiguous blocks."""

import contextlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from probing.heads.recipe import HeadRecipe
from probing.kernel.errors import HeadError
from probing.kernel.models.arrays import mask_pieces, read_sealed, write_sealed
from probing.kernel.models.load import Encoder

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
    ordinary = np.array([i for i in range(len(tokenizer)) if i not in special])
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
