"""Downloads a share, from the Hugging Face Hub or a folder, and checks it before anything gets its final name."""

import glob
import hashlib
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from probing.heads.files import read_identity, read_weights, refuse_damage, validation_losses
from probing.heads.recipe import HeadRecipe
from probing.kernel.errors import HeadError, HubError, Say
from probing.kernel.files import (
    atomic_copy,
    atomic_text,
    cache_folder,
    file_sha256,
    link_or_copy,
    rename_folder,
    result_folders,
    shared_folder,
)
from probing.kernel.locks import exclusive_lock
from probing.kernel.store.check import conflicts
from probing.kernel.store.parquet import read_table, table_of, write_table
from probing.sharing.share import (
    DATA,
    MANIFEST,
    Manifest,
    asked_hub,
    described,
    first_problem,
    read_manifest,
    repository_type,
    title_of,
)
from probing.subjects import HEADS, everything_shared


@dataclass(frozen=True)
class PullRequest:
    """The share to pull."""

    name: str | None = None  #: repository on the hub, OWNER/NAME; or None with
    folder: Path | None = None  #: a folder instead of the hub
    revision: str | None = None  #: commit to pull; None: the one that was pulled before, else the newest
    what: str | None = None  #: the content, if both kinds of repository have this name; a data set holds runs
    out: Path | None = None  #: folder in which runs get a folder of their own; None: ``cache/shared``


def pull(request: PullRequest, say: Say = print) -> None:
    """Pulls shared heads or runs at one revision; runs become a folder of their own, which the program only reads."""
    if request.folder:
        shown, whole, kind = f"folder-{request.folder.resolve().name}", str(request.folder.resolve()), ""
    else:
        shown = str(request.name)
        kind = repository_type(request.what) if request.what else _only_kind(shown)
        whole = title_of(shown, kind)
    # Several names are the same in letters that every file system has.
    key = f"{re.sub(r'[^A-Za-z0-9._-]+', '--', shown)}-{hashlib.sha256(os.fsencode(whole)).hexdigest()[:8]}"
    hub = cache_folder() / "hub"
    note, incoming = hub / "pulled" / f"{key}.json", hub / "incoming" / key
    target = ((request.out or shared_folder()) / key).resolve()
    with exclusive_lock(incoming.with_name(f"{key}.lock")):
        if (old := target.with_name(f".{key}.old")).is_dir() and not target.exists():
            # A pull was killed while it replaced the share.
            old.rename(target)
        pinned = request.revision or _pinned(note)
        remote = _of_folder(request.folder, pinned) if request.folder else _of_hub(shown, kind, pinned)
        title, manifest = remote.title, remote.manifest
        say(f"{title} at {pinned or 'the newest revision'}: commit {remote.commit}")
        if request.what not in (None, manifest.what):
            raise HubError(f"{title} holds {manifest.what}, expected {request.what}")
        # Left by a killed pull.
        shutil.rmtree(incoming, ignore_errors=True)
        try:
            _take(remote, incoming)
            if manifest.what == HEADS:
                _check_heads(incoming, manifest, title)
                placed = _place_heads(incoming)
            else:
                _check_runs(incoming, manifest, title, target)
                manifest = _written_again(incoming, manifest)
                placed = [_place_runs(incoming, target, manifest)]
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
        files = {file.path: file.sha256 for file in manifest.files}
        pin = {"from": title, "commit": remote.commit, "what": manifest.what, "model": manifest.model, "files": files}
        atomic_text(note, json.dumps(pin, indent=1) + "\n")
    for path in placed:
        say(f"  {path}")
    say(f"{manifest.what} of {manifest.model}: {len(manifest.content)} files checked; pinned in {note}")


@dataclass(frozen=True)
class _Remote:
    """A share at a commit."""

    title: str  #: in messages
    commit: str  #: 40 hex digits; of a folder, of its manifest's sha256
    manifest: Manifest  #: at that commit
    bring: Callable[[], Path]  #: gives a folder with the files of the manifest
    of_hub: bool = False  #: whether that folder is the hub's cache on this machine


