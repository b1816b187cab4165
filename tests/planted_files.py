"""Files of planted runs: most tests damage none, and get the bytes that an earlier test wrote."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from probing.kernel.store.parquet import write_table

Rows = dict[str, list[dict[str, Any]]]
#: Damages the rows of a table.
Change = Callable[[str, list[dict[str, Any]]], list[dict[str, Any]]]


def write_planted(folder: Path, name: str, change: Change | None, rows_of: Callable[..., Rows], *planted: Any) -> None:
    """Writes ``TABLE-name.parquet`` for each table of ``rows_of(*planted)``: of a task, a model or a run."""
    if change:
        for table, rows in rows_of(*planted).items():
            write_table(table, change(table, rows), folder / f"{table}-{name}.parquet")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for table, content in _written(rows_of, *planted):
        (folder / f"{table}-{name}.parquet").write_bytes(content)


@cache
def _written(rows_of: Callable[..., Rows], *planted: Any) -> Sequence[tuple[str, bytes]]:
    """Tables, and the bytes of their files."""
    found = []
    with TemporaryDirectory() as folder:
        for table, rows in rows_of(*planted).items():
            path = Path(folder) / f"{table}.parquet"
            write_table(table, rows, path)
            found.append((table, path.read_bytes()))
    return found
