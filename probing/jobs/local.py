"""Shards in this process, one after the other."""

from collections.abc import Callable, Sequence

from probing.jobs.job import Job, Shard, open_worker
from probing.jobs.manifest import Line
from probing.jobs.worker import noted


class LocalExecutor:
    """Needs only this process; the worker is the one that the coordinator opened, if any."""

    name = "local"

    def run(self, job: Job, shards: Sequence[Shard], token: str, finished: Callable[[Line], None]) -> None:
        """Does the shards in order."""
        worker = job.opened or open_worker(job.worker, job.setup)
        worker([shard.arguments for shard in shards], noted([shard.name for shard in shards], job.folder, finished))
