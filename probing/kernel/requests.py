"""Where the work of a command is done."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from probing.kernel.errors import OptionError
from probing.kernel.jobs.ray import RayExecutor, ray_library
from probing.kernel.jobs.shards import Executor, LocalExecutor
from probing.kernel.options import Option, Options


class Who(StrEnum):
    """Kinds of executors."""

    local = "local"
    ray = "ray"


@dataclass(frozen=True)
class ExecutorChoice(Options):
    """Where the work is done."""

    who: Annotated[Who, Option("Where the work is done: this process, or Ray's workers.", names=("--executor",))] = (
        Who.local
    )
    workers: Annotated[int | None, Option("Workers of a Ray started here; none: as many as fit.", least=1)] = None
    address: Annotated[str | None, Option("A running Ray cluster: auto or HOST:PORT; none starts one here.")] = None

    def check(self) -> None:
        """Raises ``OptionError`` for an option of another executor."""
        if self.workers and self.who == Who.local:
            raise OptionError(
                f"got --workers {self.workers} with --executor {self.who}, which is one process; see --executor ray"
            )
        if self.address and self.who != Who.ray:
            raise OptionError(
                f"got --address {self.address} with --executor {self.who}; an address is for --executor ray"
            )
        if self.address and self.workers:
            got = f"got --workers {self.workers} with --address {self.address}"
            raise OptionError(f"{got}: a running cluster has its own workers; leave one out")


def executor(choice: ExecutorChoice, threads: int, device: str) -> Executor:
    """The chosen executor, whose workers compute with this number of threads on this device.

    Raises:
        JobError: if the executor's library is not installed.
    """
    if choice.who == Who.ray:
        ray_library()
        return RayExecutor(threads, choice.workers, choice.address, int(device.startswith("cuda")))
    return LocalExecutor()
