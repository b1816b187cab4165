"""The tables of docs/forgetting.md have the numbers of the shipped results."""

import re

import pytest

from probing.store.database import open_database
from tests import written_forgetting

DOCS = written_forgetting.DOCS.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def database(shipped_database):
    with open_database(shipped_database) as db:
        yield db


def test_the_tables_are_those_that_make_docs_writes(database):
    assert written_forgetting.with_tables(DOCS, database) == DOCS, "make docs writes them again"


def test_right_answers_come_back_more_often_than_wrong_ones_of_every_confidence_and_bins_add_up(database):
    lines = written_forgetting.by_confidence(database).splitlines()[2:]
    right, wrong = ([int(one) for one in re.findall(r"(\d+) \(", line)] for line in lines[:2])
    assert all(one > other for one, other in zip(right, wrong, strict=True))
    of_all = written_forgetting.by_step(database).splitlines()[-1]
    facts = [int(one.replace(",", "")) for one in re.findall(r"n ([\d,]+)", lines[0])]
    assert f"n {sum(facts):,})" in of_all
