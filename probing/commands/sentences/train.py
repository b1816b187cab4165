"""``probing sentences train``: probes for every layer, pooling and task."""

from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import (
    AddressOption,
    RevisionOption,
    SlurmOption,
    ThreadsOption,
    WhoOption,
    WorkersOption,
    chosen,
    options_refused,
)
from probing.core.errors import OptionError
from probing.core.sentences.example import OURS, POOLINGS, PROTOCOLS, READINGS
from probing.workflows.executors import Who


def train(
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")],
    base: Annotated[str | None, typer.Option(help="The model that it was fine-tuned from, if that is not recorded.")] = None,
    tasks: Annotated[str, typer.Option(help="all, names separated by commas, or TSV, CSV or JSONL files with sentence and label.")] = "all",
    protocol: Annotated[str, typer.Option(help=f"{', '.join(PROTOCOLS)}: how sentences are split and probes are fitted.")] = OURS,
    pooling: Annotated[str, typer.Option(help=f"{', '.join(POOLINGS)}; several separated by commas.")] = ",".join(POOLINGS),
    readings: Annotated[
        str | None, typer.Option(help=f"{', '.join(READINGS)}; several separated by commas. None: all that are possible for the model.")
    ] = None,
    portions: Annotated[str, typer.Option(help="n for one in n of the training sentences; several separated by commas.")] = "1,4,16",
    predictions: Annotated[bool, typer.Option(help="Whether the prediction for each test sentence is stored.")] = True,
    codes: Annotated[bool, typer.Option(help="Whether the online code (minimum description length) is computed.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the MLP's start.", min=0)] = 0,
    name: Annotated[str | None, typer.Option(help="Name of the model in results; none: its registry name or its folder's.")] = None,
    revision: RevisionOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the results; none: cache/runs.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    who: WhoOption = Who.local,
    workers: WorkersOption = None,
    address: AddressOption = None,
    slurm: SlurmOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Train probes of every layer for whole sentences, also for a fine-tuned model's base; resumable, does nothing the second time.

    A task needs its data set: see `fetch`. A fine-tuned model is read by its own probes and by its base's: unchanged, on its own
    scale, and on top of a linear map without labels.
    """
    from probing.workflows.sentences import train as workflow

    with options_refused():
        request = workflow.SentencesRequest(
            model=model,
            tasks=_listed(tasks),
            protocol=protocol,
            poolings=_listed(pooling),
            readings=None if readings is None else _listed(readings),
            portions=_numbers(portions),
            predictions=predictions,
            codes=codes,
            seed=seed,
            base=base,
            name=name,
            revision=revision,
            out=out,
            device=device,
            threads=threads,
            executor=chosen(who, workers, address, slurm),
        )
        workflow.train_sentences(request, typer.echo)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in _listed(text))
    except ValueError:
        raise OptionError(f"got the portions {text!r}, expected numbers separated by commas, such as 1,4,16") from None
