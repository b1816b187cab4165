"""Data sets that were fetched to this machine, as keys of caches."""

from collections.abc import Iterable
from pathlib import Path

#: Names, sizes and times of files.
State = tuple[tuple[str, int, int], ...]


def files_state(folders: Iterable[Path]) -> State:
    """What tells the files of these folders from their next versions; empty where none is there."""
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return tuple((str(path), about.st_size, about.st_mtime_ns) for path, about in ((path, path.stat()) for path in files))
