"""Hidden states at masked positions: computed once for all layers, kept on disk in windows, mapped layer by layer.

A window is a file with a few thousand positions of every kept layer. So a killed run resumes with the complete windows,
two processes share the work, and memory holds one window during the computation and at most one layer during training.
"""

import hashlib
import json
import logging
import os
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from probing.heads.recipe import HeadRecipe, MaskedText, masked_text
from probing.kernel.errors import HeadError
from probing.kernel.files import atomic_file
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import batches_by_length, head_states

log = logging.getLogger(__name__)

#: Masked positions per window; 13 layers of BERT-base take 164 MB per window in float32.
WINDOW = 4096


@dataclass(frozen=True)
class StatesCache:
    """The folder of hidden states, shared by models, kinds of heads and seeds."""

    folder: Path
    budget: int = 20 * 10**9  #: bytes of the states of one process


def states_bytes(layers: int, positions: int, hidden: int, dtype: torch.dtype = torch.float32) -> int:
    """Bytes of the states of this many layers and masked positions."""
    return layers * positions * hidden * dtype.itemsize


class LayerStates:
    """The states of one layer, mapped from disk; ``labels`` are (positions,) token ids that were masked."""

    def __init__(self, windows: Sequence[np.ndarray], labels: np.ndarray):
        self._windows, self.labels = windows, labels
        self._starts = np.cumsum([0, *(len(window) for window in windows)])

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, positions: np.ndarray) -> np.ndarray:
        """(positions, hidden) float32 states of the given positions, which ascend."""
        states = np.empty((len(positions), self._windows[0].shape[1]), dtype=np.float32)
        cuts = np.searchsorted(positions, self._starts)
        for number, window in enumerate(self._windows):
            first, last = cuts[number], cuts[number + 1]
            if first < last:
                states[first:last] = window[positions[first:last] - self._starts[number]]
        return states


