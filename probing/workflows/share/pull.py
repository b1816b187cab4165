"""Downloads shared heads, predictions or probes; every sha256 is checked before anything is stored."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probing.core.capabilities.registry import HEADS, everything_shared
from probing.core.errors import HubError
from probing.core.files.atomic import atomic_text
from probing.core.files.locks import exclusive_lock
from probing.core.paths import cache_folder, result_folders, runs_folder
from probing.store.check import check_store
from probing.store.counts import write_counts
from probing.store.kinds import FACTS, KINDS
from probing.store.parquet import read_table
from probing.store.schema import TABLES
from probing.store.sources import files_of
from probing.workflows.output import Say
from probing.workflows.share.heads import check_heads, place_heads
from probing.workflows.share.hub import HubRepository, LocalFolder
from probing.workflows.share.manifest import (
    DATA,
    MANIFEST,
    SharedManifest,
    read_manifest,
    refuse_damage,
    refuse_strangers,
)
from probing.workflows.share.pull_refusals import check_results
from probing.workflows.share.runs import place_runs


@dataclass(frozen=True)
class PullRequest:
    """The shared files to pull.

    Attributes:
        name: repository on the hub, OWNER/NAME; or None with
        folder: a folder instead of the hub.
        revision: commit to pull; None: the one that was pulled before, else the newest.
        what: the content, if both kinds of repository have this name; a data set holds runs.
        out: folder of the runs; None: ``cache/runs``.
    """

    name: str | None = None
    folder: Path | None = None
    revision: str | None = None
    what: str | None = None
    out: Path | None = None


def pull(request: PullRequest, say: Say = print) -> None:
    """Pulls shared heads or results at one revision; results that are stored in the usual folder are on the pages.

    Args:
        request: the remote, by name or folder.
        say: called with a line for each step.

    Raises:
        HubError: if it is missing, not written by ``push``, damaged, or of another kind than requested.
    """
    what, folder = request.what, request.folder
    place = LocalFolder(folder) if folder else repository(str(request.name), what)
    called = f"folder-{folder.resolve()}" if folder else request.name
    key = re.sub(r"[^A-Za-z0-9._-]+", "--", str(called)) + (f"-{what}" if what else "")
    hub = cache_folder() / "hub"
    with exclusive_lock(hub / "incoming" / f"{key}.lock"):
        note = hub / "pulled" / f"{key}.json"
        pinned = request.revision or _pinned(note)
        commit = place.resolve(pinned)
        say(f"{place.title} at {pinned or 'the newest revision'}: commit {commit}")
        incoming = hub / "incoming" / key / commit
        manifest = _bring(place, commit, incoming)
        if what is not None and manifest.what != what:
            raise HubError(f"{place.title} holds {manifest.what}, expected {what}")
        placed = _place(manifest, incoming, place.title, request.out)
        pin: dict[str, Any] = {"from": place.title, "commit": commit, "what": manifest.what, "model": manifest.model}
        pin["files"] = {file.path: file.sha256 for file in manifest.files}
        atomic_text(note, json.dumps(pin, indent=1) + "\n")
        shutil.rmtree(hub / "incoming" / key, ignore_errors=True)
    for path in placed:
        say(f"  {path}")
    say(f"{manifest.what} of {manifest.model}: {len(manifest.content)} files checked; pinned in {note}")


def _bring(place: LocalFolder | HubRepository, commit: str, incoming: Path) -> SharedManifest:
    """Downloads a commit's files and checks names and checksums; the error names a damaged file."""
    names = place.names(commit)
    if MANIFEST not in names:
        raise HubError(f"{place.title} has no {MANIFEST} at {commit}; expected files that `probing push` wrote")
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
    if manifest.what == HEADS:
        check_heads(incoming, manifest, title)
        return place_heads(incoming, manifest, cache_folder())
    check_results(incoming, manifest, title)
    _count(incoming / DATA)
    _refuse_faulty(incoming / DATA, title)
    target = out or runs_folder()
    place_runs(incoming / DATA, target)
    return [target]


def _count(folder: Path) -> None:
    """Counts the runs that an earlier version of the program has pushed without counts."""
    for kind in KINDS.values():
        rows = [row for path in files_of(kind.runs, folder) for row in read_table(path, kind.runs).to_pylist()]
        for row in rows:
            # What a base's text states of each fact is known where it was counted, and may be unknown here.
            if kind.name != FACTS or not (folder / TABLES["known"].file_name(row)).is_file():
                write_counts(kind, row, folder, result_folders())


def _refuse_faulty(folder: Path, title: str) -> None:
    """Raises a ``HubError`` if something is wrong with the incoming files, whose sha256 is checked."""
    if problems := check_store([folder]):
        raise HubError(f"{title} cannot be pulled: {problems[0]}; nothing was taken")


def _pinned(note: Path) -> str | None:
    """The commit that was pulled before, so that a second pull without a revision takes the same."""
    if not note.is_file():
        return None
    try:
        return str(json.loads(note.read_text(encoding="utf-8"))["commit"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HubError(f"{note} was not written by `probing pull` ({error!r}); delete it") from error


def repository(name: str, what: str | None) -> HubRepository:
    """The repository of that name on the hub.

    Raises:
        HubError: if there is none, or a model and a data set repository have it and ``what`` does not choose one.
    """
    if what is not None:
        return HubRepository(name, what)
    # The manifest of a data set repository states its content.
    both = [HubRepository(name, kind) for kind in everything_shared()[:2]]
    found = [repository for repository in both if repository.exists()]
    if len(found) != 1:
        got = "both a model and a data set repository" if found else "no repository"
        *first, last = (f"--what {one}" for one in everything_shared())
        advice = (
            f"say which with {', '.join(first)} or {last}"
            if found
            else "check the name; a private one needs `hf auth login`"
        )
        raise HubError(f"the hub has {got} called {name}; {advice}")
    return found[0]
