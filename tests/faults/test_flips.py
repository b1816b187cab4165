"""Whatever single bit of a stored file is wrong, it is named or harmless, and no process ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from probing.kernel.registry import REPOSITORY

FLIPS = 400


@pytest.mark.slow
def test_no_bit_of_a_stored_file_ends_a_process_or_changes_rows_without_a_word(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    words = [sys.executable, "-W", "ignore", "-m", "tests.faults.flips", str(FLIPS), str(tmp_path)]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["[]", str(FLIPS)], done.stdout
