"""Runs a job: an executor does the shards that the manifest does not list as finished."""

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from probing.core.errors import JobError
from probing.jobs.job import Job, Shard
from probing.jobs.manifest import Line, append, read, whole

log = logging.getLogger(__name__)
#: Seconds until a file that another machine wrote must be seen here: network file systems cache a file's absence.
PATIENCE = 60.0


class Executor(Protocol):
    """Does shards somewhere."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    def run(self, job: Job, shards: Sequence[Shard], token: str, finished: Callable[[Line], None]) -> None:
        """Does every shard and hands its line to ``finished``; a shard whose worker died is tried again.

        Raises:
            JobError: if a shard's workers died too often, or no work can be handed out.
        """


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call.

    Attributes:
        there: shards that were finished before.
        done: shards done now, with their seconds and hosts.
    """

    there: int
    done: tuple[Line, ...]

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


def run_job(job: Job, executor: Executor) -> Outcome:
    """Does the unfinished shards of a job; the caller has claimed its folder (``claimed``).

    Raises:
        JobError: if workers died too often, do not see the folder, or left a shard undone.
    """
    job.folder.mkdir(parents=True, exist_ok=True)
    known = read(job.folder)
    left = [shard for shard in job.shards if shard.name not in known or not whole(job.folder, known[shard.name])]
    there = len(job.shards) - len(left)
    done: dict[str, Line] = {}

    def finished(line: Line) -> None:
        if line.name not in done:
            _await_files(job.folder, line)
            append(job.folder, line)
            done[line.name] = line

    if left:
        log.info("%s: %d shards are done, %d are left (%s)", job.folder.name, there, len(left), executor.name)
        token = job.folder / f"seen-{uuid.uuid4().hex[:12]}.token"
        token.touch()
        try:
            executor.run(job, left, token.name, finished)
        finally:
            token.unlink(missing_ok=True)
    if missing := [shard.name for shard in left if shard.name not in done]:
        raise JobError(
            f"{job.folder}: {len(missing)} shards were not done, such as {missing[0]}; run the same command again"
        )
    return Outcome(there, tuple(done[shard.name] for shard in left))


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
