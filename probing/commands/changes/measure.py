"""``probing changes measure``: attention, perplexity and similarity of states before and after fine-tuning."""

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
from probing.workflows.executors import Who


def measure(
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")],
    base: Annotated[str | None, typer.Option(help="Model that it was fine-tuned from; none: the recorded one.")] = None,
    blocks: Annotated[int, typer.Option(help="Blocks of WikiText-2's test text for perplexity; 0: no perplexity.", min=0)] = 300,
    replaced: Annotated[bool, typer.Option(help="Also measure perplexity with layers put back, most of the work.")] = True,
    sentences: Annotated[int, typer.Option(help="Maximum number of sentences for attention and similarity.", min=2)] = 400,
    text: Annotated[Path | None, typer.Option(help="File with one sentence per line; none: WikiText-2's test text.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of blocks, masks and intervals.", min=0)] = 0,
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
    """Measure attention, perplexity and similarity of states of a model and its base; resumable, does nothing the second time.

    It needs WikiText-2's raw test text: `fetch wikitext-2-raw` downloads it. A model that was not fine-tuned is measured alone.
    """
    from probing.workflows.changes import measure as workflow

    request = workflow.ChangesRequest(
        model=model,
        base=base,
        blocks=blocks,
        replaced=replaced,
        sentences=sentences,
        text=text,
        seed=seed,
        name=name,
        revision=revision,
        out=out,
        device=device,
        threads=threads,
        executor=chosen(who, workers, address, slurm),
    )
    with options_refused():
        workflow.measure_changes(request, typer.echo)
