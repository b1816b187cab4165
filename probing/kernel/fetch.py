"""Fetches data sets and models, from their owners or from local copies."""

import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from tqdm import tqdm

from probing.kernel.errors import IncompleteCopyError, ModelError, RegistryError
from probing.kernel.errors_output import Say
from probing.kernel.fetch_downloads import download, download_member
from probing.kernel.files import atomic_copy, atomic_file, atomic_folder, rename_folder
from probing.kernel.files_checksums import file_sha256
from probing.kernel.files_paths import cache_folder
from probing.kernel.locks import LONG_WORK, exclusive_lock
from probing.kernel.models.checkpoint import ModelFiles, has_tokenizer
from probing.kernel.models.names import at_revision
from probing.kernel.registry import DataEntry, DataFile, ModelEntry, Registry, read_registry


def fetch(names: Sequence[str], source: Path | None = None, say: Say = print, revision: str | None = None) -> None:
    """Fetches data sets, models of the registry and models of the hub into the cache, from local copies in ``source``
    or by download.

    ``revision`` is of models on the hub; None: what the registry pins, else the main branch. An ``IncompleteCopyError``
    is raised only at the end, when all names were tried.
    """
    registry = read_registry()
    known = {entry.name for entry in registry.data}
    incomplete = []
    for name in names:
        try:
            if revision is not None and (source is not None or name in known):
                what = "a local copy" if source is not None else f"the data set {name}"
                raise ModelError(f"got the revision {revision!r} of {what}; only models of the hub have one")
            if name in known:
                target = fetch_data(registry.data_set(name), source, cache_folder() / "downloads" / name)
            else:
                target = fetch_model(_model(registry, name, revision), source)
            say(f"{name}: {target}")
        except IncompleteCopyError as error:
            incomplete.append(str(error))
    if incomplete:
        raise IncompleteCopyError("; ".join(incomplete))


def fetch_data(entry: DataEntry, source: Path | None, target: Path) -> Path:
    """Fetches one data set to ``target``; an existing file with the right checksum is kept.

    An ``IncompleteCopyError`` means that local copies lack a file whose checksum is not recorded; the others were
    copied.
    """
    if source is not None:
        folder = source / entry.folder
        if not folder.is_dir():
            raise RegistryError(f"no folder {folder}; local copies of {entry.name} are expected there")
        if not entry.files:
            shutil.copytree(
                folder, target, dirs_exist_ok=True, copy_function=lambda from_, to: atomic_copy(Path(from_), Path(to))
            )
            return target
        missing = [file.path for file in entry.files if not file.copy_in(folder).is_file() and file.sha256]
        if missing:
            raise RegistryError(f"{folder} lacks {_some(missing)} of {entry.name}; nothing was copied")
        if not any(file.copy_in(folder).is_file() for file in entry.files):
            raise RegistryError(f"{folder} has no file of {entry.name}, such as {entry.files[0].path}")
        for file in entry.files:
            if file.copy_in(folder).is_file():
                _place(lambda temporary, file=file: shutil.copyfile(file.copy_in(folder), temporary), file, target)  # type: ignore[misc]
        if lacking := [file.path for file in entry.files if not (target / file.path).is_file()]:
            raise IncompleteCopyError(
                f"{folder} lacks {_some(lacking)} of {entry.name}; the files that exist were copied: {target}"
            )
        return target
    if entry.url:
        with exclusive_lock(target.parent / f".{entry.name}.lock", limit=LONG_WORK):
            if not target.is_dir():
                _unpack(entry, target)
    if entry.made and (lacking := [file.path for file in entry.files if not file.url and not _is_there(file, target)]):
        raise RegistryError(
            f"{_some(lacking)} of {entry.name} cannot be downloaded; give local copies: --from FOLDER. {entry.made}"
        )
    for file in tqdm(
        [file for file in entry.files if file.url or not entry.made],
        unit="file",
        desc=entry.name,
        disable=not entry.files,
    ):
        _place(lambda temporary, file=file: _download(file.url, temporary, file.path), file, target)  # type: ignore[misc]
    return target


def fetch_or_stand_in(registry: Registry, name: str, source: Path | None, say: Say = print) -> Path:
    """Fetches a data set, or from local copies that lack it the first substitute; returns the folder."""
    entry = registry.data_set(name)
    downloads = cache_folder() / "downloads"
    try:
        return fetch_data(entry, source, downloads / entry.name)
    except RegistryError as error:
        for other in registry.data if source is not None else ():
            if other.stands_in_for == name and (source / other.folder).is_dir():  # type: ignore[operator]
                return fetch_data(other, source, downloads / other.name)
        if isinstance(error, IncompleteCopyError):
            say(f"  {error}")
            return downloads / entry.name
        raise


