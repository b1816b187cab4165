"""``probing build``: of earlier versions; results are read where they are stored."""

import typer


def build() -> None:
    """Nothing to build: pages and reports read the result files. This command goes with version 1.0."""
    typer.echo("nothing to build: pages and reports read the result files themselves")
