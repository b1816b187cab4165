"""``probing counts``: add counts of full runs to equivalent compact runs, or keep only the counts of full runs."""

from pathlib import Path
from typing import Annotated

import typer


def counts(
    full: Annotated[list[Path], typer.Argument(help="Folders of full runs, made without --compact.")],
    out: Annotated[Path, typer.Option(help="Folder of the compact runs; their predictions stay unchanged.")],
    new: Annotated[bool, typer.Option("--new", help="Keep only the counts of runs that have no counterpart in --out.")] = False,
) -> None:
    """Add the counts of full runs to equivalent compact runs, which lack them.

    These are the counts with the swapped subject, by layer and relation. With --new a run without a compact counterpart is kept without
    its predictions: all its counts by layer and relation.
    """
    from probing.workflows.share.swapped_counts import keep_counts

    kept = keep_counts(full, out, typer.echo, new)
    typer.echo(f"{len(kept)} runs in {out} got counts{'' if new else ' with the swapped subject'}")
