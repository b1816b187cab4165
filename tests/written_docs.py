"""``make docs`` writes the tables of docs/facts.md, docs/heads.md, docs/forgetting.md and of the shipped model's card
again, from the shipped results.
"""

from pathlib import Path

from probing.kernel.store.opening import open_database
from tests import written_card, written_facts, written_forgetting, written_heads
from tests.shipped import SNAPSHOT

ROOT = Path(__file__).resolve().parents[1]
#: Document -> what writes its tables again.
_FROM_RESULTS = {
    ROOT / "docs" / "heads.md": written_heads.with_tables,
    written_facts.DOCS: written_facts.with_tables,
    written_forgetting.DOCS: written_forgetting.with_tables,
    written_card.CARD: written_card.with_tables,
}

if __name__ == "__main__":
    with open_database(SNAPSHOT) as db:
        for path, with_tables in _FROM_RESULTS.items():
            path.write_text(with_tables(path.read_text(encoding="utf-8"), db), encoding="utf-8")
