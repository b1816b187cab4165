"""The options that say who does the work, shared by the commands that can hand it out."""

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing.core.paths import cache_folder
from probing.core.registry import read_registry
from probing.jobs.coordinator import Executor
from probing.jobs.local import LocalExecutor
from probing.jobs.on_ray import RayExecutor, ray_library
from probing.jobs.on_slurm import SlurmExecutor, slurm_library


class Who(StrEnum):
    """Executors of ``probe`` and ``train-heads``."""

    local = "local"
    ray = "ray"
    slurm = "slurm"


class Whose(StrEnum):
    """Executors of ``reproduce``."""

    local = "local"
    ray = "ray"


WhoOption = Annotated[Who, typer.Option("--executor", help="Who computes: this process, Ray's workers, or Slurm's jobs.")]
WhoseOption = Annotated[Whose, typer.Option("--executor", help="Who trains heads and probes: this process, or Ray's workers.")]
WorkersOption = Annotated[
    int | None,
    typer.Option(help="Workers of a Ray started here (none: as many as fit), or jobs in Slurm's queue at a time (none: 4).", min=1),
]
AddressOption = Annotated[str | None, typer.Option(help="A Ray cluster that is there: auto or HOST:PORT; none starts one here.")]
SlurmOption = Annotated[
    list[str] | None,
    typer.Option(help="KEY=VALUE for Slurm: partition=gpu, mem_gb=16, timeout_min=60; cluster=local tries it here."),
]
ThreadsOption = Annotated[
    int | None, typer.Option(help="Processors of a shard, part of a run's fingerprint; none: as many as torch takes here.", min=1, max=1024)
]

#: What workers must have as the coordinator has it; folders are made absolute.
PASSED_ON = ("PROBING_CACHE", "PROBING_SNAPSHOT", "PROBING_REGISTRY", "HF_HUB_OFFLINE", "HF_HOME", "HF_HUB_CACHE")


def executor(
    who: str, threads: int, device: str, workers: int | None = None, address: str | None = None, slurm: Sequence[str] | None = None
) -> Executor:
    """The executor that the options name.

    Raises:
        BadParameter: for an option of another executor, or one of Slurm that is not KEY=VALUE.
        JobError: if the executor's library is not installed.
    """
    if workers and who == Who.local:
        raise typer.BadParameter(f"got --workers {workers} with --executor {who}, which is one process; see --executor ray")
    if address and who != Who.ray:
        raise typer.BadParameter(f"got --address {address} with --executor {who}; an address is for --executor ray")
    if address and workers:
        raise typer.BadParameter(f"got --workers {workers} with --address {address}: a cluster that is there has its own; leave one out")
    if slurm and who != Who.slurm:
        raise typer.BadParameter(f"got --slurm {slurm[0]} with --executor {who}; its options are for --executor slurm")
    if strange := [option for option in slurm or () if not all(option.partition("="))]:
        raise typer.BadParameter(f"got --slurm {strange[0]}; expected KEY=VALUE, such as partition=gpu")
    cards = int(device.startswith("cuda"))
    if who == Who.ray:
        ray_library()
        return RayExecutor(threads, workers, address, cards)
    if who == Who.slurm:
        slurm_library()
        options = dict(option.split("=", 1) for option in slurm or ())
        if cards:
            options.setdefault("gpus_per_node", str(cards))
        return SlurmExecutor(threads, workers or 4, options)
    return LocalExecutor()


def passed_on() -> dict[str, str]:
    """The coordinator's environment as far as results are found by it."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    absolute = {name: str(Path(value).absolute()) for name, value in kept.items() if name.startswith("PROBING_")}
    return kept | absolute | {"PROBING_CACHE": str(cache_folder().absolute())}


def set_threads(threads: int | None) -> int:
    """Lets torch compute with that many threads, and says with how many it does."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    return torch.get_num_threads()


def same_path(model: str) -> str:
    """A model as workers must call it, which start in another folder: a path is made absolute, a name stays."""
    if any(entry.name == model for entry in read_registry().models) or (cache_folder() / "models" / model / "config.json").is_file():
        return model
    folder = Path(model).expanduser()
    return str(folder.absolute()) if folder.is_dir() else model