def _of_folder(folder: Path, revision: str | None) -> _Remote:
    manifest = read_manifest(folder, str(folder))
    commit = file_sha256(folder / MANIFEST)[:40]
    if revision not in (None, "main", commit):
        raise HubError(
            f"{folder} is at revision {commit}, expected {revision}; a folder keeps its newest revision only: "
            "pull that with --revision main"
        )
    return _Remote(str(folder), commit, manifest, lambda: folder)


def _of_hub(name: str, kind: str, revision: str | None) -> _Remote:
    from huggingface_hub import HfApi

    api = HfApi(library_name="bertnesia-explorer")
    commit = str(asked_hub("find", name, kind, api.repo_info, revision=revision or "main").sha)

    def brought(patterns: list[str]) -> Path:
        options = {"revision": commit, "allow_patterns": patterns}
        return Path(asked_hub("download from", name, kind, api.snapshot_download, **options))

    title = title_of(name, kind)
    manifest = read_manifest(brought([MANIFEST]), f"{title} at {commit}")
    patterns = [glob.escape(file.path) for file in manifest.files]
    return _Remote(title, commit, manifest, lambda: brought(patterns), of_hub=True)


def _only_kind(name: str) -> str:
    """The kind of the only repository of that name on the hub."""
    from huggingface_hub import HfApi

    exists = HfApi(library_name="bertnesia-explorer").repo_exists
    found = [kind for kind in ("model", "dataset") if asked_hub("look for", name, kind, exists)]
    if len(found) != 1:
        got = "both a model and a data set repository" if found else "no repository"
        *first, last = (f"--what {one}" for one in everything_shared())
        choose = f"say which with {', '.join(first)} or {last}"
        advice = choose if found else "check the name; a private one needs `hf auth login`"
        raise HubError(f"the hub has {got} called {name}; {advice}")
    return found[0]


