"""Shards as jobs of Slurm, by submitit; ``cluster=local`` runs the same on this machine."""

import logging
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probing.core.errors import JobError
from probing.jobs.job import Job, Shard
from probing.jobs.manifest import Line
from probing.jobs.retries import Attempts, last_line
from probing.jobs.worker import do_shards, take_back

log = logging.getLogger(__name__)
#: Options that submitit knows for every cluster; all others are Slurm's own.
SHARED = {"timeout_min", "mem_gb", "nodes", "cpus_per_task", "gpus_per_node", "tasks_per_node", "name", "stderr_to_stdout"}
#: Seconds between two looks at the jobs.
LOOK = 0.5


@dataclass(frozen=True)
class SlurmExecutor:
    """Slurm.

    Attributes:
        threads: processors per shard, as the run's configuration says.
        workers: jobs in the queue at a time.
        options: such as ``partition``, ``timeout_min``, ``mem_gb``; ``cluster`` is slurm or local.
    """

    threads: int = 1
    workers: int = 4
    options: Mapping[str, str] = field(default_factory=dict)
    name: str = "slurm"

    def run(self, job: Job, shards: Sequence[Shard], token: str, finished: Callable[[Line], None]) -> None:
        """Keeps ``workers`` jobs in the queue, one per shard; one that died is submitted again.

        Raises:
            JobError: if submitit is not installed, the queue refuses jobs, or jobs die too often.
        """
        submitit = slurm_library()
        folder = job.folder / "slurm"
        executor = self._executor(submitit, folder)
        attempts, left = Attempts(), list(shards)
        pending: dict[Any, Shard] = {}
        try:
            while left or pending:
                while left and len(pending) < self.workers:
                    shard = left.pop(0)
                    pending[_submitted(submitit, executor, job.sent([shard], token))] = shard
                over = [queued for queued in pending if queued.done()]
                for queued in over:
                    shard = pending.pop(queued)
                    try:
                        answer = queued.result()
                    except submitit.core.utils.FailedJobError as error:
                        raise JobError(f"shard {shard.name} failed on Slurm: {_cause(error)}; its output is in {folder}") from error
                    except submitit.core.utils.UncompletedJobError as error:
                        attempts.lose([shard], f"job {queued.job_id}, output in {folder}")
                        log.warning("job %s of shard %s died (%s); it is tried again", queued.job_id, shard.name, last_line(error))
                        left.append(shard)
                    else:
                        take_back(answer, finished)
                if not over:
                    time.sleep(LOOK)
        finally:
            for queued in pending:
                queued.cancel()
        shutil.rmtree(folder, ignore_errors=True)

    def _executor(self, submitit: Any, folder: Path) -> Any:
        options = {key: _typed(key, value) for key, value in self.options.items()}
        cluster = options.pop("cluster", "slurm")
        wanted = {"cpus_per_task": self.threads, "timeout_min": 240, "name": "probing"} | {
            key if key in SHARED or key.startswith("slurm_") else f"slurm_{key}": value for key, value in options.items()
        }
        try:
            executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
            executor.update_parameters(**wanted)
        except (RuntimeError, ValueError, NameError, TypeError, AssertionError) as error:
            # submitit gives the wrong option first, and then the options that it accepts.
            culprit = str(error).partition("\n")[0] or type(error).__name__
            raise JobError(
                f"Slurm cannot be used ({culprit}); expected sbatch on the path of this machine and options that it accepts; "
                "--slurm cluster=local tries the same here"
            ) from error
        return executor


def _typed(key: str, value: str) -> Any:
    """A number if submitit expects one; Slurm's own options, such as an account 007, stay as typed."""
    if key not in SHARED or key == "name":
        return value
    if re.fullmatch(r"\d+", value):
        return int(value)
    return float(value) if re.fullmatch(r"\d*\.\d+", value) else value


def slurm_library() -> Any:
    """submitit.

    Raises:
        JobError: if it is not installed.
    """
    try:
        import submitit
    except ImportError as error:
        raise JobError("--executor slurm needs submitit, which is not installed; install it with: pip install -e '.[slurm]'") from error
    return submitit


def _submitted(submitit: Any, executor: Any, sent: str) -> Any:
    try:
        return executor.submit(do_shards, sent)
    except (submitit.core.utils.FailedSubmissionError, submitit.core.utils.FailedJobError) as error:
        raise JobError(f"the queue refused a job: {last_line(error)}; see --slurm KEY=VALUE") from error


def _cause(error: BaseException) -> str:
    """The traceback's last line; submitit puts the traceback between lines of dashes, and the paths of its logs after it."""
    parts = re.split(r"\n-{5,}\n", str(error))
    return last_line(parts[1] if len(parts) > 2 else error)
