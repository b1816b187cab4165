"""``probing counts``: keep of full runs what compact runs of the same question lack, or their counts alone."""

from pathlib import Path
from typing import Annotated

import typer


def counts(
    full: Annotated[list[Path], typer.Argument(help="Folders of full runs, made without --compact.")],
    out: Annotated[Path, typer.Option(help="Folder of the compact runs; their predictions stay as they are.")],
    new: Annotated[bool, typer.Option("--new", help="Of runs whose question --out does not have, keep the counts alone.")] = False,
) -> None:
    """Keep the counts with the swapped subject, by layer and relation, beside compact runs of the same weights, heads and facts.

    With --new a run that has no such counterpart in --out is kept there without its predictions: all counts by layer and relation.
    """
    from probing.workflows.share.swapped_counts import keep_counts

    kept = keep_counts(full, out, typer.echo, new)
    typer.echo(f"{len(kept)} runs in {out} have counts {'' if new else 'with the swapped subject '}now")
