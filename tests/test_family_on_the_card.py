"""The tables of the family on the shipped model's card have the numbers of the shipped results."""

from probing.store.database import open_database
from tests.written_card import CARD, with_tables


def test_the_tables_are_those_that_make_docs_writes(shipped_database):
    card = CARD.read_text(encoding="utf-8")
    with open_database(shipped_database) as db:
        assert with_tables(card, db) == card, "make docs writes them again"
