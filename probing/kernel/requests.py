"""Options that the requests of several commands share, and where the work of a command is done."""

from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import PlainSerializer

from probing.kernel.errors import OptionError
from probing.kernel.jobs.ray import RayExecutor, ray_library
from probing.kernel.jobs.shards import Executor, LocalExecutor
from probing.kernel.models.names import LOGIT_LENS
from probing.kernel.options import Option, Options
from probing.kernel.provenance import Provenance


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
    """The chosen executor, whose workers compute with this number of threads on this device."""
    if choice.who == Who.ray:
        ray_library()
        return RayExecutor(threads, choice.workers, choice.address, int(device.startswith("cuda")))
    return LocalExecutor()


#: The model that ships, which is asked if none is named.
SHIPPED = "nesia-mini"
ModelName = Annotated[str, Option("Registry name, hub id or folder.")]
TunedFrom = Annotated[str | None, Option("The model that it was fine-tuned from, if that is not recorded.")]


@dataclass(frozen=True)
class OfModel(Options):
    """A model, and how it is opened. Every field's annotation has its description."""

    model: ModelName
    _: KW_ONLY
    base: Annotated[str | None, Option("Base model whose head a headless model uses.")] = None
    revision: Annotated[
        str | None,
        Option("Branch, tag or commit of a model on the hub; none: what the registry pins, else its main branch."),
    ] = None
    device: Annotated[str, Option("auto, cpu, cuda or mps.")] = "auto"


@dataclass(frozen=True)
class LongWork(OfModel):
    """What is made for a model and stored: where, and who does the work."""

    _: KW_ONLY
    name: Annotated[str | None, Option("Name of the model in results; none: its registry name or its folder's.")] = None
    out: Annotated[Path | None, Option("Folder of the results; none: cache/runs.")] = None
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)
    threads: Annotated[
        int | None,
        Option(
            "Processors per shard, part of a run's fingerprint; none: as many as torch uses here.", least=1, most=1024
        ),
    ] = None


@dataclass(frozen=True)
class StoredRuns(LongWork):
    """Runs of a model."""


class FactsConfig(Provenance):
    """What decides the result of any run that asks facts; ``head`` is one of ``HEADS``."""

    #: In the JSON that ids are made from, the logit lens is called ``lens``: stored runs keep their ids.
    head: Annotated[str, PlainSerializer(lambda head: "lens" if head == LOGIT_LENS else head)]
    probe_set: str
    template_set: str
    facts_sha256: str
    shard: int

    @property
    def run_id(self) -> str:
        """Its fingerprint."""
        return self.fingerprint
