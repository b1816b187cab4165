"""Who does the work of ``probe`` and ``train-heads``, and what workers elsewhere must be told."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from probing.core.errors import OptionError
from probing.core.paths import cache_folder
from probing.core.registry import read_registry
from probing.jobs.coordinator import Executor
from probing.jobs.local import LocalExecutor
from probing.jobs.on_ray import RayExecutor, ray_library
from probing.jobs.on_slurm import SlurmExecutor, slurm_library

#: What workers must have as the coordinator has it; folders are made absolute.
PASSED_ON = ("PROBING_CACHE", "PROBING_SNAPSHOT", "PROBING_REGISTRY", "HF_HUB_OFFLINE", "HF_HOME", "HF_HUB_CACHE")


class Who(StrEnum):
    """Kinds of executors."""

    local = "local"
    ray = "ray"
    slurm = "slurm"


@dataclass(frozen=True)
class ExecutorChoice:
    """Who computes.

    Attributes:
        who: this process, Ray's workers, or Slurm's jobs.
        workers: of a Ray started here, or jobs in Slurm's queue at a time; None leaves it to the executor.
        address: of a Ray cluster that is there; None starts one here.
        slurm: ``KEY=VALUE`` each.
    """

    who: Who = Who.local
    workers: int | None = None
    address: str | None = None
    slurm: tuple[str, ...] = ()

    def check(self) -> None:
        """Raises ``OptionError`` for an option of another executor, or one of Slurm that is not ``KEY=VALUE``."""
        if self.workers and self.who == Who.local:
            raise OptionError(f"got --workers {self.workers} with --executor {self.who}, which is one process; see --executor ray")
        if self.address and self.who != Who.ray:
            raise OptionError(f"got --address {self.address} with --executor {self.who}; an address is for --executor ray")
        if self.address and self.workers:
            got = f"got --workers {self.workers} with --address {self.address}"
            raise OptionError(f"{got}: a cluster that is there has its own; leave one out")
        if self.slurm and self.who != Who.slurm:
            raise OptionError(f"got --slurm {self.slurm[0]} with --executor {self.who}; its options are for --executor slurm")
        if strange := [option for option in self.slurm if not all(option.partition("="))]:
            raise OptionError(f"got --slurm {strange[0]}; expected KEY=VALUE, such as partition=gpu")


def executor(choice: ExecutorChoice, threads: int, device: str) -> Executor:
    """The executor chosen, its workers computing with so many threads on such a device.

    Raises:
        OptionError: as ``ExecutorChoice.check``.
        JobError: if the executor's library is not installed.
    """
    choice.check()
    cards = int(device.startswith("cuda"))
    if choice.who == Who.ray:
        ray_library()
        return RayExecutor(threads, choice.workers, choice.address, cards)
    if choice.who == Who.slurm:
        slurm_library()
        options = dict(option.split("=", 1) for option in choice.slurm)
        if cards:
            options.setdefault("gpus_per_node", str(cards))
        return SlurmExecutor(threads, choice.workers or 4, options)
    return LocalExecutor()


def passed_on() -> dict[str, str]:
    """The coordinator's environment as far as results are found by it."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    absolute = {name: str(Path(value).absolute()) for name, value in kept.items() if name.startswith("PROBING_")}
    return kept | absolute | {"PROBING_CACHE": str(cache_folder().absolute())}


def same_path(model: str) -> str:
    """A model as workers must call it, which start in another folder: a path is made absolute, a name stays."""
    if any(entry.name == model for entry in read_registry().models) or (cache_folder() / "models" / model / "config.json").is_file():
        return model
    folder = Path(model).expanduser()
    return str(folder.absolute()) if folder.is_dir() else model
