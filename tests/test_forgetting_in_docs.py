"""The tables of docs/forgetting.md have the numbers of the shipped results."""

import pytest

from data.making.card_family import outcomes
from tests import written_forgetting

DOCS = written_forgetting.DOCS.read_text(encoding="utf-8")


def test_the_tables_are_those_that_make_docs_writes(database):
    assert written_forgetting.with_tables(DOCS, database) == DOCS, "make docs writes them again"


def test_the_outcomes_of_the_card_add_up_to_100(database):
    for line in outcomes(database, written_forgetting.BASE)[2:]:
        assert sum(float(cell) for cell in line.strip("| ").split(" | ")[2:] if cell[0].isdigit()) == pytest.approx(
            100, abs=0.4
        )
