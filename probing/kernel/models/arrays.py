"""Arrays on disk with a checksum, background threads, batches, BERT's masking, and files of probes."""

import json
import logging
import mmap
import random
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from probing.kernel.errors import CacheError
from probing.kernel.files import atomic_file, atomic_text

Item = TypeVar("Item")
Made = TypeVar("Made")
log = logging.getLogger(__name__)

#: Metadata key of the checksum. There is one entry, because safetensors writes several in an order that changes from
#: file to file.
SUM = "crc32"


def sum_of(arrays: Mapping[str, np.ndarray]) -> str:
    """CRC-32 over names, types, shapes and bytes of arrays, sorted by name; 8 hex digits."""
    total = 0
    for name, array in sorted(arrays.items()):
        total = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, total)
    return f"{total:08x}"


def write_sealed(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Writes arrays with their checksum as safetensors, atomically, also while another process does."""
    with atomic_file(path) as temporary:
        save_file(dict(arrays), temporary, metadata={SUM: sum_of(arrays)})


def read_sealed(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file of ``write_sealed``; OSError if it is missing, incomplete or changed."""
    try:
        with safe_open(path, framework="numpy") as stream:
            expected = (stream.metadata() or {}).get(SUM)
            arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise OSError(f"{path} is incomplete or damaged: {error}") from error
    if expected is None:
        raise OSError(f"{path} has no checksum; an older version of the program wrote it")
    if (actual := sum_of(arrays)) != expected:
        raise OSError(f"{path} is damaged: its checksum is {actual}, expected {expected}")
    return arrays


def stored_arrays(path: Path, make: Callable[[], Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays at ``path``; ``make`` makes them if they are missing or damaged."""
    try:
        return read_sealed(path)
    except OSError:
        if path.exists():
            log.warning("%s is damaged and is made again", path)
    arrays = {name: np.ascontiguousarray(array) for name, array in make().items()}
    write_sealed(arrays, path)
    return arrays


def write_mapped(array: np.ndarray, path: Path) -> None:
    """Writes one array that is read through a memory map, ``.npy``, and a file with its checksum next to it."""
    try:
        with atomic_file(path) as temporary, temporary.open("wb") as stream:
            np.save(stream, array)
        atomic_text(path.with_suffix(".crc"), _sum_of_rows(array))
    except OSError as error:
        raise CacheError(
            f"cannot write hidden states to {path}: {error}; free some space or set PROBING_CACHE to another disk"
        ) from error


def read_mapped(path: Path, shape: tuple[int, ...], dtype: str) -> np.ndarray | None:
    """The memory map of an array of ``write_mapped``; None if missing, damaged, or of another shape or type."""
    try:
        mapped: np.ndarray = np.load(path, mmap_mode="r")
        if (
            mapped.shape == shape
            and mapped.dtype == np.dtype(dtype)
            and path.with_suffix(".crc").read_text() == _sum_of_rows(mapped)
        ):
            return mapped
    except (OSError, ValueError, EOFError):  # numpy raises EOFError for an empty file.
        pass
    if path.exists():
        log.warning("%s is damaged and is made again", path)
    return None


def give_back(array: np.ndarray) -> None:
    """Releases the pages of a memory map, which count as this process's memory, to the system's cache."""
    if isinstance(array.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        array.base.madvise(mmap.MADV_DONTNEED)


def _sum_of_rows(array: np.ndarray) -> str:
    total = 0
    for start in range(0, len(array), 4096):
        total = zlib.crc32(np.ascontiguousarray(array[start : start + 4096]).reshape(-1).view(np.uint8).data, total)
    return f"{total:08x}"


def read_ahead(items: Iterable[Item], make: Callable[[Item], Made]) -> Iterator[Made]:
    """``make`` of each item in order, the next one in a thread while this one is used; errors in order, too."""
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        waiting: deque[Future[Made]] = deque()
        for item in items:
            waiting.append(thread.submit(make, item))
            if len(waiting) == 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class BackgroundWriter:
    """Runs calls one after another in a thread; leaving the ``with`` block waits for all of them.

    At most ``limit`` calls run or wait, else ``later`` blocks. The next ``later``, or leaving the block, raises the
    first error of a call; an error inside the block takes precedence.
    """

    def __init__(self, limit: int = 2):
        self._limit = limit
        self._waiting: deque[Future[object]] = deque()

    def __enter__(self) -> "BackgroundWriter":
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="behind")
        return self

    def later(self, call: Callable[..., object], *arguments: object) -> None:
        """Schedules ``call(*arguments)`` in the thread; raises the error of an earlier call."""
        while self._waiting and (len(self._waiting) >= self._limit or self._waiting[0].done()):
            self._waiting.popleft().result()
        self._waiting.append(self._thread.submit(call, *arguments))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True)
        while kind is None and self._waiting:
            self._waiting.popleft().result()


IGNORED = -100


def plan_batches(lengths: Sequence[int], tokens: int, seed: int) -> list[list[int]]:
    """Batches of similar length with about ``tokens`` padded tokens each, in a shuffled order fixed by the seed."""
    rng = random.Random(seed)
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i], rng.random()))
    batches: list[list[int]] = []
    for i in order:
        if batches and (len(batches[-1]) + 1) * lengths[i] <= tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    rng.shuffle(batches)
    return batches


_MASKED, _TENTH = 0.8, 0.9


def mask_pieces(
    pieces: np.ndarray,
    dice: np.ndarray,
    draw: Callable[[np.ndarray], np.ndarray],
    mask: int,
    unchanged: Literal["first", "last"] = "last",
) -> np.ndarray:
    """The (chosen,) token ids of the input; ``dice`` are (chosen,) uniform numbers in [0, 1).

    ``draw`` returns a token for every piece that becomes another one, which its (chosen,) bool argument marks.
    ``unchanged``: which tenth above 0.8 stays; both are in use, so that each use keeps its bytes.
    """
    above = dice >= _MASKED
    other = above & ((dice < _TENTH) if unchanged == "last" else (dice >= _TENTH))
    read = np.where(above, pieces, mask)
    read[other] = draw(other)
    return read


FILE = "probes.safetensors"
_VERSION = 1


def find_probe_files(local: Path, shipped: Path, weights_id: str, field: str) -> dict[str, Path]:
    """Files of all probes of an encoder, by task; locally trained probes come before shipped ones.

    Files for other weights, by their ``field``, are left out, unreadable files are not.
    """
    paths: dict[str, Path] = {}
    for folder in (local, shipped):
        for path in sorted(folder.glob(f"*/{FILE}")):
            if path.parent.name not in paths and _weights_id_of(path, field) in (weights_id, ""):
                paths[path.parent.name] = path
    return dict(sorted(paths.items()))


def _weights_id_of(path: Path, field: str) -> str:
    """Identity of the encoder of a file's probes; empty if it cannot be read: that raises when the probes are read."""
    try:
        with safe_open(path, framework="numpy") as stream:
            return str(json.loads((stream.metadata() or {})["probes"])[field])
    except (OSError, SafetensorError, ValueError, KeyError, TypeError):
        return ""


def write_probe_file(arrays: dict[str, np.ndarray], about: dict[str, Any], folder: Path) -> Path:
    """Writes the probes of a task with an atomic write; equal probes are equal bytes."""
    about = {"version": _VERSION} | about
    about["crc32"] = _sum_with_header(arrays, about)
    with atomic_file(folder / FILE) as temporary:
        # One entry: safetensors writes several in an order that changes from file to file.
        save_file(arrays, temporary, metadata={"probes": json.dumps(about, sort_keys=True)})
    return folder / FILE


def read_probe_file(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the header of a file of probes; ValueError if it is damaged or of another version."""
    with safe_open(path, framework="numpy") as stream:
        about = json.loads((stream.metadata() or {})["probes"])
        arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    if about["version"] != _VERSION or about.pop("crc32") != _sum_with_header(arrays, about):
        raise ValueError("its checksum differs from the one that it was written with")
    return arrays, about


def _sum_with_header(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(about, sort_keys=True).encode(), int(sum_of(arrays), 16)):08x}"
