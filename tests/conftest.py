"""What every test may ask for. No test of the default run uses the network."""

import os
from pathlib import Path

import pytest

# Before transformers is imported anywhere: it reads this once.
os.environ["HF_HUB_OFFLINE"] = "1"

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The folder with ``probing/`` and ``data/``."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data sets beside the repository, which a clone need not have."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets at {folder}: tests on LAMA's own files need them")
    return folder
