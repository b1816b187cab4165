"""Sentence vectors of every layer from one pass (first token, mean of tokens), in blocks kept on disk as float16."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from probing.kernel.errors import ModelError
from probing.kernel.locks import LONG_WORK, exclusive_lock
from probing.kernel.models.arrays import give_back, read_mapped, write_mapped
from probing.kernel.models.check import say_unknown
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states, batches_by_length
from probing.kernel.models.torch_settings import thread_count
from probing.kernel.provenance import canonical_json, fingerprint_of
from probing.sentences.examples import POOLINGS, Example

TOKENS_A_BATCH = 4096
ENOUGH_TOKENS = 1024


@dataclass(frozen=True)
class Row:
    """The input of an encoder for a sentence or a pair, special tokens included."""

    ids: tuple[int, ...]
    types: tuple[int, ...] = ()  #: of a pair, if the encoder has several; empty: all 0


def sentence_rows(examples: Sequence[Example], encoder: Encoder) -> list[Row | None]:
    """Token ids of each sentence or pair, never truncated; None if it has more pieces than the model takes."""
    if not examples:
        return []
    rows: list[Row | None] = [None] * len(examples)
    # A pair with an empty second text would have one separator more than the text alone.
    for paired in (False, True):
        chosen = [place for place, example in enumerate(examples) if bool(example.pair) is paired]
        if not chosen:
            continue
        seconds = [examples[place].pair for place in chosen] if paired else None
        read = encoder.tokenizer([examples[place].text for place in chosen], seconds, truncation=False, verbose=False)
        # As in fine-tuning, types come from the tokenizer if the encoder has more than one.
        types = (
            read.get("token_type_ids") if paired and getattr(encoder.body.config, "type_vocab_size", 1) > 1 else None
        )
        for number, (place, ids) in enumerate(zip(chosen, read["input_ids"], strict=True)):
            if len(ids) <= encoder.max_pieces:
                rows[place] = Row(tuple(ids), tuple(types[number]) if types else ())
    return rows


def pooled_states(
    rows: Sequence[Row], encoder: Encoder, passed: Callable[[int], None] | None = None, tokens: int = TOKENS_A_BATCH
) -> np.ndarray:
    """(poolings, layers, sentences, hidden) float32: first token, then mean, of layers 0..L.

    The mean is with special tokens and without padding. ``passed`` is called after each batch with its number of rows.
    ModelError: a state is not finite.
    """
    result = np.empty((len(POOLINGS), encoder.layers, len(rows), encoder.hidden), np.float32)
    for batch in batches_by_length([len(row.ids) for row in rows], tokens, ENOUGH_TOKENS):
        chosen = [rows[place] for place in batch]
        width = max(len(row.ids) for row in chosen)
        types = [row.types or (0,) * len(row.ids) for row in chosen] if any(row.types for row in chosen) else None
        states = all_hidden_states([row.ids for row in chosen], encoder, types)
        share = torch.tensor([[1 / len(row.ids)] * len(row.ids) + [0.0] * (width - len(row.ids)) for row in chosen])[
            :, None
        ]
        share = share.to(encoder.device)
        with torch.inference_mode():
            for layer, state in enumerate(states):
                state = state.float()
                result[0, layer, batch] = state[:, 0].cpu().numpy()
                result[1, layer, batch] = torch.bmm(share, state)[:, 0].cpu().numpy()
        if not np.isfinite(result[:, :, batch]).all():
            raise ModelError(
                f"{encoder.name} gave states that are not finite; use float32 on another device, or other weights"
            )
        if passed:
            passed(len(batch))
    return result


#: Increased when the layout of the files changes; older files are then made again.
VERSION = 1
#: Sentences per file, and so the maximum that a killed run computes again.
SENTENCES_A_FILE = 2048
#: Bytes of states that are in memory as float32 at a time.
BYTES_AT_A_TIME = 1 << 28


@dataclass(frozen=True)
class SentenceStates:
    """Pooled states of the sentences that a model can take.

    Without the centre float16 would round features of a large mean to a few values, and a constant feature could be
    rounded to two values.
    """

    taken: np.ndarray  #: (sentences,) bool, those that the model can take
    blocks: Sequence[np.ndarray]  #: float16 memory maps, each (poolings, layers, sentences, hidden), minus ``centre``
    centre: np.ndarray  #: (poolings, layers, 1, hidden), the mean over the first block

    @property
    def layers(self) -> int:
        """L + 1."""
        return int(self.centre.shape[1])

    @property
    def hidden(self) -> int:
        """Size of a state."""
        return int(self.centre.shape[3])

    def read(self, sentences: np.ndarray, layers: slice = slice(None), poolings: Sequence[int] = (0, 1)) -> np.ndarray:
        """(poolings, layers, sentences, hidden) of some sentences, by their ascending numbers among all."""
        numbers = np.cumsum(self.taken)[sentences] - 1
        chosen = range(self.layers)[layers]
        vectors = np.empty((len(poolings), len(chosen), len(numbers), self.hidden), np.float32)
        starts = np.searchsorted(numbers, np.arange(len(self.blocks) + 1) * SENTENCES_A_FILE)
        for number, block in enumerate(self.blocks):
            here = slice(starts[number], starts[number + 1])
            inside = numbers[here] - number * SENTENCES_A_FILE
            for place, pooling in enumerate(poolings):
                for row, layer in enumerate(chosen):
                    vectors[place, row, here] = block[pooling, layer][inside]
            give_back(block)
        vectors += self.centre[list(poolings)][:, layers]
        return vectors

    def chunks(self, poolings: int) -> Iterator[slice]:
        """Layers that are read together, so that memory is bounded for any size of model."""
        sentences = int(self.taken.sum())
        size = max(1, BYTES_AT_A_TIME // (4 * poolings * max(1, sentences) * self.hidden))
        for start in range(0, self.layers, size):
            yield slice(start, min(self.layers, start + size))


def sentence_states(
    examples: Sequence[Example], encoder: Encoder, folder: Path, passed: Callable[[int, int], None] | None = None
) -> SentenceStates:
    """Pooled states of sentences in a fixed order; stored and new states have equal bytes.

    ``passed`` gets the numbers of finished and of all sentences. ModelError: a state is too large for float16.
    """
    rows = sentence_rows(examples, encoder)
    taken = np.array([row is not None for row in rows], bool)
    readable = [row for row in rows if row is not None]
    say_unknown([row.ids for row in readable], encoder.tokenizer, encoder.name)
    shape = (len(POOLINGS), encoder.layers, 1, encoder.hidden)
    blocks: list[np.ndarray] = []
    centre = np.zeros(shape, np.float32)
    with exclusive_lock(folder / ".lock", limit=LONG_WORK):
        for number, start in enumerate(range(0, len(readable), SENTENCES_A_FILE)):
            chosen = readable[start : start + SENTENCES_A_FILE]
            path = folder / f"states-{number:04d}.npy"
            there = read_mapped(path, (*shape[:2], len(chosen), shape[3]), "float16")
            middle = read_mapped(folder / "centre.npy", shape, "float32") if number == 0 else centre
            if there is None or middle is None:
                states = pooled_states(chosen, encoder, _from(start, len(readable), passed))
                middle = states.mean(2, keepdims=True, dtype=np.float64).astype(np.float32) if number == 0 else centre
                if number == 0:
                    write_mapped(middle, folder / "centre.npy")
                there = _written(states - middle, path, encoder.name)
            centre = np.asarray(middle)
            if passed:
                passed(start + len(chosen), len(readable))
            blocks.append(there)
    return SentenceStates(taken, blocks, centre)


def states_fingerprint(encoder: Encoder, data: str) -> str:
    """A folder's name: fingerprint of all that decides the states of sentences with the checksum ``data``."""
    decides = [
        VERSION,
        SENTENCES_A_FILE,
        encoder.weights_id,
        encoder.configuration,
        encoder.device.type,
        thread_count(),
        data,
    ]
    return f"{hashlib.sha256(encoder.weights_id.encode()).hexdigest()[:12]}-{fingerprint_of(canonical_json(decides))}"


def _from(start: int, total: int, passed: Callable[[int, int], None] | None) -> Callable[[int], None] | None:
    if passed is None:
        return None
    done = start

    def more(number: int) -> None:
        nonlocal done
        done += number
        passed(done, total)

    return more


def _written(states: np.ndarray, path: Path, name: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        small = states.astype(np.float16)
    if not np.isfinite(small).all():
        raise ModelError(
            f"sentence vectors of {name} are too large for float16, or not finite; this model cannot be probed"
        )
    write_mapped(small, path)
    return np.load(path, mmap_mode="r")
