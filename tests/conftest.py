"""What every test may ask for. No test of the default run uses the network."""

import gc
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

# Before transformers is imported anywhere: it reads this once.
os.environ["HF_HUB_OFFLINE"] = "1"
# Before torch and numpy are: on two cores, workers with two threads each spend most of their time waiting for each
# other.
os.environ["OMP_NUM_THREADS"] = "1"

# No test cuts the power: a file that is written atomically need not reach the disk. Processes that tests start do wait
# for it.
os.fsync = lambda handle: None

ROOT = Path(__file__).resolve().parents[1]

#: Fixtures that tests of several subjects use.
pytest_plugins = ("tests.fixtures.commands", "tests.fixtures.facts", "tests.fixtures.models", "tests.shipped")


#: What takes longest begins first, so that the workers of ``make test`` end together.
FIRST = (
    "browser/test_journey.py",
    "forgetting/test_recovering.py",
    "pages/test_links.py",
    "finetuning/test_finetune_command.py",
    "test_shipped.py",
    "sharing/test_sharing.py",
    "pages/test_words_of_strangers.py",
    "pages/test_pages.py",
    "facts/test_reports.py",
    "edges/test_commands.py",
    "kernel/test_every_kind.py",
    "papers/test_reproduce.py",
    "api/test_examples.py",
    "kernel/test_store_check.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Moves the files of ``FIRST`` to the front; all others keep their order."""
    place = {ROOT / "tests" / name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_collection_finish() -> None:
    """Takes what the imports and the collection left out of the collections of garbage to come.

    A fine-tuning collects all garbage at its end, and Python does now and then. Among 730,000 objects of 7,000 tests
    and their libraries, which stay until the end anyway, that takes 0.6 s each time. What Python does by itself, it
    does after 20,000 new objects, not 700.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_unconfigure() -> None:
    """Thaws what was frozen: libraries report objects that outlive the interpreter as leaks."""
    gc.unfreeze()


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


@pytest.fixture(scope="session")
def folder_of_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporary folder that all workers of a run of the tests share."""
    base = tmp_path_factory.getbasetemp()
    # Each worker of pytest-xdist has a folder of its own in that of the run.
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


@pytest.fixture(scope="session")
def run():
    """Runs a command line in this process and gives its result; errors that a user can mend are re-raised."""
    from probing.main import app

    def call(*words, code: int = 0):
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call
