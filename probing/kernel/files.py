"""Atomic writes: a file or folder under its final name is complete and on disk, even if a process is killed.

No other module renames a result.
"""

import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: A temporary file or folder that has not been written to for so long was left by a killed process.
STALE_SECONDS = 3600.0


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to, which becomes ``path`` when all bytes are written and on disk.

    Two processes that write it do not disturb each other. Files that killed processes left next to it are removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob("*.*-????????.tmp"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > STALE_SECONDS:
                left.unlink()
    temporary = path.with_name(f"{path.name}.{_own_name()}.tmp")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode
        yield temporary
        # safetensors makes files that only the user may read; in a shared cache they get the permissions of the user's
        # other files.
        temporary.chmod(mode)
        rename_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path, replace: bool = False) -> Iterator[Path]:
    """An empty folder to fill, which becomes ``path`` when the block ends without an error and all bytes are on disk.

    What killed processes left next to it is removed. Without ``replace`` the other files of an existing folder stay.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(".*.*-????????.part"):
        with suppress(FileNotFoundError):
            if time.time() - max(file.stat().st_mtime for file in (left, *left.rglob("*"))) > STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    temporary = path.with_name(f".{path.name}.{_own_name()}.part")
    temporary.mkdir()
    try:
        yield temporary
        if replace:
            shutil.rmtree(path, ignore_errors=True)
        rename_folder(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def atomic_copy(source: Path, target: Path) -> Path:
    """Copies a file by ``atomic_file``."""
    with atomic_file(target) as temporary:
        shutil.copyfile(source, temporary)
    return target


def link_or_copy(source: Path, target: Path) -> None:
    """The same bytes under another name, by a hard link if the file system has them; no file is changed in place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        atomic_copy(source, target)


def atomic_text(target: Path, text: str) -> Path:
    """Writes a text file by ``atomic_file``."""
    with atomic_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return target


def rename_file(finished: Path, target: Path) -> Path:
    """Gives a finished file its final name when its bytes are on disk."""
    _sync(finished)
    finished.replace(target)
    _sync_folder(target.parent)
    return target


def rename_folder(finished: Path, target: Path) -> Path:
    """Gives a finished folder its final name at once; into a folder that exists the files move one by one."""
    for path in sorted(finished.rglob("*")):
        if path.is_file():
            _sync(path)
    if target.is_dir():
        for path in sorted(finished.iterdir()):
            path.replace(target / path.name)
        finished.rmdir()
    else:
        finished.replace(target)
    _sync_folder(target.parent)
    return target


def _own_name() -> str:
    return f"{os.getpid()}-{uuid.uuid4().hex[:8]}"


def _sync(path: Path) -> None:
    """Waits until a file's bytes are on disk; Windows only does that for files that are open for writing."""
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Makes a rename in a folder survive a power cut; Windows cannot open folders and keeps renames itself."""
    if os.name != "nt":
        _sync(folder)
