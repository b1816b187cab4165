"""The manifest: one line for each finished shard, with the sha256 of its files. It owns resumption."""

import errno
import json
import logging
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from probing.core.files.atomic import rename_file
from probing.core.files.checksums import file_sha256

log = logging.getLogger(__name__)
NAME = "manifest.jsonl"


@dataclass(frozen=True)
class Line:
    """A finished shard.

    Attributes:
        name: the shard's.
        files: path and sha256 of each file, paths relative to the job's folder where they lie in it.
        seconds: what it took; 0 for one that was there.
        host: the machine that did it.
    """

    name: str
    files: tuple[tuple[str, str], ...]
    seconds: float
    host: str


def summed(paths: Iterable[Path], folder: Path) -> tuple[tuple[str, str], ...]:
    """Files as a line has them."""
    inside = folder.absolute()
    named = [(path.absolute(), file_sha256(path)) for path in paths]
    return tuple((str(path.relative_to(inside) if path.is_relative_to(inside) else path), digest) for path, digest in named)


def append(folder: Path, line: Line) -> None:
    """Adds a line so that a kill leaves it there whole, or torn as the last one. Only the coordinator writes."""
    text = (json.dumps(asdict(line), sort_keys=True) + "\n").encode()
    path = folder / NAME
    # Unbuffered: a line is written at once, or the disk is full.
    with path.open("ab+", buffering=0) as stream:
        # A torn line is ended first, or it would swallow the new one.
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":
                text = b"\n" + text
        if stream.write(text) != len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(stream.fileno())


def read(folder: Path) -> dict[str, Line]:
    """The last line of each shard; lines that a kill tore are left out."""
    path = folder / NAME
    if not path.is_file():
        return {}
    found: dict[str, Line] = {}
    for text in path.read_bytes().split(b"\n"):
        try:
            row = json.loads(text)
            files = tuple((str(name), str(digest)) for name, digest in row["files"])
            found[row["name"]] = Line(row["name"], files, float(row["seconds"]), str(row["host"]))
        except (ValueError, KeyError, TypeError):
            if text:
                log.warning("%s: a line is torn and counts for nothing: %.60r", path, text)
    return found


def whole(folder: Path, line: Line) -> bool:
    """Whether a finished shard's files are still what its line says; those that are not are set aside, to be made again.

    They are not deleted: a head that was pulled since then is somebody's, and as good as the one that the line is of.
    """
    fits = bool(line.files)
    for name, digest in line.files:
        path = folder / name
        if not path.is_file():
            fits = False
        elif file_sha256(path) != digest:
            aside = path.with_name(f"{path.name}.other")
            log.warning("%s is not what the manifest says (sha256); it is kept as %s and made again", path, aside.name)
            rename_file(path, aside)
            fits = False
    return fits
