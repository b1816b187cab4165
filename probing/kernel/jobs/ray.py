"""Shards as tasks of Ray Core, on a running cluster or on one that is started here."""

import atexit
import logging
import os
import pickle
import secrets
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from probing.kernel.errors import JobError, ProbingError
from probing.kernel.files import absolute_environment
from probing.kernel.jobs.shards import Line, Work, noted
from probing.kernel.version import __version__

log = logging.getLogger(__name__)
#: The object store holds the work, with its facts or its text; by default Ray would take a third of the memory.
OBJECT_STORE_BYTES = 100_000_000
CONNECT_SECONDS = 10.0
#: A shard that kills three workers would kill the fourth: too little memory, most likely.
MAX_DEATHS = 3
#: Variables that workers get from the coordinator; folders are made absolute.
PASSED_ON = ("PROBING_CACHE", "PROBING_SNAPSHOT", "PROBING_REGISTRY", "HF_HUB_OFFLINE", "HF_HOME", "HF_HUB_CACHE")
#: Ray would write its own token to ~/.ray; a token that only this process and its workers know is enough. It is kept
#: for the life of the process, as Ray reads it once.
_TOKEN = secrets.token_hex(32)


def do_shard(version: str, environment: Mapping[str, str], token: Path, reference: Sequence[Any], name: str) -> Line:
    """Does a shard in a worker process; ``version`` and ``environment`` are those of the coordinator.

    The reference to the pickled work is in a list, as Ray would fetch a bare one for every shard again.
    """
    if not token.is_file():
        raise JobError(
            f"worker on {socket.gethostname()} does not see {token.parent}; expected a folder that all machines share"
            " under the same path: set PROBING_CACHE to one"
        )
    if __version__ != version:
        raise JobError(
            f"a worker's version: got {__version__}, expected {version}, the coordinator's; install the same on every"
            " machine"
        )
    os.environ.update(environment)
    lines: list[Line] = []
    _received(*reference).do([name], noted(token.parent, lines.append))
    return lines[0]


@lru_cache(maxsize=1)
def _received(reference: Any) -> Work:
    # One at a time: models are large, and a process does one job after the other.
    work: Work = pickle.loads(ray_library().get(reference))
    return work


def passed_on() -> dict[str, str]:
    """The coordinator's environment variables that decide where results are found."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return kept | {name: value for name, value in absolute_environment().items() if name in PASSED_ON}


@dataclass(frozen=True)
class RayExecutor:
    """Ray Core."""

    threads: int = 1  #: processors per shard, as the run's configuration says
    workers: int | None = None  #: processes of a cluster that is started here; None: as many as the processors allow
    address: str | None = None  #: of a running cluster, ``auto`` or ``HOST:PORT``; None starts one here
    gpus: int = 0  #: graphics cards per shard
    name: str = "ray"

    def run(self, work: Work, names: Sequence[str], token: Path, finished: Callable[[Line], None]) -> None:
        """Has the shards done; one whose worker or machine died is tried again, up to a number of times."""
        ray = ray_library()
        self._connect(ray)
        # Lost workers are counted here: Ray's own retries would hide them and print no message for the user.
        task = ray.remote(num_cpus=self.threads, num_gpus=self.gpus, max_retries=0)(do_shard)
        lost = (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError)
        deaths: Counter[str] = Counter()
        shared = __version__, passed_on(), token, [ray.put(pickle.dumps(work))]
        pending = {task.remote(*shared, name): name for name in names}
        try:
            while pending:
                (ready,), _ = ray.wait(list(pending), num_returns=1)
                name = pending.pop(ready)
                try:
                    finished(ray.get(ready))
                except lost as error:
                    deaths[name] += 1
                    if deaths[name] == MAX_DEATHS:
                        raise JobError(
                            f"shard {name}: {MAX_DEATHS} workers died ({_last_line(error)}); finished shards are kept;"
                            " give workers more memory (a smaller --shard, fewer --workers) and run the same command"
                            " again"
                        ) from error
                    log.warning("the worker of shard %s died (%s); it is tried again", name, type(error).__name__)
                    pending[task.remote(*shared, name)] = name
                except ray.exceptions.RayError as error:
                    if isinstance(cause := getattr(error, "cause", None), ProbingError):
                        raise cause from error
                    raise JobError(f"shard {name} failed on Ray: {_last_line(error)}") from error
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
                f"no Ray cluster can be used at {self.address} ({_last_line(error)}); start one with: ray start --head"
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
    """Ray; a JobError if it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise JobError(
            "--executor ray needs Ray, which is not installed; install it with: pip install 'bertnesia-explorer[ray]'"
        ) from error
    return ray


def _last_line(error: object) -> str:
    """The last line of a library's error, in which tracebacks give the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__


def _answers(address: str) -> None:
    """Raises ConnectionError if nothing listens at HOST:PORT: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            raise ConnectionError(f"nothing listens there: {error.strerror or error}") from error


#: Undoes what the start of a cluster changed.
_CLUSTER = ExitStack()
atexit.register(_CLUSTER.close)


def _start(ray: Any, processors: int, quiet: dict[str, Any]) -> None:
    """A cluster that ends with this process and leaves nothing in the home folder."""
    # A short path: Unix sockets below it may have about 100 characters.
    place = tempfile.mkdtemp(prefix="rp-", dir="/tmp" if os.access("/tmp", os.W_OK) else None)
    _CLUSTER.callback(shutil.rmtree, place, ignore_errors=True)
    ours = {"RAY_AUTH_TOKEN": _TOKEN, "RAY_USAGE_STATS_ENABLED": "0"}
    for name in (*ours, "RAY_AUTH_MODE"):
        _CLUSTER.callback(os.environ.update, {name: os.environ[name]} if name in os.environ else {})
        _CLUSTER.callback(os.environ.pop, name, None)
    os.environ.update(ours)
    # Ray would warn that a token is required, which is intended.
    logging.getLogger("ray._private.authentication.authentication_token_setup").setLevel(logging.ERROR)
    _CLUSTER.callback(ray.shutdown)
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
        stop_ray()
        raise JobError(
            f"Ray cannot be started here ({_last_line(error)}); see {place}, or use --executor local"
        ) from error


def stop_ray() -> None:
    """Ends a cluster that was started here, if there is one."""
    _CLUSTER.close()
