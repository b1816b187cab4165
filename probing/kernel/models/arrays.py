"""Arrays on disk with a checksum, so that a file with one wrong bit is detected."""

import logging
import mmap
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from probing.kernel.errors import CacheError
from probing.kernel.files import atomic_file, atomic_text

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
        mapped = np.load(path, mmap_mode="r")
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
