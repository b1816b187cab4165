"""Arrays with a checksum: read as written, and refused after any change."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from probing.kernel.models.arrays import read_sealed, sum_of, write_sealed

ARRAYS = {
    "ranks": np.arange(600, dtype=np.uint32).reshape(3, 200),
    "logp": np.linspace(-9, 0, 600, dtype=np.float32).reshape(3, 200),
}


def test_arrays_are_read_as_they_were_written_and_equal_arrays_are_equal_bytes(tmp_path):
    write_sealed(ARRAYS, tmp_path / "a")
    write_sealed(dict(reversed(ARRAYS.items())), tmp_path / "b")
    read = read_sealed(tmp_path / "a")
    assert all(np.array_equal(read[name], array) and read[name].dtype == array.dtype for name, array in ARRAYS.items())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_any_wrong_bit_and_any_missing_end_is_noticed(tmp_path):
    path = tmp_path / "a"
    write_sealed(ARRAYS, path)
    whole = path.read_bytes()
    for at in np.random.default_rng(0).integers(0, len(whole), 100):
        broken = bytearray(whole)
        broken[at] ^= 1 << int(at % 8)
        path.write_bytes(broken)
        try:
            read = read_sealed(path)
        except OSError:
            continue
        # A bit of the header that says nothing, such as the name of another entry.
        assert sum_of(read) == sum_of(ARRAYS)
    for size in (0, 7, 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(OSError, match=r"a is incomplete or damaged"):
            read_sealed(path)


def test_a_file_without_a_sum_is_refused(tmp_path):
    save_file(ARRAYS, tmp_path / "a")
    with pytest.raises(OSError, match="no checksum"):
        read_sealed(tmp_path / "a")


def test_the_sum_tells_names_types_and_shapes_apart():
    array = np.zeros(4, dtype=np.float32)
    others = [
        {"a": array},
        {"b": array},
        {"a": array.reshape(2, 2)},
        {"a": array.view(np.uint32)},
        {"a": array, "b": array},
    ]
    assert len({sum_of(arrays) for arrays in others}) == len(others)
