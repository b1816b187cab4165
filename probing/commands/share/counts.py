"""``probing counts``: keep of full runs what compact runs of the same question lack."""

from pathlib import Path
from typing import Annotated

import typer


def counts(
    full: Annotated[list[Path], typer.Argument(help="Folders of full runs, made without --compact.")],
    out: Annotated[Path, typer.Option(help="Folder of the compact runs; their predictions stay as they are.")],
) -> None:
    """Keep of full runs the counts that compact runs of the same question lack.

    These are the counts with the swapped subject, by layer and relation.
    """
    from probing.workflows.share.swapped_counts import keep_counts

    kept = keep_counts(full, out, typer.echo)
    typer.echo(f"{len(kept)} runs in {out} have counts with the swapped subject now")
