"""The options that the requests of several commands share."""

from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated

from probing.kernel.options import Option, Options
from probing.kernel.requests import ExecutorChoice

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
