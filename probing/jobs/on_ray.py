"""Shards as tasks of Ray Core, on a running cluster or on one that is started here."""

import atexit
import logging
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.core.errors import JobError
from probing.jobs.job import Job, Shard
from probing.jobs.manifest import Line
from probing.jobs.retries import Attempts, last_line
from probing.jobs.worker import do_shards, take_back

log = logging.getLogger(__name__)
#: Tasks exchange a few hundred bytes; by default Ray would take a third of the memory.
OBJECT_STORE_BYTES = 100_000_000
CONNECT_SECONDS = 10.0
#: Ray would write its own token to ~/.ray; a token that only this process and its workers know is enough. It is kept
#: for the life of the process, as Ray reads it once.
_TOKEN = secrets.token_hex(32)


@dataclass(frozen=True)
class RayExecutor:
    """Ray Core.

    Attributes:
        threads: processors per shard, as the run's configuration says.
        workers: processes of a cluster that is started here; None: as many as the processors allow.
        address: of a running cluster, ``auto`` or ``HOST:PORT``; None starts one here.
        gpus: graphics cards per shard.
    """

    threads: int = 1
    workers: int | None = None
    address: str | None = None
    gpus: int = 0
    name: str = "ray"

    def run(self, job: Job, shards: Sequence[Shard], token: str, finished: Callable[[Line], None]) -> None:
        """Does the shards; one whose worker or machine died is tried again.

        Raises:
            JobError: if Ray is not installed, no cluster answers, or workers die too often.
        """
        ray = ray_library()
        self._connect(ray)
        # Lost workers are counted here: Ray's own retries would hide them and print no message for the user.
        task = ray.remote(num_cpus=self.threads, num_gpus=self.gpus, max_retries=0)(do_shards)
        lost = (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError)
        attempts = Attempts()
        pending = {task.remote(job.sent([shard], token)): shard for shard in shards}
        try:
            while pending:
                (ready,), _ = ray.wait(list(pending), num_returns=1)
                shard = pending.pop(ready)
                try:
                    answer = ray.get(ready)
                except lost as error:
                    attempts.lose(shard, error)
                    log.warning("the worker of shard %s died (%s); it is tried again", shard.name, type(error).__name__)
                    pending[task.remote(job.sent([shard], token))] = shard
                except ray.exceptions.RayError as error:
                    raise JobError(f"shard {shard.name} failed on Ray: {last_line(error)}") from error
                else:
                    take_back(answer, finished)
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)

    def _connect(self, ray: Any) -> None:
        if ray.is_initialized():
            return
        quiet = {"logging_level": logging.WARNING, "log_to_driver": False}
        if self.address is None:
            _start(ray, (self.workers or max(1, (os.cpu_count() or 1) // self.threads)) * self.threads, quiet)
            return
        try:
            _answers(self.address)
            ray.init(address=self.address, **quiet)
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise JobError(
                f"no Ray cluster can be used at {self.address} ({last_line(error)}); start one with: ray start --head"
                " --port 6379, or leave --address out to start one here"
            ) from error
        most = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
        if most < self.threads:
            log.warning(
                "no machine of the cluster has %d processors, the maximum is %d; shards wait for one (see --threads)",
                self.threads,
                most,
            )


def ray_library() -> Any:
    """Ray.

    Raises:
        JobError: if it is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise JobError(
            "--executor ray needs Ray, which is not installed; install it with: pip install -e '.[ray]'"
        ) from error
    return ray


def _answers(address: str) -> None:
    """Raises ConnectionError if nothing listens at HOST:PORT: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            raise ConnectionError(f"nothing listens there: {error.strerror or error}") from error


def _start(ray: Any, processors: int, quiet: dict[str, Any]) -> None:
    """A cluster that ends with this process and leaves nothing in the home folder."""
    # A short path: Unix sockets below it may have about 100 characters.
    place = tempfile.mkdtemp(prefix="rp-", dir="/tmp" if os.access("/tmp", os.W_OK) else None)
    ours = {"RAY_AUTH_TOKEN": _TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
    before = {name: os.environ.get(name) for name in (*ours, "RAY_AUTH_MODE")}
    os.environ.update(ours)
    # Ray would warn that a token is required, which is intended.
    logging.getLogger("ray._private.authentication.authentication_token_setup").setLevel(logging.ERROR)

    def stop() -> None:
        ray.shutdown()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(place, ignore_errors=True)
        atexit.unregister(stop)
        _STARTED.clear()

    try:
        ray.init(
            address="local",
            num_cpus=processors,
            object_store_memory=OBJECT_STORE_BYTES,
            include_dashboard=False,
            _temp_dir=place,
            **quiet,
        )
    except (RuntimeError, OSError, ValueError, ray.exceptions.RayError) as error:
        stop()
        raise JobError(
            f"Ray cannot be started here ({last_line(error)}); see {Path(place)}, or use --executor local"
        ) from error
    _STARTED.append(stop)
    atexit.register(stop)


_STARTED: list[Callable[[], None]] = []


def stop_ray() -> None:
    """Ends a cluster that was started here, if there is one."""
    for stop in list(_STARTED):
        stop()
