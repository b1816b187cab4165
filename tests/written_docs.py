"""``make docs`` writes the tables of docs/heads.md, docs/forgetting.md and of the shipped model's card again, from the shipped results."""

import tempfile
from pathlib import Path

from probing.store.opening import open_database
from probing.core.paths import snapshot_folder
from tests import written_card, written_forgetting, written_heads

ROOT = Path(__file__).resolve().parents[1]
#: Document -> what writes its tables again.
_FROM_RESULTS = {
    ROOT / "docs" / "heads.md": written_heads.with_tables,
    written_forgetting.DOCS: written_forgetting.with_tables,
    written_card.CARD: written_card.with_tables,
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="probing-docs-") as folder, open_database(snapshot_folder()) as db:
        for path, with_tables in _FROM_RESULTS.items():
            path.write_text(with_tables(path.read_text(encoding="utf-8"), db), encoding="utf-8")
