"""Cache keys for data sets that were downloaded to this machine."""

from collections.abc import Iterable
from pathlib import Path

#: Path, size in bytes and modification time in nanoseconds of each file.
State = tuple[tuple[str, int, int], ...]


def files_state(folders: Iterable[Path]) -> State:
    """State of all files in these folders: it changes when a file changes; empty if there are no files."""
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return tuple(
        (str(path), about.st_size, about.st_mtime_ns) for path, about in ((path, path.stat()) for path in files)
    )