class MaskedStates:
    """States of chosen layers, ascending, at the masked positions of a text."""

    def __init__(self, encoder: Encoder, text: MaskedText, layers: Sequence[int], dtype: torch.dtype, folder: Path):
        self.encoder, self.text, self.layers, self.dtype = encoder, text, tuple(layers), dtype
        self.folder = folder / f"layers-{'-'.join(map(str, self.layers))}-{str(dtype).removeprefix('torch.')}"
        #: Rows of each window: as many as have at most WINDOW positions together, at least one.
        self.windows: list[range] = []
        first = 0
        while first < len(text.cumulative):
            before = text.cumulative[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(text.cumulative, before + WINDOW, side="right")))
            self.windows.append(range(first, last))
            first = last

    @property
    def bytes(self) -> int:
        return states_bytes(len(self.layers), len(self.text.labels), self.encoder.hidden, self.dtype)

    def missing(self) -> list[int]:
        """Numbers of the windows that are missing or have the wrong size."""
        return [number for number in range(len(self.windows)) if not self._has_its_size(number)]

    def missing_bytes(self) -> int:
        return sum(
            states_bytes(len(self.layers), len(self._positions(n)), self.encoder.hidden, self.dtype)
            for n in self.missing()
        )

    def compute(self) -> None:
        """Computes the missing windows; HeadError if the disk does not have enough space."""
        missing, needed = self.missing(), self.missing_bytes()
        check_room(self.folder, needed)
        if missing:
            sizes = (
                f"{len(self.layers)} layers x {len(self.text.labels):,} positions x {self.encoder.hidden} values in"
                f" {_name(self.dtype)}"
            )
            log.info(
                "hidden states of %s: %s take %s on disk, %s still to compute",
                self.encoder.name,
                sizes,
                _gigabytes(self.bytes),
                _gigabytes(needed),
            )
        # Each process starts elsewhere, so that two processes on one folder rarely compute the same window.
        turn = os.getpid() % len(missing) if missing else 0
        for number in tqdm(
            missing[turn:] + missing[:turn], unit="window", desc=f"states of {self.encoder.name}", disable=not missing
        ):
            if not self._has_its_size(number):
                self._compute(number)

    def layer(self, layer: int) -> LayerStates:
        """One layer's states; windows that are missing or damaged are computed again."""
        row = self.layers.index(layer)
        windows = []
        for number in range(len(self.windows)):
            window = self._mapped(number, row)
            if window is None:
                log.warning(
                    "window %d of the states of %s is missing or damaged; it is computed again",
                    number,
                    self.encoder.name,
                )
                self._compute(number)
                window = self._mapped(number, row)
            assert window is not None
            windows.append(window)
        return LayerStates(windows, self.text.labels)

    def _positions(self, number: int) -> range:
        rows = self.windows[number]
        return range(self.text.positions_of(rows[0]).start, self.text.positions_of(rows[-1]).stop)

    def _path(self, number: int) -> Path:
        return self.folder / f"window-{number:05d}.states"

    def _layer_bytes(self, number: int) -> int:
        return states_bytes(1, len(self._positions(number)), self.encoder.hidden, self.dtype)

    def _has_its_size(self, number: int) -> bool:
        # A checksum of four bytes per layer follows the states.
        size = len(self.layers) * (self._layer_bytes(number) + 4)
        path = self._path(number)
        return path.is_file() and path.stat().st_size == size

    def _mapped(self, number: int, row: int) -> np.ndarray | None:
        """(positions, hidden) of the layer in this row of a window; None if the checksum does not match."""
        if not self._has_its_size(number):
            return None
        path, count = self._path(number), len(self._positions(number)) * self.encoder.hidden
        # Unlike np.memmap this keeps no file open, and a large text has more windows than a process may have open
        # files.
        stored = torch.from_file(str(path), size=path.stat().st_size // self.dtype.itemsize, dtype=self.dtype).numpy()
        window = stored[row * count : (row + 1) * count].reshape(-1, self.encoder.hidden)
        sums = stored[len(self.layers) * count :].view(np.uint32)
        return window if zlib.crc32(window.data) == sums[row] else None

    def _compute(self, number: int) -> None:
        text, encoder, rows = self.text, self.encoder, self.windows[number]
        positions = self._positions(number)
        states = torch.empty((len(self.layers), len(positions), encoder.hidden), dtype=self.dtype)
        tokens = [text.row(i) for i in rows]
        for batch in batches_by_length([len(row) for row in tokens]):
            hidden = head_states([tokens[i] for i in batch], encoder)
            numbers = [text.positions_of(rows[i]) for i in batch]
            target = torch.cat([torch.arange(r.start, r.stop) for r in numbers])
            row_of = torch.repeat_interleave(torch.arange(len(batch)), torch.tensor([len(r) for r in numbers]))
            at = torch.from_numpy(text.index[target.numpy()])
            row_of, at = row_of.to(encoder.device), at.to(encoder.device)
            for slot, layer in enumerate(self.layers):
                states[slot, target - positions.start] = hidden[layer][row_of, at].to("cpu", self.dtype)
        with atomic_file(self._path(number)) as temporary, temporary.open("wb") as stream:
            arrays = [layer.numpy() for layer in states]
            for array in arrays:
                stream.write(array.data)
            stream.write(np.array([zlib.crc32(array.data) for array in arrays], dtype=np.uint32).tobytes())


def check_room(folder: Path, needed: int) -> None:
    """Raises a ``HeadError`` if the disk has fewer free bytes than are needed."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    if needed > free:
        got = f"the hidden states take {_gigabytes(needed)}, the disk of {folder} has {_gigabytes(free)} free"
        raise HeadError(
            f"{got}; free some space, move the cache (PROBING_CACHE), store them in float16 (--states-dtype) or use"
            " fewer --positions"
        )


def plan(
    encoder: Encoder, layers: Sequence[int], positions: int, dtype: torch.dtype, budget: int, target_bytes: int = 0
) -> list[list[int]]:
    """Groups of layers whose states fit the budget together, one pass of the encoder per group.

    The groups are the same for any wanted layers, so layers trained one by one share passes. ``target_bytes``: those of
    the states of the last layer, which layers are mapped to. HeadError: not even one layer fits.
    """
    every = encoder.layers
    layer_bytes = states_bytes(1, positions, encoder.hidden, dtype)
    left = max(0, budget - target_bytes)
    if every * layer_bytes <= left:
        # All layers, even if fewer are wanted, because other heads, seeds and processes read the same files.
        return [list(range(every))]
    whole = (
        f"{every} layers x {positions:,} positions x {encoder.hidden} values take {_gigabytes(every * layer_bytes)} in"
        f" {_name(dtype)}"
    )
    smaller = (
        ""
        if dtype == torch.float16
        else f"float16 takes {_gigabytes(every * layer_bytes // 2)} (--states-dtype float16), "
    )
    fitting = left // (layer_bytes // positions)
    offer = f"{smaller}{fitting // every:,} positions of all layers fit at once"
    budget_note = f"the budget is {_gigabytes(budget)} (--states-budget)"
    budget_note += (
        f", of which the last layer, the target of the maps, takes {_gigabytes(target_bytes)}" if target_bytes else ""
    )
    if layer_bytes > left:
        least = f"one layer takes {_gigabytes(layer_bytes)}, {fitting:,} positions of one layer fit (--positions)"
        raise HeadError(f"{whole}, {budget_note}; {least}; {offer}")
    passes = -(-every // (left // layer_bytes))
    groups = [[int(layer) for layer in part] for part in np.array_split(np.arange(every), passes)]
    log.info(
        "%s, over the budget of %s: %d passes of the encoder for all layers; %s", whole, _gigabytes(left), passes, offer
    )
    return [group for group in groups if set(group) & set(layers)]


def place_of(encoder: Encoder, recipe: HeadRecipe, positions: int, seed: int, cache: Path) -> Path:
    """Folder of the cached states of one masking of one text for one model."""
    key = [
        encoder.weights_id,
        recipe.text_sha256,
        positions,
        recipe.masked_share,
        recipe.max_pieces,
        recipe.pieces_per_block,
        seed,
        WINDOW,
    ]
    key.append(encoder.configuration)
    # Sums depend on device and number of threads, and a head's bytes must not depend on the process that computed the
    # states.
    key += [encoder.device.type, torch.get_num_threads()]
    return cache / hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]


def masked_text_of(
    encoder: Encoder, sentences: Sequence[str], recipe: HeadRecipe, positions: int, seed: int, cache: Path
) -> MaskedText:
    """The text of ``place_of``, masked."""
    return masked_text(
        encoder,
        sentences,
        recipe,
        positions,
        seed,
        place_of(encoder, recipe, positions, seed, cache) / "text.safetensors",
    )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 10**8 else f"{size / 1e6:.1f} MB"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
