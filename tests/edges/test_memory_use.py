"""States on disk are read without keeping them in memory, and steps need no copies of all probes."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from probing.edges import states, training
from probing.edges.states import WordStates

MEGABYTE = 1 << 20


def mapped_bytes() -> int:
    """Bytes of mapped files that this process has resident."""
    line = next(
        line
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        if line.startswith("RssFile:")
    )
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's count of resident pages")
def test_states_that_were_read_do_not_stay_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(states, "BYTES_HELD", 4 * MEGABYTE)
    array = np.arange(32 * MEGABYTE // 2, dtype=np.uint16).view(np.float16).reshape(-1, 8, 64)
    array[~np.isfinite(array)] = 1.0
    for number, half in enumerate(np.split(array, 2)):
        np.save(tmp_path / f"{number}.npy", half)
    before = mapped_bytes()
    found = WordStates([np.load(tmp_path / f"{number}.npy", mmap_mode="r") for number in range(2)], {})
    most = mapped_bytes() - before
    for start in range(0, len(array), 512):
        pieces = np.arange(start, min(start + 512, len(array)))
        assert np.array_equal(found.read(pieces).numpy(), array[pieces])
        most = max(most, mapped_bytes() - before)
    assert most < 12 * MEGABYTE, f"{most:,} bytes of {array.nbytes:,} stayed"


def test_a_step_of_adam_part_by_part_is_to_the_byte_that_of_all_parameters_at_once(monkeypatch):
    found = []
    for numbers in (7, 64, 10_000):
        monkeypatch.setattr(training, "NUMBERS_A_PART", numbers)
        draw = torch.Generator().manual_seed(0)
        start = torch.randn((3, 333), generator=draw)
        live = training._Live(start.clone(), *(torch.zeros_like(start) for _ in range(4)))
        for step in (1, 2, 3):
            live.gradient = torch.randn((3, 333), generator=draw)
            training._adam(live, step, torch.tensor([1e-3, 5e-4, 1e-3], dtype=torch.float64), 5.0)
        found.append(torch.stack([live.flat, live.first, live.second, live.highest]))
    assert torch.equal(found[0], found[2]) and torch.equal(found[1], found[2])
    assert not torch.equal(found[0][0], start)
