"""``probing pull`` and ``probing push``: shared heads and runs."""

from pathlib import Path
from typing import Annotated

import typer

from probing.kernel.commands import RevisionOption
from probing.kernel.models.names import canonical_head
from probing.subjects import everything_shared


def shared(what: str | None) -> str | None:
    """The name of what is shared."""
    if what is not None and what not in everything_shared():
        raise typer.BadParameter(f"got {what}; expected one of {', '.join(everything_shared())}")
    return what


def push(
    what: Annotated[
        str,
        typer.Argument(
            callback=shared,
            help=(
                f"{', '.join(everything_shared())}: heads go to a model repository, runs on facts (predictions) and all"
                " other runs to a "
                "data set repository."
            ),
        ),
    ],
    model: Annotated[str, typer.Option(help="Registry name, hub id or folder; for predictions its name in `runs`.")],
    to: Annotated[str | None, typer.Option(help="Repository on the Hugging Face Hub: OWNER/NAME.")] = None,
    to_folder: Annotated[Path | None, typer.Option(help="Folder instead of the hub.")] = None,
    head: Annotated[str | None, typer.Option(help="Kinds of heads, separated by commas; none: all that exist.")] = None,
    runs: Annotated[
        list[Path] | None, typer.Option(help="Folder of runs; repeatable. None: cache/runs and the snapshot.")
    ] = None,
    base: Annotated[str | None, typer.Option(help="Base model whose head a headless model uses.")] = None,
    revision: RevisionOption = None,
    licence: Annotated[str | None, typer.Option(help="Licence on the card; none: the model's.")] = None,
    language: Annotated[str, typer.Option(help="Language of text or facts, in the hub's spelling.")] = "en",
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
) -> None:
    """Share heads, predictions, edge or sentence probing, lost facts and series with a card and every file's sha256;
    pushing the same again changes nothing.
    """
    if (to is None) == (to_folder is None):
        raise typer.BadParameter("got both or neither of --to OWNER/NAME and --to-folder DIR; expected one")
    from probing.sharing import push as workflow

    kinds = [canonical_head(kind.strip()) for kind in (head or "").split(",") if kind.strip()]
    known = workflow.heads_of(what)
    if unknown := sorted(set(kinds) - set(known)):
        raise typer.BadParameter(f"got head {', '.join(unknown)}; expected some of {', '.join(sorted(known))}")
    request = workflow.PushRequest(
        what, model, to, to_folder, private, kinds, runs or (), base, licence, language, revision
    )
    manifest, commit = workflow.push(request, typer.echo)
    size = sum(file.size for file in manifest.files)
    typer.echo(f"{what} of {manifest.model}: {len(manifest.files)} files, {size:,} bytes, at {to or to_folder}")
    typer.echo(f"download them with: python -m probing pull {request.where} --revision {commit}")


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
    """Download shared heads, predictions, edge or sentence probing, lost facts and series at one revision; every sha256
    is checked before anything is stored.
    """
    if (name is None) == (from_folder is None):
        raise typer.BadParameter("got both or neither of OWNER/NAME and --from-folder DIR; expected one")
    from probing.sharing.pull import PullRequest
    from probing.sharing.pull import pull as workflow

    workflow(PullRequest(name, from_folder, revision, what, out), typer.echo)
