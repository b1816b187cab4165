"""``probing pull``: take heads or predictions that somebody shared."""

import json
import re
import shutil
from pathlib import Path
from typing import Annotated

import typer

from probing.commands.share.push import Shared
from probing.core.errors import HubError
from probing.core.files.atomic import write_whole
from probing.core.files.locks import one_at_a_time
from probing.core.files.share_manifest import MANIFEST, SharedManifest, read_manifest, refuse_damage, refuse_strangers
from probing.core.paths import cache_folder, database_folder, result_folders, runs_folder


def pull(
    name: Annotated[str | None, typer.Argument(help="Repository on the Hugging Face Hub: OWNER/NAME.")] = None,
    from_folder: Annotated[Path | None, typer.Option(help="Folder instead of the hub.")] = None,
    revision: Annotated[
        str | None, typer.Option(help="Commit to take; none: the one that was taken before, else the newest, which is printed.")
    ] = None,
    what: Annotated[Shared | None, typer.Option(help="Which, where a name stands for both kinds of repository.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the runs; none: cache/runs.")] = None,
) -> None:
    """Take shared heads or predictions at one revision; every sha256 is checked before anything is placed."""
    from probing.store.build import build_database
    from probing.workflows.share.hub import LocalFolder

    if (name is None) == (from_folder is None):
        raise typer.BadParameter("got both or neither of OWNER/NAME and --from-folder DIR; expected one")
    place = LocalFolder(from_folder) if from_folder else _repository(str(name), what)
    called = name if from_folder is None else f"folder-{from_folder.resolve()}"
    key = re.sub(r"[^A-Za-z0-9._-]+", "--", str(called)) + (f"-{what.value}" if what else "")
    hub = cache_folder() / "hub"
    with one_at_a_time(hub / "incoming" / f"{key}.lock"):
        note = hub / "pulled" / f"{key}.json"
        pinned = revision or _pinned(note)
        commit = place.resolve(pinned)
        typer.echo(f"{place.title} at {pinned or 'the newest revision'}: commit {commit}")
        incoming = hub / "incoming" / key / commit
        manifest = _bring(place, commit, incoming)
        if what is not None and manifest.what != what.value:
            raise HubError(f"{place.title} holds {manifest.what}, asked are {what.value}")
        placed = _place(manifest, incoming, place.title, out)
        pin = {"from": place.title, "commit": commit, "what": manifest.what, "model": manifest.model}
        pin["files"] = {file.path: file.sha256 for file in manifest.files}
        write_whole(note, json.dumps(pin, indent=1) + "\n")
        shutil.rmtree(hub / "incoming" / key, ignore_errors=True)
    for path in placed:
        typer.echo(f"  {path}")
    typer.echo(f"{manifest.what} of {manifest.model}: {len(manifest.content)} files checked; pinned in {note}")
    if manifest.what == "predictions" and out is None:
        build_database(result_folders(), database_folder())


def _bring(place, commit: str, incoming: Path) -> SharedManifest:
    """Brings a commit's files and checks names and sums; what is damaged is refused by name."""
    names = place.names(commit)
    if MANIFEST not in names:
        raise HubError(f"{place.title} has no {MANIFEST} at {commit}; expected what `probing push` wrote")
    place.bring(commit, [MANIFEST], incoming)
    try:
        manifest = read_manifest(incoming / MANIFEST)
    except HubError:
        shutil.rmtree(incoming, ignore_errors=True)
        raise
    refuse_strangers([found for found in names if found != MANIFEST], manifest, place.title)
    place.bring(commit, [file.path for file in manifest.files], incoming)
    refuse_damage(incoming, manifest, place.title)
    return manifest


def _place(manifest: SharedManifest, incoming: Path, title: str, out: Path | None) -> list[Path]:
    if manifest.what == "heads":
        from probing.workflows.share.heads import check_heads, place_heads

        check_heads(incoming, manifest, title)
        return place_heads(incoming, manifest, cache_folder())
    from probing.workflows.share.run_checks import check_runs
    from probing.workflows.share.runs import place_runs

    check_runs(incoming, manifest, title)
    target = out or runs_folder()
    place_runs(incoming, manifest, target)
    return [target]


def _pinned(note: Path) -> str | None:
    """The commit that was taken before, so that a second pull takes the same unless told otherwise."""
    if not note.is_file():
        return None
    try:
        return str(json.loads(note.read_text(encoding="utf-8"))["commit"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HubError(f"{note} is not what `probing pull` writes ({error!r}); delete it") from error


def _repository(name: str, what: Shared | None):
    from probing.workflows.share.hub import HubRepository

    if what is not None:
        return HubRepository(name, what.value)
    both = [HubRepository(name, kind.value) for kind in Shared]
    found = [repository for repository in both if repository.exists()]
    if len(found) != 1:
        got = "both a model and a data set repository" if found else "no repository"
        advice = "say which with --what heads or --what predictions" if found else "check the name; a private one needs `hf auth login`"
        raise HubError(f"the hub has {got} called {name}; {advice}")
    return found[0]
