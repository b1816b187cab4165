"""What every test may ask for. No test of the default run uses the network."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

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


@pytest.fixture()
def run():
    """Runs a command line in this process and gives its result; errors that a user can mend are re-raised."""
    from probing.commands.main import app

    def call(*words, code: int = 0):
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call
