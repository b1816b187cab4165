"""Long work in shards, the manifest of the finished ones, and one coordinator at a time."""

import errno
import json
import logging
import os
import socket
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from probing.kernel.errors import JobError, NoLocksError
from probing.kernel.files import file_sha256, rename_file
from probing.kernel.locks import LONG_WORK, exclusive_lock

log = logging.getLogger(__name__)
MANIFEST = "manifest.jsonl"
#: Seconds until a file that another machine wrote must be seen here: network file systems cache a file's absence.
PATIENCE = 60.0


class Work(ABC):
    """The work of a command, cut into shards that are done completely or not at all.

    Coordinator and workers have the same object, which other processes get pickled. Equal work gives equal bytes in
    every process and every time.
    """

    @property
    @abstractmethod
    def folder(self) -> Path:
        """With the manifest; all machines see it under the same path."""

    @property
    @abstractmethod
    def shards(self) -> Mapping[str, Any]:
        """Name -> what the shard is about, in the usual order."""

    @abstractmethod
    def do(self, names: Sequence[str], finished: Callable[[str, Sequence[Path]], None]) -> None:
        """Does shards in order, and calls ``finished`` with name and files of each; what exists is not made again."""


@dataclass(frozen=True)
class Line:
    """A finished shard."""

    name: str  #: the shard's
    #: Path and sha256 of each file, paths relative to the work's folder if they are in it.
    files: tuple[tuple[str, str], ...]
    seconds: float  #: its duration; 0 for one that was finished before
    host: str  #: the machine that did it


class Executor(Protocol):
    """Has shards done somewhere."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    def run(self, work: Work, names: Sequence[str], token: Path, finished: Callable[[Line], None]) -> None:
        """Has every shard done by a process that sees ``token``, and hands its line to ``finished``."""


class LocalExecutor:
    """Does shards in this process, one after the other."""

    name = "local"

    def run(self, work: Work, names: Sequence[str], token: Path, finished: Callable[[Line], None]) -> None:
        """Does the shards in order."""
        work.do(names, noted(work.folder, finished))


def noted(folder: Path, finished: Callable[[Line], None]) -> Callable[[str, Sequence[Path]], None]:
    """Called after each shard: hashes its files and hands its line on."""
    began, inside = time.monotonic(), folder.absolute()

    def note(name: str, files: Sequence[Path]) -> None:
        nonlocal began
        paths = [path.absolute() for path in files]
        named = [(path.relative_to(inside) if path.is_relative_to(inside) else path, path) for path in paths]
        sums = tuple((str(short), file_sha256(path)) for short, path in named)
        finished(Line(name, sums, round(time.monotonic() - began, 3), socket.gethostname()))
        began = time.monotonic()

    return note


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call."""

    there: int  #: shards that were finished before
    done: tuple[Line, ...]  #: shards done now, with their seconds and hosts

    def summary(self) -> str:
        """One line for the reader."""
        if not self.done:
            return f"{self.there} shards were finished before"
        hosts = sorted({line.host for line in self.done})
        seconds = sum(line.seconds for line in self.done)
        return (
            f"{len(self.done)} shards done on {', '.join(hosts)} in {seconds:.0f} worker seconds, {self.there} were"
            " finished before"
        )


def run_job(work: Work, executor: Executor) -> Outcome:
    """Has the unfinished shards done; the caller has claimed the work's folder (``claimed``)."""
    folder, shards = work.folder, work.shards
    folder.mkdir(parents=True, exist_ok=True)
    known = read_manifest(folder)
    left = [name for name in shards if name not in known or not _whole(folder, known[name])]
    there = len(shards) - len(left)
    done: dict[str, Line] = {}

    def finished(line: Line) -> None:
        if line.name not in done:
            _await_files(folder, line)
            add_line(folder, line)
            done[line.name] = line

    if left:
        log.info("%s: %d shards are done, %d are left (%s)", folder.name, there, len(left), executor.name)
        token = folder.absolute() / f"seen-{uuid.uuid4().hex[:12]}.token"
        token.touch()
        try:
            executor.run(work, left, token, finished)
        finally:
            token.unlink(missing_ok=True)
    if missing := [name for name in left if name not in done]:
        raise JobError(
            f"{folder}: {len(missing)} shards were not done, such as {missing[0]}; run the same command again"
        )
    return Outcome(there, tuple(done[name] for name in left))


def _await_files(folder: Path, line: Line) -> None:
    until = time.monotonic() + PATIENCE
    for name, _ in line.files:
        while not (folder / name).is_file():
            if time.monotonic() > until:
                raise JobError(
                    f"{line.host} says that it wrote {folder / name}, which is not seen here; expected a folder that"
                    " all machines share under the same path: set PROBING_CACHE to one"
                )
            time.sleep(0.2)


def add_line(folder: Path, line: Line) -> None:
    """Adds a line to the manifest; after a kill it is complete, or it is the truncated last line. Only the coordinator
    writes.
    """
    text = (json.dumps(asdict(line), sort_keys=True) + "\n").encode()
    path = folder / MANIFEST
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


def read_manifest(folder: Path) -> dict[str, Line]:
    """The last line of each shard; truncated lines are ignored."""
    path = folder / MANIFEST
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


def _whole(folder: Path, line: Line) -> bool:
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


@contextmanager
def claimed(folder: Path, say: Callable[[str], None] = log.warning) -> Iterator[None]:
    """Holds the folder of some work; waits while another process does, and takes over when that ends or dies.

    The lock is a file next to the folder, which the kernel releases however a process ends, ``kill -9`` included. On
    NFS it holds between machines if the server supports locks. If a file system has none, a warning is logged and the
    work goes on: two coordinators then do the same work to the same bytes, and each write is atomic.
    """
    with ExitStack() as stack:
        try:
            lock = exclusive_lock(folder.with_name(f"{folder.name}.lock"), say, remove=True, limit=LONG_WORK)
            stack.enter_context(lock)
        except NoLocksError as error:
            log.warning("%s", error)
        yield
