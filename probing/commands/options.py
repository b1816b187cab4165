"""The options of the executor and of reports, shared by several commands."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from probing.core.errors import OptionError, StoreError
from probing.workflows.executors import ExecutorChoice, Who


class Whose(StrEnum):
    """Executors of ``reproduce``."""

    local = "local"
    ray = "ray"


RevisionOption = Annotated[
    str | None, typer.Option(help="Branch, tag or commit of a model on the hub; none: what the registry pins, else its main branch.")
]
WhoOption = Annotated[Who, typer.Option("--executor", help="Where the work is done: this process, Ray's workers, or Slurm's jobs.")]
WhoseOption = Annotated[Whose, typer.Option("--executor", help="Where heads and probes are trained: this process, or Ray's workers.")]
WorkersOption = Annotated[
    int | None,
    typer.Option(help="Workers of a Ray started here (none: as many as fit), or jobs in Slurm's queue at a time (none: 4).", min=1),
]
AddressOption = Annotated[str | None, typer.Option(help="A running Ray cluster: auto or HOST:PORT; none starts one here.")]
SlurmOption = Annotated[
    list[str] | None,
    typer.Option(help="KEY=VALUE for Slurm: partition=gpu, mem_gb=16, timeout_min=60; cluster=local tries it here."),
]
ThreadsOption = Annotated[
    int | None, typer.Option(help="Processors per shard, part of a run's fingerprint; none: as many as torch uses here.", min=1, max=1024)
]


def chosen(who: str, workers: int | None, address: str | None, slurm: Sequence[str] | None = None) -> ExecutorChoice:
    """The executor of the options."""
    return ExecutorChoice(Who(who), workers, address, tuple(slurm or ()))


@contextmanager
def options_refused() -> Iterator[None]:
    """In this context, an ``OptionError`` of a workflow ends the command like any other wrong option: with its usage and exit code 2."""
    try:
        yield
    except OptionError as error:
        raise typer.BadParameter(str(error)) from None


def printed_or_written(text: str, out: Path | None, done: str) -> None:
    """Prints a report, or writes it to a file and prints ``done``.

    Raises:
        StoreError: if the file cannot be written.
    """
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error}; name another file with --out") from error
    typer.echo(done)
