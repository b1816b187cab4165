"""Where the work of a command is done, and what workers elsewhere need to know."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from probing.core.errors import OptionError
from probing.core.options import Option, Options
from probing.core.paths import cache_folder
from probing.core.registry import read_registry
from probing.jobs.coordinator import Executor
from probing.jobs.local import LocalExecutor
from probing.jobs.on_ray import RayExecutor, ray_library

#: Variables that workers get from the coordinator; folders are made absolute.
PASSED_ON = ("PROBING_CACHE", "PROBING_SNAPSHOT", "PROBING_REGISTRY", "HF_HUB_OFFLINE", "HF_HOME", "HF_HUB_CACHE")


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


def passed_on() -> dict[str, str]:
    """The coordinator's environment variables that decide where results are found."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    absolute = {name: str(Path(value).absolute()) for name, value in kept.items() if name.startswith("PROBING_")}
    return kept | absolute | {"PROBING_CACHE": str(cache_folder().absolute())}


def same_path(model: str) -> str:
    """A model's name for workers, which start in another folder: a path is made absolute, a name stays."""
    if (
        any(entry.name == model for entry in read_registry().models)
        or (cache_folder() / "models" / model / "config.json").is_file()
    ):
        return model
    folder = Path(model).expanduser()
    return str(folder.absolute()) if folder.is_dir() else model
