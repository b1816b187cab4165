"""The benchmarks can be run, on small slices."""

import inspect
from importlib import import_module

import pytest

from probing.facts import store as run_queries
from probing.kernel.store.opening import open_database
from tests.speed.__main__ import PARTS
from tests.speed.pages import Size, drill_downs, make_store, medians, overviews

pytestmark = pytest.mark.slow


SMALL = Size(facts=600, top_k=2)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("bench"), SMALL)


def test_every_query_of_the_benchmarks_finds_something(store):
    with open_database(store) as db:
        for name, query in {**overviews(db), **drill_downs(db)}.items():
            found = query()
            # Nobody in this store is called Rocky Balboa, and all models are asked the same facts.
            if name not in ("search_facts, text", "one_sided"):
                assert found is not None and (not hasattr(found, "empty") or not found.empty), name
        assert set(medians({"runs": lambda: run_queries.fact_runs(db)}, 1)) == {"runs"}


def test_every_part_of_bench_can_be_imported_and_measured():
    """Without this, code that the benchmarks use could be renamed unnoticed until someone measures."""
    for part in PARTS:
        assert inspect.signature(import_module(f"tests.speed.{part}").measure).bind(quick=True), part
