"""``probing probe``: probe every layer of a model with every fact, and store the predictions."""

from enum import StrEnum
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
from probing.core.head_kinds import listed
from probing.core.knowledge.swapped import OF_0_2_WITHOUT_THE_ANSWER, WITHOUT_THE_ANSWER
from probing.workflows.executors import Who


class SwappedAs(StrEnum):
    """Rules that choose swapped subjects."""

    now = "now"
    as_in_0_2 = "0.2"


_RULES = {SwappedAs.now: WITHOUT_THE_ANSWER, SwappedAs.as_in_0_2: OF_0_2_WITHOUT_THE_ANSWER}


def probe(
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder.")],
    facts: Annotated[
        str, typer.Option(help="trex, google_re, common_sense, questions, all; a LAMA folder; or a .jsonl or .csv file.")
    ] = "all",
    head: Annotated[str | None, typer.Option(help=f"{listed()}; none: tied or, if none are trained, logit_lens.")] = None,
    called: Annotated[str | None, typer.Option("--as", help="Name of the probe set of your own facts; none: the file's name.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the runs; none: cache/runs.")] = None,
    templates: Annotated[str | None, typer.Option(help="Template set; none: a LAMA folder's own, else default.")] = None,
    top: Annotated[int, typer.Option(help="Number of best tokens to keep per fact and layer.", min=1)] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the heads; from 1 on a replicate, of the last layer only.", min=0)] = 0,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model uses.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the model in results; none: its registry name or its folder's.")] = None,
    revision: RevisionOption = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    double: Annotated[bool, typer.Option("--float64", help="Compute in float64.")] = False,
    shard: Annotated[int, typer.Option(help="Facts per shard; a killed run repeats the shards in progress.", min=1)] = 2048,
    compact: Annotated[bool, typer.Option("--compact", help="A third of the size: rounded, best token only, no swapped subject.")] = False,
    swapped_as: Annotated[
        SwappedAs, typer.Option(help="Rule of the swapped subjects; 0.2: those of runs of version 0.2, for comparison fact by fact.")
    ] = SwappedAs.now,
    who: WhoOption = Who.local,
    workers: WorkersOption = None,
    address: AddressOption = None,
    slurm: SlurmOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Probe every layer of a model; resumable, does nothing the second time, equal runs have equal bytes.

    A killed run resumes under any executor: the fingerprint and the bytes do not depend on the executor.
    """
    if compact and swapped_as is not SwappedAs.now:
        raise typer.BadParameter("got --compact and --swapped-as; a compact run has no swapped subject: leave one of them out")
    from probing.workflows.knowledge import probe as workflow

    request = workflow.ProbeRequest(
        model=model,
        facts=facts,
        head=head,
        called=called,
        out=out,
        templates=templates,
        top=top,
        seed=seed,
        base=base,
        name=name,
        revision=revision,
        device=device,
        double=double,
        shard=shard,
        compact=compact,
        lenders=_RULES[swapped_as],
        threads=threads,
        executor=chosen(who, workers, address, slurm),
    )
    with options_refused():
        workflow.probe(request, typer.echo)
