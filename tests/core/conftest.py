"""Small facts for the tests of the core."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from probing.facts.fact import Relation, shipped_relations


@pytest.fixture(scope="session")
def ours() -> dict[str, Relation]:
    """The project's own relations."""
    return shipped_relations()


@pytest.fixture
def lines(tmp_path: Path) -> Callable[[str, Sequence[dict]], Path]:
    """Writes rows as JSON lines under the given name in a temporary folder."""

    def write(name: str, rows: Sequence[dict]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write
