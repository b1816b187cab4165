"""The tables of the family on the shipped model's card, which ``make docs`` writes again from the shipped results."""

from data.making.card_family import family_lines
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.database import Database

CARD = REPOSITORY / "data" / "models" / "nesia-mini" / "README.md"
_BEFORE, _AFTER = "These tables are printed by `python -m probing model-card --family`", "**What it shows.**"


def with_tables(card: str, db: Database) -> str:
    """The card with the tables of these results in place of its own.

    Raises:
        ValueError: if it does not have the sentence before them, or the words after them.
    """
    start = card.index("\n\n", card.index(_BEFORE)) + 2
    return card[:start] + "\n".join(family_lines(db, "nesia-mini")) + "\n" + card[card.index(_AFTER) :]