def _pinned(note: Path) -> str | None:
    """The commit that was pulled before, so that a second pull without a revision takes the same."""
    if not note.is_file():
        return None
    try:
        return str(json.loads(note.read_text(encoding="utf-8"))["commit"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HubError(f"{note} was not written by `probing pull` ({error!r}); delete it") from error


def _take(remote: _Remote, incoming: Path) -> None:
    """Copies the listed files, whose sizes and checksums must be those of the manifest; others are ignored."""
    source, damaged = remote.bring(), []
    listed = remote.manifest.files
    if missing := [file.path for file in listed if not (source / file.path).is_file()]:
        raise HubError(
            f"{remote.title} lacks {missing[0]}, which its {MANIFEST} lists; nothing was taken, ask its owner to push"
            " again"
        )
    for file in listed:
        path = incoming / file.path
        (link_or_copy if remote.of_hub else atomic_copy)(source / file.path, path)
        got, size = file_sha256(path), path.stat().st_size
        if (got, size) != (file.sha256, file.size):
            damaged.append(f"{file.path} of {remote.title} has sha256 {got} ({size:,} bytes), expected {file.sha256}")
            if remote.of_hub:
                # Of the hub's cache, so that the next pull downloads it again.
                (source / file.path).resolve().unlink()
    if damaged:
        raise HubError(
            f"{damaged[0]}: {len(damaged):,} of {len(listed):,} files are damaged or were changed; nothing was taken,"
            " pull again or ask its owner to push again"
        )
    atomic_text(incoming / MANIFEST, remote.manifest.model_dump_json(indent=1) + "\n")


def _check_runs(incoming: Path, manifest: Manifest, title: str, target: Path) -> None:
    """Raises a ``HubError`` for runs that are not whole, or contradict results in other folders than the target."""
    problem = first_problem(incoming, manifest.what, manifest.model, result_folders())
    if not problem:
        others = [folder for folder in result_folders() if folder.resolve() != target]
        problem = next(conflicts(incoming / DATA, others), None)
    if problem:
        raise HubError(f"{title} cannot be pulled: {problem.replace(f'{incoming / DATA}/', '')}; nothing was taken")


def _written_again(incoming: Path, manifest: Manifest) -> Manifest:
    """Writes every table again, so that no footer of unknown hand stays; returns the manifest with the new sums."""
    for path in (incoming / DATA).iterdir():
        table = str(table_of(path))
        write_table(table, read_table(path, table), path)
    of_ours = described(incoming, manifest.what, manifest.model).model_copy(
        update={"code_version": manifest.code_version}
    )
    atomic_text(incoming / MANIFEST, of_ours.model_dump_json(indent=1) + "\n")
    return of_ours


def _place_runs(incoming: Path, target: Path, manifest: Manifest) -> Path:
    """Gives a checked share its final name at once, in the place of an earlier one."""
    there = target / MANIFEST
    if there.is_file() and there.read_bytes() == (incoming / MANIFEST).read_bytes():
        # Of a pulled run the files may have been deleted.
        files = ((target / file.path, file.sha256) for file in manifest.files)
        if all(path.is_file() and file_sha256(path) == sha256 for path, sha256 in files):
            return target
    target.parent.mkdir(parents=True, exist_ok=True)
    half, old = target.with_name(f".{target.name}.part"), target.with_name(f".{target.name}.old")
    for left in (half, old):
        shutil.rmtree(left, ignore_errors=True)
    # The folder of --out may be on another disk.
    shutil.move(incoming, half)
    if target.exists():
        target.rename(old)
    rename_folder(half, target)
    shutil.rmtree(old, ignore_errors=True)
    return target


def _check_heads(incoming: Path, manifest: Manifest, title: str) -> None:
    """Raises a ``HubError`` if a head's model, layer or kind differs from its path, though its checksum is right, or a
    set has gaps.
    """
    problem = next(_problems_of_heads(incoming, manifest), None)
    if problem:
        raise HubError(f"{title} cannot be pulled: {problem}; nothing was taken")


def _problems_of_heads(incoming: Path, manifest: Manifest) -> Iterator[str]:
    layers, shapes = defaultdict[str, set[int]](set), defaultdict[str, set[str]](set)
    for file in manifest.content:
        path = incoming / file.path
        _, weights, kind_and_seed, name = file.path.split("/")
        kind, _, seed = kind_and_seed.partition("-seed")
        layer = int(name.removeprefix("layer-").removesuffix(".safetensors"))
        try:
            identity = read_identity(path)
            recipe = HeadRecipe(**json.loads(identity.recipe))
            validation_losses(path.parent, [layer])
        except HeadError as error:
            yield f"{file.path} is not a head: {error}"
            return
        except (TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            yield f"{file.path} has no recipe and no validation losses that can be read ({error!r})"
            return
        said = (identity.weights, identity.kind, identity.layer, recipe.seed)
        expected = (manifest.weights, kind, layer, int(seed))
        if said != expected or not manifest.weights.startswith(weights):
            yield f"{file.path} is a head of (weights, kind, layer, seed) {said}, expected {expected}"
        tensors = read_weights(path)
        try:
            refuse_damage(path, identity, tensors)
        except HeadError as error:
            yield f"{file.path} is not a head: {error}"
        layers[kind_and_seed].add(layer)
        shapes[kind].add(str(sorted((name, tuple(tensor.shape)) for name, tensor in tensors.items())))
    for heads, found in layers.items():
        # A replicate exists for the last layer only; the number of layers is not known without the model.
        if heads.endswith("-seed0") and (gaps := sorted(set(range(max(found))) - found)):
            yield f"it has {heads} of layers up to {max(found)}, but none of layer {gaps[0]}"
    for kind, several in shapes.items():
        if len(several) > 1:
            yield f"its {kind} heads have weights of {len(several)} different shapes, expected one"


def _place_heads(incoming: Path) -> list[Path]:
    """Stores checked heads where ``probe`` and ``ask`` look; nothing if other heads are in the place of these."""
    sets = {source: cache_folder() / source.relative_to(incoming) for source in sorted(incoming.glob(f"{HEADS}/*/*"))}
    for source, target in sets.items():
        for path in source.iterdir():
            own = target / path.name
            if own.is_file() and file_sha256(own) != file_sha256(path):
                raise HubError(
                    f"{own} holds different heads from those pulled; delete its folder to store the pulled ones, or"
                    " keep yours"
                )
    for source, target in sets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        rename_folder(source, target)
    return list(sets.values())
