"""Which Parquet files make up a store, and the fingerprint of their bytes."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.core.errors import StoreError
from probing.core.files.checksums import file_sha256
from probing.store.schema import SCHEMA_VERSION, SCHEMAS

#: Raised when a derived table changes although the Parquet files do not; databases are then rebuilt.
DERIVED_VERSION = 14


@dataclass(frozen=True)
class SourceFile:
    """One Parquet file of a store.

    Attributes:
        table: a key of ``SCHEMAS``, from the file's name.
        path: where it is.
        name: its path below the source folder, with ``/``.
        source: number of that folder in the order given; if two hold the same run, the first wins.
        sha256: of its bytes, hex.
        size: bytes.
    """

    table: str
    path: Path
    name: str
    source: int
    sha256: str
    size: int


def find_files(sources: Sequence[Path]) -> list[SourceFile]:
    """All files named after a table (``table_of``), in any depth, by source, table and name.

    Raises:
        StoreError: if a source folder does not exist or a file cannot be read.
    """
    found = []
    for number, source in enumerate(sources):
        source = Path(source)
        if not source.is_dir():
            raise StoreError(f"no folder {source}; expected one with files such as predictions-<run>.parquet")
        for path in source.rglob("*.parquet"):
            table = table_of(path)
            if table is None or not path.is_file():
                continue
            try:
                digest = file_sha256(path)
                size = path.stat().st_size
            except OSError as error:
                raise StoreError(f"cannot read {path}: {error}") from error
            found.append(SourceFile(table, path, path.relative_to(source).as_posix(), number, digest, size))
    return sorted(found, key=lambda file: (file.source, file.table, file.name))


def table_of(path: Path) -> str | None:
    """The table that a file is named after (``NAME.parquet`` or ``NAME-....parquet``, of several names the longest); None if none."""
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


def data_version_of(files: Sequence[SourceFile]) -> str:
    """First 16 hex digits of sha256 over versions, file names, sizes and bytes: equal data, equal version."""
    rows = [[file.source, file.table, file.name, file.size, file.sha256] for file in files]
    return hashlib.sha256(json.dumps([SCHEMA_VERSION, DERIVED_VERSION, rows]).encode()).hexdigest()[:16]
