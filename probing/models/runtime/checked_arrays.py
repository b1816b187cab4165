"""Arrays on disk with a sum of their bytes, so that a file with one wrong bit is not taken for a whole one."""

import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from probing.core.files.atomic import whole_file

#: Where a file's metadata keeps the sum. One entry: safetensors writes several in an order that changes from file to file.
SUM = "crc32"


def sum_of(arrays: Mapping[str, np.ndarray]) -> str:
    """CRC-32 over names, types, shapes and bytes of arrays, by name; 8 hex digits."""
    total = 0
    for name, array in sorted(arrays.items()):
        total = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, total)
    return f"{total:08x}"


def write_sealed(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Writes arrays with their sum as safetensors, so that they are there whole or not at all, whoever else writes the same."""
    with whole_file(path) as temporary:
        save_file(dict(arrays), temporary, metadata={SUM: sum_of(arrays)})


def read_sealed(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file that ``write_sealed`` wrote.

    Raises:
        OSError: if the file is missing, torn, without a sum, or its bytes are not those that were written.
    """
    try:
        with safe_open(path, framework="numpy") as stream:
            expected = (stream.metadata() or {}).get(SUM)
            arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise OSError(f"{path} is torn: {error}") from error
    if expected is None:
        raise OSError(f"{path} has no sum of its bytes; an older version of the program wrote it")
    if (found := sum_of(arrays)) != expected:
        raise OSError(f"{path} is damaged: the sum of its bytes is {found}, it was written with {expected}")
    return arrays
