"""Reads of pages: typed calls whose results are kept for one state of the data."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from probing.store.database import Database, Opened
from probing.store.sources import SourceFile
from probing.ui.frame import page_reads

CALLS: list[tuple] = []


def counted_here(db, *ids, limit=5):
    CALLS.append((db.version, ids, limit))
    return len(CALLS)


@pytest.fixture(autouse=True)
def empty():
    CALLS.clear()
    page_reads._read.clear()
    page_reads._counted.clear()


def database(version: str) -> Database:
    file = SourceFile(0, "runs", version, Path(version), 0, 0)
    return Database(lambda without: Opened(SimpleNamespace(), [file], {}, {}))


@pytest.mark.parametrize("read", [page_reads.read, page_reads.counted])
def test_a_read_is_made_once_for_each_state_of_the_data_and_each_argument(read):
    first = read(counted_here, database("one"), "a", limit=3)
    assert read(counted_here, database("one"), "a", limit=3) == first
    assert read(counted_here, database("two"), "a", limit=3) != first
    assert read(counted_here, database("one"), "b", limit=3) != first
    assert read(counted_here, database("one"), "a", limit=4) != first
    assert len(CALLS) == 4


def test_functions_of_one_name_in_two_modules_are_distinguished(monkeypatch):
    first = page_reads.read(counted_here, database("one"))
    monkeypatch.setattr(counted_here, "__module__", "elsewhere")
    assert page_reads.read(counted_here, database("one")) != first


def test_a_table_among_the_arguments_is_part_of_the_key():
    def given(*values):
        return page_reads.counted(counted_here, database("one"), pd.DataFrame({"run_id": values}))

    assert given("a", "b") == given("a", "b") != given("a", "c")


@pytest.mark.parametrize("read", [page_reads.read, page_reads.counted])
def test_a_function_that_may_close_over_values_is_refused(read):
    limit = 3

    def within(db):
        return limit

    for function in (within, lambda db: limit):
        with pytest.raises(TypeError, match="top level of a module"):
            read(function, database("one"))
