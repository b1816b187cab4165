"""The manifest: one line per finished shard, with the sha256 of its files. It decides what a resumed job does."""

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
        files: path and sha256 of each file, paths relative to the job's folder if they are in it.
        seconds: its duration; 0 for one that was finished before.
        host: the machine that did it.
    """

    name: str
    files: tuple[tuple[str, str], ...]
    seconds: float
    host: str


def summed(paths: Iterable[Path], folder: Path) -> tuple[tuple[str, str], ...]:
    """Files in the form of a line."""
    inside = folder.absolute()
    named = [(path.absolute(), file_sha256(path)) for path in paths]
    return tuple(
        (str(path.relative_to(inside) if path.is_relative_to(inside) else path), digest) for path, digest in named
    )


def append(folder: Path, line: Line) -> None:
    """Adds a line; after a kill it is complete, or it is the truncated last line. Only the coordinator writes."""
    text = (json.dumps(asdict(line), sort_keys=True) + "\n").encode()
    path = folder / NAME
    # Unbuffered: a full disk is noticed at once.
    with path.open("ab+", buffering=0) as stream:
        # A truncated line is ended first; otherwise the new one would be appended to it.
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":
                text = b"\n" + text
        if stream.write(text) != len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(stream.fileno())


def read(folder: Path) -> dict[str, Line]:
    """The last line of each shard; truncated lines are ignored."""
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
                log.warning("%s: a truncated line is ignored: %.60r", path, text)
    return found


def whole(folder: Path, line: Line) -> bool:
    """Whether a finished shard's files still match its line; those that do not are renamed, to be made again.

    They are not deleted: a head that was pulled since then is valid, too, and belongs to the user.
    """
    fits = bool(line.files)
    for name, digest in line.files:
        path = folder / name
        if not path.is_file():
            fits = False
        elif file_sha256(path) != digest:
            aside = path.with_name(f"{path.name}.other")
            log.warning("%s does not match the manifest (sha256); it is kept as %s and made again", path, aside.name)
            rename_file(path, aside)
            fits = False
    return fits
