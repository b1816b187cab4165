"""``probing edges train``: probes for every layer and task."""

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
from probing.core.edges.encoders import CUMULATIVE, ENCODERS, KINDS, LABELS, TASK, TRAINED
from probing.workflows.executors import Who


def train(
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")],
    tasks: Annotated[str, typer.Option(help="all, names separated by commas, or folders in jiant's format.")] = "all",
    kinds: Annotated[str, typer.Option(help=f"{', '.join(KINDS)}; several separated by commas.")] = CUMULATIVE,
    labels: Annotated[str, typer.Option(help=f"{', '.join(LABELS)}; several separated by commas.")] = TASK,
    encoder: Annotated[str, typer.Option(help=f"{', '.join(ENCODERS)}.")] = TRAINED,
    codes: Annotated[bool, typer.Option("--codes", help="Also compute the online code (minimum description length).")] = False,
    seeds: Annotated[int, typer.Option(help="Number of seeds.", min=1)] = 1,
    width: Annotated[int, typer.Option(help="Width of a probe; the authors' is 256.", min=1)] = 256,
    rate: Annotated[float, typer.Option(help="Learning rate at the start; the authors' is 0.0001.")] = 1e-3,
    batch: Annotated[int, typer.Option(help="Sentences per step.", min=1)] = 32,
    check_every: Annotated[int, typer.Option(help="Steps from one check on the development part to the next; 0: half a pass.", min=0)] = 0,
    most_checks: Annotated[int, typer.Option(help="Maximum number of checks of a probe.", min=1)] = 20,
    patience: Annotated[int, typer.Option(help="Checks in a row without a better F1 that end a probe.", min=1)] = 5,
    halve_after: Annotated[int, typer.Option(help="Checks in a row without a better F1 that halve its learning rate.", min=1)] = 2,
    states_dtype: Annotated[str, typer.Option(help="Format of hidden states on disk: float16 or float32.")] = "float16",
    predictions: Annotated[bool, typer.Option(help="Whether predictions for single targets are stored.")] = True,
    probe_bits: Annotated[int, typer.Option(help="Bits per weight of the probes that Live uses: 16, 8 or 6.")] = 16,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model uses.")] = None,
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
    """Train probes of every layer for edge probing tasks and store their predictions; resumable, does nothing the second time.

    A task needs its data set: see `fetch`. Without options, cumulative probes P(0)..P(L) with one seed.
    """
    from probing.models.edges.recipe import EdgeRecipe
    from probing.workflows.edges import train as workflow

    request = workflow.EdgesRequest(
        model=model,
        tasks=_listed(tasks),
        kinds=_listed(kinds),
        labels=_listed(labels),
        encoder=encoder,
        codes=codes,
        seeds=seeds,
        recipe=EdgeRecipe(
            width=width,
            learning_rate=rate,
            batch=batch,
            check_every=check_every,
            most_checks=most_checks,
            patience=patience,
            halve_after=halve_after,
            states_dtype=states_dtype,
        ),
        predictions=predictions,
        probe_bits=probe_bits,
        base=base,
        name=name,
        revision=revision,
        out=out,
        device=device,
        threads=threads,
        executor=chosen(who, workers, address, slurm),
    )
    with options_refused():
        workflow.train_edges(request, typer.echo)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
