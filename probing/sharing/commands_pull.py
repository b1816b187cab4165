"""``probing pull``: download shared heads, predictions or probes."""

from pathlib import Path
from typing import Annotated

import typer

from probing.sharing.commands import shared


def pull(
    name: Annotated[str | None, typer.Argument(help="Repository on the Hugging Face Hub: OWNER/NAME.")] = None,
    from_folder: Annotated[Path | None, typer.Option(help="Folder instead of the hub.")] = None,
    revision: Annotated[
        str | None,
        typer.Option(help="Commit to pull; none: the one that was pulled before, else the newest, which is printed."),
    ] = None,
    what: Annotated[
        str | None, typer.Option(callback=shared, help="Which kind, if both kinds of repository have this name.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder in which runs get a folder of their own; none: cache/shared.")
    ] = None,
) -> None:
    """Download shared heads, predictions, edge or sentence probing at one revision; every sha256 is checked before
    anything is stored.
    """
    if (name is None) == (from_folder is None):
        raise typer.BadParameter("got both or neither of OWNER/NAME and --from-folder DIR; expected one")
    from probing.sharing import pull as workflow

    workflow.pull(workflow.PullRequest(name, from_folder, revision, what, out), typer.echo)
