"""``probing reproduce``: from a family's name to the tables of the paper, in one command that can be killed and called again."""

from pathlib import Path
from typing import Annotated

import typer

from probing.commands.options import AddressOption, Whose, WhoseOption, WorkersOption, chosen, options_refused
from probing.core.head_kinds import HEADS
from probing.workflows.reproduction.stage import Stage


def reproduce(
    family: Annotated[str, typer.Option(help="A family of the registry.")] = "bert-base",
    heads: Annotated[str, typer.Option(help=f"Kinds of heads, separated by commas: {', '.join(HEADS)}.")] = "tied,lens",
    facts: Annotated[str, typer.Option(help="As probe takes them; a LAMA folder is asked in its own templates.")] = "all",
    out: Annotated[Path | None, typer.Option(help="Folder of the tables; none: cache/reproduction/FAMILY.")] = None,
    only: Annotated[Stage | None, typer.Option(help="One stage instead of all.")] = None,
    source: Annotated[Path | None, typer.Option("--from", help="Folder of local copies; nothing is downloaded.")] = None,
    own: Annotated[bool, typer.Option("--own", help="Fine-tune every model here, also those that the hub serves.")] = False,
    text: Annotated[Path | None, typer.Option(help="Text that heads learn from; none: the fetched WikiText-2.")] = None,
    valid: Annotated[Path | None, typer.Option(help="Text that heads are validated on; none: the fetched WikiText-2.")] = None,
    steps: Annotated[int | None, typer.Option(help="Fine-tuning steps; none: each objective's own epochs.", min=1)] = None,
    tokens: Annotated[int | None, typer.Option(help="Padded tokens a fine-tuning step instead of rows a step.", min=1)] = None,
    pieces: Annotated[int | None, typer.Option(help="Longest fine-tuning input in word pieces.", min=16)] = None,
    positions: Annotated[int, typer.Option(help="Masked positions that heads learn from.", min=1)] = 30_000,
    epochs: Annotated[int, typer.Option(help="Passes of the heads over them.", min=1)] = 3,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    who: WhoseOption = Whose.local,
    workers: WorkersOption = None,
    address: AddressOption = None,
) -> None:
    """Fetch, fine-tune what no hub model serves, train heads, probe, build, write the tables; resumable, skips what is done."""
    from probing.workflows.finetune import TrainingLength
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
    with options_refused():
        run(request, only, typer.echo)
