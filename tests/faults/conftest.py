"""A warm parent and inputs for all trials, and the report of a stress test."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.inputs import make_inputs
from tests.faults.trials import Trial
from tests.faults.warm import WarmParent

_REPORT: dict[tuple[str, str], list[Trial]] = {}


@pytest.fixture(scope="session")
def inputs(tmp_path_factory) -> Path:
    """What every trial begins with."""
    return make_inputs(tmp_path_factory.mktemp("faults") / "inputs")


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmParent]:
    """A parent that forks commands."""
    parent = WarmParent()
    yield parent
    parent.close()


@pytest.fixture(scope="session")
def warm_with_mounts() -> Iterator[WarmParent]:
    """A parent that may mount file systems of its own, which nobody else sees."""
    prefix = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    allowed = (
        shutil.which("unshare") and subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode == 0
    )
    if not allowed:
        pytest.skip(
            "this machine lets nobody mount a small disk (unshare --mount); the limit on file sizes is tested instead"
        )
    parent = WarmParent(*prefix)
    yield parent
    parent.close()


@pytest.fixture(scope="session")
def report() -> dict[tuple[str, str], list[Trial]]:
    """(command, fault) -> trials; printed at the end."""
    return _REPORT


def pytest_terminal_summary(terminalreporter) -> None:
    if not _REPORT:
        return
    write = terminalreporter.write_line
    write("")
    write("| command | fault | trials | faults | losses |")
    write("|---|---|---|---|---|")
    for (command, fault), trials in _REPORT.items():
        write(
            f"| {command} | {fault} | {len(trials)} | {sum(t.faults for t in trials)} |"
            f" {sum(bool(t.losses) for t in trials) or 'none'} |"
        )
    every = [trial for trials in _REPORT.values() for trial in trials]
    losses = sum(bool(trial.losses) for trial in every)
    write(f"{len(every)} trials, {sum(trial.faults for trial in every)} faults, losses: {losses or 'none'}")
