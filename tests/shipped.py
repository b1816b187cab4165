"""Where the results that ship with the repository are."""

import pytest

from probing.kernel.registry import REPOSITORY
from probing.kernel.store.opening import open_database

SNAPSHOT = REPOSITORY / "data" / "snapshot"


@pytest.fixture(scope="module")
def database():
    """The results that ship."""
    with open_database(SNAPSHOT) as db:
        yield db