def _some(names: Sequence[str]) -> str:
    """How many files, and the first few by name."""
    return (
        f"{len(names)} file{'' if len(names) == 1 else 's'} ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})"
    )


def _model(registry: Registry, name: str, revision: str | None) -> ModelEntry:
    """The entry of a model of the registry or of the hub."""
    listed = {entry.name: entry for entry in registry.models}
    if name not in listed and name.count("/") != 1:
        names = ", ".join([*(entry.name for entry in registry.data), *listed])
        raise RegistryError(
            f"no data set or model {name!r} in the registry; it has {names}; a model of the hub is written OWNER/NAME"
        )
    # A copy that ``fetch --from`` made replaces the hub everywhere else, but not here.
    entry = listed.get(name) or next(
        (model for model in registry.models if model.hub_id.casefold() == name.casefold()), None
    )
    entry = entry or ModelEntry(name=name, source=name, licence="unknown", objective="unknown")
    return entry if revision is None else at_revision(entry, revision)


def fetch_model(entry: ModelEntry, source: Path | None) -> Path:
    """Downloads a hub model to the hub's own cache at its revision and checks it, or copies a local one unchanged."""
    if entry.shipped:
        return Path(entry.location)
    if source is not None:
        folder = next((f for f in (source / entry.name, source / entry.source) if f.is_dir()), None)
        if folder is None:
            raise RegistryError(f"no folder {source / entry.name}; a local copy of {entry.name} is expected there")
        target = cache_folder() / "models" / entry.name
        with (
            exclusive_lock(target.with_name(f".{target.name}.lock"), limit=LONG_WORK),
            atomic_folder(target, replace=True) as half,
        ):
            shutil.copytree(folder, half, dirs_exist_ok=True)
        if lacking := _missing_parts(target):
            raise IncompleteCopyError(
                f"{folder} lacks {', '.join(lacking)} of {entry.name}; the files that exist were copied: {target}"
            )
        return target
    # Imported only if a model comes from the hub.
    from probing.kernel.models.hub_model_location import locate

    place = locate(entry.source, entry.revision or None)
    if not place.has_tokenizer and not entry.base:
        raise ModelError(
            f"{entry.source} has no tokenizer at commit {place.revision[:12]}; expected tokenizer.json or a vocabulary"
        )
    return place.folder


def _missing_parts(folder: Path) -> list[str]:
    """What a model's folder lacks: configuration, weights with all their parts, tokenizer."""
    files = ModelFiles(folder)
    weights = files.weights or "difference.safetensors" in files.names
    parts = {"config.json": files.config, "its weights": weights, "its tokenizer": has_tokenizer(files.names)}
    return [
        *(what for what, there in parts.items() if not there),
        *(name for name in files.weights if name not in files.names),
    ]


def _is_there(file: DataFile, target: Path) -> bool:
    """Whether a file was fetched; one without a recorded checksum got its final name only when it was complete."""
    path = target / file.path
    return path.is_file() and (not file.sha256 or file_sha256(path) == file.sha256)


def _place(bring, file: DataFile, target: Path) -> None:
    if _is_there(file, target):
        return
    with atomic_file(target / file.path) as temporary:
        bring(temporary)
        got = file_sha256(temporary)
        if file.sha256 and got != file.sha256:
            raise RegistryError(
                f"{file.path} has sha256 {got}, the registry records {file.sha256}; the copy is damaged or another"
                " version"
            )


def _download(url: str, target: Path, member: str = "") -> None:
    if not url:
        raise RegistryError(f"no address is known for {target.name}; give local copies: --from FOLDER")
    if url.endswith(".tar.gz"):
        download_member(url, member, target)
    else:
        download(url, target)


def _unpack(entry: DataEntry, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        archive = Path(folder, "archive.zip")
        _download(entry.url, archive)
        try:
            with zipfile.ZipFile(archive) as opened:
                for member in opened.namelist():
                    if PurePosixPath(member).is_absolute() or ".." in PurePosixPath(member).parts:
                        raise RegistryError(f"{entry.url} holds the unsafe path {member!r}; it is not unpacked")
                opened.extractall(Path(folder, "files"))
        except zipfile.BadZipFile as error:
            raise RegistryError(f"{entry.url} is not a zip archive: {error}") from error
        rename_folder(Path(folder, "files", entry.archive_root), target)
