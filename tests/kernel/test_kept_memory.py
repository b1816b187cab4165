"""A long computation keeps freed memory, so that the system clears the pages of its arrays once."""

import os
import platform
import subprocess
import sys

import pytest

#: Arrays of 64 MB, one after the other: the page faults of ten of them, after twenty others.
_FAULTS = """
import resource, torch
from probing.kernel.models.torch_settings import {prepare}
def faults(arrays):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(arrays):
        torch.ones(1 << 24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
{prepare}({given})
faults(20)
print(faults(10))
"""


def faults(prepare: str, given: str) -> int:
    """Page faults of ten arrays, in a separate process."""
    script = _FAULTS.format(prepare=prepare, given=given)
    return int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the setting")
def test_arrays_take_the_memory_of_earlier_ones():
    pages = 10 * (1 << 26) // os.sysconf("SC_PAGE_SIZE")
    assert faults("thread_count", "") > pages / 2
    assert faults("set_threads", "1") < pages / 20
