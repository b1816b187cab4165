"""A warm parent and inputs for all trials."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.trials import make_inputs
from tests.faults.warm import WarmParent


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
