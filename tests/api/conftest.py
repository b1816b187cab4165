"""The shipped model, opened once, and an empty cache for all that these tests make."""

import numpy as np
import pandas as pd
import pytest

import probing
from probing.api.results import Results
from tests.api.stored_results import plant_all


@pytest.fixture(scope="session")
def nesia():
    """nesia-mini with its tied heads."""
    return probing.load("nesia-mini", device="cpu")


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory):
    """A planted store with everything that a report can be made of."""
    return plant_all(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="session")
def results(snapshot):
    """That store, open."""
    with Results(snapshot) as found:
        yield found


#: What no argument is meant to be. ``==`` of the first ones gives an array or no truth value, and the last ones are no
#: text.
ODD = {
    "numbers": np.array([1.5, 2.5]),
    "no value": pd.NA,
    "table": pd.DataFrame({"a": [1.5]}),
    "object": object(),
    "half": "\ud800",
    "nul": "a\0b",
    "long": "x" * 5000,
}


@pytest.fixture(params=ODD, scope="session")
def odd(request):
    """An argument that is refused by a ``ProbingError`` wherever it cannot be used."""
    return ODD[request.param]
