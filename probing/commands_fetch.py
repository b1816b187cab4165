"""``probing fetch``: fetches data sets and models, from their owners or from local copies."""

from pathlib import Path
from typing import Annotated

import typer

from probing.kernel.commands import RevisionOption
from probing.kernel.fetch import fetch as bring
from probing.kernel.registry import read_registry


def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Data sets or models of the registry, or models of the hub (OWNER/NAME); none lists them."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Folder of local copies; nothing is downloaded.")
    ] = None,
    revision: RevisionOption = None,
) -> None:
    """Fetch data sets and models by name; files are checked by sha256 if the registry or the hub has one.

    A model of the hub goes to the hub's own cache, where every command finds it, also offline.
    """
    if names:
        bring(names, source, typer.echo, revision)
        return
    registry = read_registry()
    for entry in registry.data:
        typer.echo(f"{entry.name:<24} data   {entry.licence:<14} {entry.title}")
    for model in registry.models:
        typer.echo(f"{model.name:<24} model  {model.licence:<14} {'shipped' if model.shipped else model.source}")
