"""The shipped model, opened once, and an empty cache for all that these tests make."""

import pytest

import probing
from tests.commands.conftest import cache as cache
from tests.commands.conftest import facts_file as facts_file
from tests.commands.conftest import tiny_model as tiny_model


@pytest.fixture(scope="session")
def nesia():
    """nesia-mini with its tied heads."""
    return probing.load("nesia-mini", device="cpu")
