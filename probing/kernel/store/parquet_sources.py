"""Which Parquet files are results: found by their names, below the folders of results."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from probing.kernel.errors import StoreError
from probing.kernel.files_checksums import file_sha256
from probing.kernel.store.columns_schema import SCHEMAS


@dataclass(frozen=True, order=True)
class SourceFile:
    """One Parquet file of results; its name is its path below the source folder, with ``/``, and tells the table."""

    #: Number of its folder in the order given; if two hold the same rows, the first wins.
    source: int
    table: str
    name: str
    path: Path
    size: int
    #: In nanoseconds.
    changed: int

    @property
    def sha256(self) -> str:
        """Of its bytes, hex; computed once for each change of the file."""
        return _sha256(self.path, self.size, self.changed)


def find_files(sources: Sequence[Path]) -> list[SourceFile]:
    """All files named after a table (``table_of``), in any depth, by source, table and name."""
    files = []
    for number, source in enumerate(map(Path, sources)):
        if not source.is_dir():
            raise StoreError(f"no folder {source}; expected one with files such as predictions-<run>.parquet")
        for path in source.rglob("*.parquet"):
            table = table_of(path)
            if table is None or not path.is_file():
                continue
            try:
                stat = path.stat()
            except FileNotFoundError:
                # It vanished while the folder was read.
                continue
            files.append(
                SourceFile(number, table, path.relative_to(source).as_posix(), path, stat.st_size, stat.st_mtime_ns)
            )
    return sorted(files)


def table_of(path: Path) -> str | None:
    """The table that a file is named after (``NAME.parquet`` or ``NAME-....parquet``, the longest); or None."""
    name = path.name.removesuffix(".parquet")
    if name == path.name:
        return None
    return max((table for table in SCHEMAS if name == table or name.startswith(f"{table}-")), key=len, default=None)


def holds_results(folder: Path) -> bool:
    """Whether a file below a folder, in any depth, is named after a table."""
    return any(table_of(path) for path in folder.rglob("*.parquet"))


def files_of(table: str, folder: Path) -> list[Path]:
    """The files below a folder, in any depth, that are named after a table, in order."""
    return sorted(path for path in folder.rglob("*.parquet") if table_of(path) == table)


def version_of(files: Iterable[SourceFile]) -> str:
    """16 hex digits that change when a file is added, replaced or deleted; no file is read."""
    rows = [(str(file.path), file.size, file.changed) for file in files]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def fingerprint_of(files: Iterable[SourceFile]) -> str:
    """First 16 hex digits of sha256 over files' names and bytes: equal wherever equal results lie."""
    rows = [(file.source, file.table, file.name, file.size, file.sha256) for file in files]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


@lru_cache(maxsize=100_000)
def _sha256(path: Path, size: int, changed: int) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error}") from error
