"""``probing check``: verifies data and runs."""

from pathlib import Path
from typing import Annotated

import typer


def check(
    runs: Annotated[
        list[Path] | None, typer.Option(help="Folder of runs; repeatable. None: the snapshot and cache/runs.")
    ] = None,
) -> None:
    """Verify facts, data, models, heads, probes and runs, file by file; list the problems and exit with 1."""
    from probing.check import check as verify

    problems: list[str] = []
    for title, faults in verify(runs or (), lambda title: typer.echo(title, err=True)):
        typer.echo(f"{'ok ' if not faults else 'BAD'} {title}")
        problems += faults
    for problem in problems:
        typer.echo(f"  - {problem}", err=True)
    if problems:
        raise typer.Exit(1)
