"""The models, runs and probe sets on this machine: the space they take, and their deletion, except what ships."""

import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from probing.kernel.errors import StoreError
from probing.kernel.files import cache_folder, pulled_folders, runs_folder
from probing.kernel.store.kinds import RUNS_OF_FILES
from probing.kernel.store.parquet import files_of, read_table

RUN, FACTS, MODEL = "run", "facts", "model"
#: What can be listed and deleted.
WHAT = (RUN, FACTS, MODEL)


@dataclass(frozen=True)
class Entry:
    """Something of ``WHAT`` that takes space, in bytes; ``said`` is what it is, in words."""

    what: str
    name: str
    said: str
    size: int
    #: None if it is in a file with other runs.
    delete: Callable[[], None] | None


def list_entries(what: Sequence[str] = WHAT) -> list[Entry]:
    """What takes space, largest first for each kind."""
    listers: dict[str, Callable[[], list[Entry]]] = {RUN: _runs, FACTS: _probe_sets, MODEL: _models}
    return [entry for kind in what for entry in sorted(listers[kind](), key=lambda entry: (-entry.size, entry.name))]


def delete(what: str, name: str, sure: Callable[[Entry], bool]) -> Entry | None:
    """Deletes a run, a probe set with all its runs, or a model of ``list_entries``; None if ``sure`` said no."""
    listed = list_entries([what])
    entry = next((entry for entry in listed if entry.name == name), None)
    if entry is None:
        names = ", ".join(other.name for other in listed[:10]) or "none"
        raise StoreError(f"no {what} {name!r} below {cache_folder()} or in the hub's cache; there are: {names}")
    if entry.delete is None:
        raise StoreError(
            f"the {what} {name} is in a file that holds other runs, too; delete that file in {runs_folder()} if you"
            " want neither"
        )
    if not sure(entry):
        return None
    entry.delete()
    return entry


def _rows() -> list[tuple[dict, Path]]:
    """The rows of the user's own and of pulled runs, each once and with its file."""
    found: dict[str, tuple[dict, Path]] = {}
    for table in RUNS_OF_FILES:
        for path in (path for folder in _folders() for path in files_of(table, folder)):
            try:
                for row in read_table(path, table).to_pylist():
                    found.setdefault(row["run_id"], (row, path))
            except StoreError:
                continue
    return list(found.values())


def _folders() -> list[Path]:
    return [folder for folder in (runs_folder(), *pulled_folders()) if folder.is_dir()]


def _files_of_run(run_id: str) -> set[Path]:
    """The files that have the id of a run in their names."""
    return {one for folder in _folders() for one in folder.rglob(f"*-{run_id}.parquet")}


def _runs() -> list[Entry]:
    return [_run(row, path) for row, path in _rows()]


def _run(row: dict, path: Path) -> Entry:
    """A run; its files are those that have its id in their names."""
    run_id = row["run_id"]
    files = sorted(_files_of_run(run_id))
    description = (
        f"{row['model']}"
        + (f" on {row['probe_set']}" if row.get("probe_set") else "")
        + (f", {row['head']}" if row.get("head") else "")
    )
    return Entry(RUN, run_id, description, _size(files), partial(_delete_files, files) if path in files else None)


def _probe_sets() -> list[Entry]:
    """Probe sets with their runs; the facts themselves, too, if no other set is in their file."""
    runs, whole, files = (
        defaultdict[str, set[str]](set),
        defaultdict[str, bool](lambda: True),
        defaultdict[str, set[Path]](set),
    )
    for row, path in _rows():
        if name := row.get("probe_set"):
            run_files = _files_of_run(row["run_id"])
            runs[name].add(row["run_id"])
            files[name] |= run_files
            whole[name] &= path in run_files
    for path in (path for folder in _folders() for path in files_of("facts", folder)) if runs else ():
        names = set(read_table(path, "facts").column("probe_set").to_pylist())
        if len(names) == 1 and (only := str(names.pop())) in runs:
            files[only].add(path)
    return [
        Entry(
            FACTS,
            name,
            f"{len(ids):,} {'run' if len(ids) == 1 else 'runs'}",
            _size(files[name]),
            partial(_delete_files, sorted(files[name])) if whole[name] else None,
        )
        for name, ids in runs.items()
    ]


def _models() -> list[Entry]:
    """Models below ``cache/models``, and those that the hub's library has downloaded."""
    folder, models = cache_folder() / "models", []
    for path in sorted(folder.rglob("config.json")) if folder.is_dir() else ():
        model = path.parent
        size = _size(file for file in model.iterdir() if file.is_file())
        models.append(
            Entry(MODEL, model.relative_to(folder).as_posix(), f"folder {model}", size, partial(_delete_folder, model))
        )
    from huggingface_hub.errors import CacheNotFound

    try:
        repositories = [repository for repository in scan_cache_dir().repos if repository.repo_type == "model"]
    except CacheNotFound:
        repositories = []
    for repository in repositories:
        models.append(
            Entry(
                MODEL,
                repository.repo_id,
                "downloaded from the hub",
                repository.size_on_disk,
                partial(_delete_repository, repository.repo_id),
            )
        )
    return models


def scan_cache_dir() -> Any:
    """What the hub's library has downloaded; it is imported here, because it needs modules of a Unix."""
    from huggingface_hub import scan_cache_dir as scan

    return scan()


def _size(files) -> int:
    return sum(path.stat().st_size for path in files)


def _delete_files(files: Sequence[Path]) -> None:
    """Deletes the files of runs: the rows of runs last, so that a deletion that is cut off can be repeated."""
    for path in sorted(files, key=lambda file: ("runs-" in file.name, file.name)):
        path.unlink(missing_ok=True)


def _delete_folder(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder)


def _delete_repository(hub_id: str) -> None:
    cache = scan_cache_dir()
    commits = [
        revision.commit_hash
        for repo in cache.repos
        if (repo.repo_type, repo.repo_id) == ("model", hub_id)
        for revision in repo.revisions
    ]
    cache.delete_revisions(*commits).execute()
