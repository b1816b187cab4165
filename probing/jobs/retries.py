"""How often a shard is tried when its workers die."""

from collections import Counter

from probing.core.errors import JobError
from probing.jobs.job import Shard

#: A shard that kills three workers would kill the fourth: too little memory, most likely.
MAX_DEATHS = 3


class Attempts:
    """Counts lost workers by shard."""

    def __init__(self) -> None:
        self.lost: Counter[str] = Counter()

    def lose(self, shard: Shard, cause: object) -> None:
        """Notes that the worker of a shard died.

        Raises:
            JobError: if the shard has lost its last worker.
        """
        self.lost[shard.name] += 1
        if self.lost[shard.name] >= MAX_DEATHS:
            raise JobError(
                f"shard {shard.name}: {MAX_DEATHS} workers died ({last_line(cause)}); finished shards are kept; give"
                " workers more memory (a smaller --shard, fewer --workers) and run the same command again"
            )


def last_line(error: object) -> str:
    """The last line of a library's error, in which tracebacks give the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
