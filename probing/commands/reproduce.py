"""``probing reproduce``: from a family's name to the tables of a paper, in one resumable command."""

from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import AddressOption, Whose, WhoseOption, WorkersOption, chosen, options_refused
from probing.core.errors import OptionError
from probing.core.head_kinds import HEADS
from probing.core.sentences.example import OURS, PROTOCOLS
from probing.workflows.reproduction.stage import Paper, Stage

#: Paper -> options that only some papers use.
_OWN = {
    Paper.bertnesia: ("heads", "facts", "own", "text", "valid", "steps", "tokens", "pieces", "positions", "epochs"),
    Paper.edge_probing: ("tasks", "seeds"),
    Paper.interplay: ("tasks", "steps", "tokens", "pieces", "protocol", "blocks", "sentences"),
}


def reproduce(
    context: typer.Context,
    paper: Annotated[Paper, typer.Option(help="Which paper is reproduced.")] = Paper.bertnesia,
    family: Annotated[str, typer.Option(help="A family of the registry.")] = "bert-base",
    heads: Annotated[str, typer.Option(help=f"Kinds of heads, separated by commas: {', '.join(HEADS)}.")] = "tied,logit_lens",
    facts: Annotated[str, typer.Option(help="As for probe; a LAMA folder is probed in its own templates.")] = "all",
    out: Annotated[Path | None, typer.Option(help="Folder of the tables; none: below cache/reproduction.")] = None,
    only: Annotated[Stage | None, typer.Option(help="One stage instead of all.")] = None,
    source: Annotated[Path | None, typer.Option("--from", help="Folder of local copies; nothing is downloaded.")] = None,
    own: Annotated[bool, typer.Option("--own", help="Fine-tune every model here, even those that the hub has.")] = False,
    text: Annotated[Path | None, typer.Option(help="Training text of the heads; none: the fetched WikiText-2.")] = None,
    valid: Annotated[Path | None, typer.Option(help="Validation text of the heads; none: the fetched WikiText-2.")] = None,
    steps: Annotated[int | None, typer.Option(help="Fine-tuning steps; none: each objective's own epochs.", min=1)] = None,
    tokens: Annotated[int | None, typer.Option(help="Padded tokens per fine-tuning step instead of rows per step.", min=1)] = None,
    pieces: Annotated[int | None, typer.Option(help="Longest fine-tuning input in word pieces.", min=16)] = None,
    positions: Annotated[int, typer.Option(help="Masked positions that heads learn from.", min=1)] = 30_000,
    epochs: Annotated[int, typer.Option(help="Passes of the heads over their positions.", min=1)] = 3,
    tasks: Annotated[
        str, typer.Option(help="Probing tasks, separated by commas, or all; for edge probing also folders in jiant's format.")
    ] = "all",
    seeds: Annotated[int, typer.Option(help="Number of seeds of edge probing.", min=1)] = 1,
    protocol: Annotated[str, typer.Option(help=f"For sentence probing: {', '.join(PROTOCOLS)}.")] = OURS,
    blocks: Annotated[int, typer.Option(help="Blocks of text for perplexity; 0: none.", min=0)] = 300,
    sentences: Annotated[int, typer.Option(help="Maximum number of sentences for attention.", min=2)] = 400,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    who: WhoseOption = Whose.local,
    workers: WorkersOption = None,
    address: AddressOption = None,
) -> None:
    """Fetch, train missing models, probe, build, write the tables of a paper; resumable, skips finished steps."""
    with options_refused():
        _refuse_options_of_others(context, paper)
        if paper == Paper.edge_probing:
            from probing.core.edges.tasks import ALL
            from probing.workflows.reproduction.edges import ReproduceEdgesRequest, reproduce_edges

            given = tuple(task.strip() for task in tasks.split(",") if task.strip())
            names = ALL if given == ("all",) else given
            wanted = ReproduceEdgesRequest(family, names, out, source, seeds, device, chosen(who, workers, address))
            reproduce_edges(wanted, only, typer.echo)
            return
        from probing.workflows.requests.finetune import TrainingLength

        if paper == Paper.interplay:
            from probing.workflows.reproduction.interplay import Measuring, ReproduceInterplayRequest, reproduce_interplay

            given = tuple(task.strip() for task in tasks.split(",") if task.strip())
            reproduce_interplay(
                ReproduceInterplayRequest(
                    family=family, tasks=given, measuring=Measuring(protocol, blocks, sentences), out=out, source=source,
                    tuning=TrainingLength(steps=steps, tokens=tokens, pieces=pieces), device=device,
                    executor=chosen(who, workers, address),
                ),
                only, typer.echo,
            )  # fmt: skip
            return
        from probing.workflows.reproduction.plan import HeadTraining, ReproduceRequest
        from probing.workflows.reproduction.stages import reproduce as run

        kinds = tuple(kind.strip() for kind in heads.split(",") if kind.strip())
        request = ReproduceRequest(
            family=family,
            facts=facts,
            out=out,
            source=source,
            own=own,
            tuning=TrainingLength(steps=steps, tokens=tokens, pieces=pieces),
            heads=HeadTraining(kinds, text, valid, positions, epochs),
            device=device,
            executor=chosen(who, workers, address),
        )
        run(request, only, typer.echo)


def _refuse_options_of_others(context: typer.Context, paper: Paper) -> None:
    """Refuses an option that this paper's reproduction does not use, instead of ignoring it."""
    for other, names in _OWN.items():
        others = [name for name in names if name not in _OWN[paper]]
        given = [name for name in others if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]
        if given:
            raise OptionError(f"got --{given[0]}, which is an option of --paper {other} and not of --paper {paper}")
