"""Files that are there whole or not at all, whatever is killed when."""

import contextlib
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: A temporary file that nobody has written to for so long is a killed process's.
STALE_SECONDS = 3600.0


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which becomes ``path`` when all is written and on disk.

    Whatever is killed when, ``path`` holds the old bytes or the new ones; two processes that write it do not disturb each other.
    What was left beside it by a process that was killed is tidied away.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob("*.*-????????.tmp"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                left.unlink()
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode
        yield temporary
        # safetensors makes files that nobody else may read; those of a cache that several share are as the user's other files.
        temporary.chmod(mode)
        place_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def copy_whole(source: Path, target: Path) -> Path:
    """Copies a file in the way of ``whole_file``."""
    with whole_file(target) as temporary:
        shutil.copyfile(source, temporary)
    return target


def link_or_copy(source: Path, target: Path) -> None:
    """The same bytes under another name, without room of their own where the file system can; no file is changed in place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        copy_whole(source, target)


def write_whole(target: Path, text: str) -> Path:
    """Writes a text file in the way of ``whole_file``."""
    with whole_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return target


def place_file(finished: Path, target: Path) -> Path:
    """Gives a finished file its name when its bytes are on disk."""
    sync(finished)
    finished.replace(target)
    sync(target.parent)
    return target


def place_folder(half: Path, target: Path) -> Path:
    """Gives a finished folder its name at once; into one that is there already, its files go one by one."""
    for path in sorted(half.rglob("*")):
        if path.is_file():
            sync(path)
    if target.is_dir():
        for path in sorted(half.iterdir()):
            path.replace(target / path.name)
        half.rmdir()
    else:
        half.replace(target)
    sync(target.parent)
    return target


def sync(path: Path) -> None:
    """Makes a file's bytes, or a rename in a folder, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
