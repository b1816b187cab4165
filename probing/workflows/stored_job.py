"""The last steps of a workflow that stores results: do its job, report it, build the database."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from probing.core.paths import database_folder, result_folders
from probing.jobs.coordinator import Executor, run_job
from probing.jobs.job import Job
from probing.jobs.lock import claimed
from probing.jobs.manifest import NAME as MANIFEST
from probing.store.build import build_database
from probing.workflows.executors import Who
from probing.workflows.say import Say


class StoresResults(Protocol):
    """A request that says where its results are stored."""

    @property
    def out(self) -> Path | None:
        """Folder of the results; None is the usual one."""

    @property
    def rebuild(self) -> bool:
        """Whether the database is built if the results are in the usual folder."""


def do_job(
    job: Job, workers: Executor, say: Say, complete: Callable[[], bool] = lambda: True, finish: Callable[[], None] = lambda: None
) -> None:
    """Does a job while no other process does it, and reports what workers elsewhere did.

    Args:
        job: the shards.
        workers: the executor.
        say: called with each line for the user.
        complete: whether all files that the manifest does not list exist; otherwise every shard is checked again.
        finish: called at the end, before another process may start.

    Raises:
        JobError: as ``run_job``.
    """
    with claimed(job.folder, say):
        if not complete():
            (job.folder / MANIFEST).unlink(missing_ok=True)
        outcome = run_job(job, workers)
        finish()
    if workers.name != Who.local:
        say(outcome.summary())


def build_if_usual(request: StoresResults) -> None:
    """Builds the database, if the request wants it and stored its results in the usual folder."""
    if request.rebuild and request.out is None:
        build_database(result_folders(), database_folder())
