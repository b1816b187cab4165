"""Fetches data sets and models from their owners or local copies; an interrupted download resumes.

pooch is not used: it starts again after an interruption, stores whole archives, and reads neither ``Retry-After`` nor
``file:`` addresses.
"""

import logging
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import IO, Any, cast

import httpx2
from tqdm import tqdm

from probing.kernel.errors import IncompleteCopyError, ModelError, RegistryError, Say
from probing.kernel.files import atomic_copy, atomic_file, atomic_folder, cache_folder, file_sha256, rename_folder
from probing.kernel.locks import LONG_WORK, exclusive_lock
from probing.kernel.models.checkpoint import ModelFiles, has_tokenizer
from probing.kernel.models.names import at_revision
from probing.kernel.registry import DataEntry, DataFile, ModelEntry, Registry, read_registry

log = logging.getLogger(__name__)

TRIES = 4
#: Seconds before the second try; each further wait is twice as long, or as long as the server asks for, up to a minute.
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
TIMEOUT = 60.0
#: Status codes below 500 after which another try can succeed: time-out, too early, too many requests.
_PASSING = {408, 425, 429}
#: Errors of an address, or of that of a proxy (the last two), for which another try is no use.
_WRONG_ADDRESS = (httpx2.InvalidURL, httpx2.UnsupportedProtocol, urllib.error.URLError, ImportError, ValueError)


def download(url: str, target: Path) -> None:
    """Downloads over an existing file; a ``RegistryError`` names address, number of tries and the last reason."""
    version = ""

    def fetch(stream: IO[bytes]) -> None:
        nonlocal version
        there = stream.tell() if version else 0
        with _response(url, {"Range": f"bytes={there}-", "If-Range": version} if there else {}) as response:
            if response.status_code != HTTPStatus.PARTIAL_CONTENT:
                there = 0
            elif not (given := response.headers.get("Content-Range", "")).startswith(f"bytes {there}-"):
                raise RegistryError(f"cannot download {url} (got the range {given}, expected bytes {there}-)")
            version = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
            stream.seek(there)
            stream.truncate()
            stream.writelines(response.iter_raw())

    with target.open("wb") as stream:
        _tried(lambda: fetch(stream), url)


def download_member(url: str, name: str, target: Path) -> None:
    """Takes one file out of a ``.tar.gz`` while that is downloaded, so that an archive of many GB is never stored.

    ``name`` is without the file's folders in the archive.
    """

    def fetch() -> None:
        with _response(url, {}) as response, target.open("wb") as stream:
            parts = response.iter_raw()
            # tarfile takes parts of any size.
            body: Any = SimpleNamespace(read=lambda size: next(parts, b""))
            with tarfile.open(fileobj=body, mode="r|gz") as archive:
                for member in archive:
                    if member.isfile() and PurePosixPath(member.name).name == PurePosixPath(name).name:
                        shutil.copyfileobj(cast(IO[bytes], archive.extractfile(member)), stream)
                        return
        raise RegistryError(f"{url} has no member {name}")

    try:
        _tried(fetch, url)
    except (tarfile.TarError, EOFError) as error:
        raise RegistryError(f"{url} is not a tar archive: {error}") from error


@contextmanager
def _response(url: str, headers: dict[str, str]) -> Iterator[httpx2.Response]:
    """An answer whose body is to be read; an ``HTTPStatusError`` for any status but success."""
    if url.startswith("file:"):
        with urllib.request.urlopen(url) as stream:
            yield httpx2.Response(HTTPStatus.OK, content=stream)
        return
    # A range of a compressed response would be no range of the file.
    headers = {"Accept-Encoding": "identity", **headers}
    with httpx2.stream("GET", url, headers=headers, timeout=TIMEOUT, follow_redirects=True) as response:
        response.raise_for_status()
        yield response


def _tried(fetch: Callable[[], None], url: str) -> None:
    """Calls until it succeeds; a ``RegistryError`` after the last try, or at once if no other try can help."""
    for number in range(1, TRIES + 1):
        try:
            return fetch()
        except (httpx2.HTTPError, *_WRONG_ADDRESS) as error:
            reason, asked, lasting = str(error) or type(error).__name__, 0.0, isinstance(error, _WRONG_ADDRESS)
            if isinstance(error, httpx2.HTTPStatusError):
                answer = error.response
                reason = f"HTTP {answer.status_code} {answer.reason_phrase}"
                text = answer.headers.get("Retry-After", "")
                with suppress(ValueError):  # Seconds, a moment, or nothing.
                    asked = float(text) if text.isdecimal() else parsedate_to_datetime(text).timestamp() - time.time()
                lasting = answer.status_code < 500 and answer.status_code not in _PASSING
            if lasting or number == TRIES:
                counted = "1 try" if number == 1 else f"{number} tries, the last"
                raise RegistryError(
                    f"cannot download {url} ({counted}: {reason}); check the connection or give local copies: --from"
                    " FOLDER"
                ) from error
            wait = max(FIRST_WAIT * 2 ** (number - 1), min(asked, LONGEST_WAIT))
            log.warning("%s: %s; try %d of %d follows in %.0f s", url, reason, number + 1, TRIES, wait)
            time.sleep(wait)


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
        there = [file for file in entry.files if file.copy_in(folder).is_file()]
        if missing := [file.path for file in entry.files if file.sha256 and file not in there]:
            raise RegistryError(f"{folder} lacks {_some(missing)} of {entry.name}; nothing was copied")
        if not there:
            raise RegistryError(f"{folder} has no file of {entry.name}, such as {entry.files[0].path}")
        for file in there:
            _place(partial(shutil.copyfile, file.copy_in(folder)), file, target)
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
    files = [file for file in entry.files if file.url or not entry.made]
    for file in tqdm(files, unit="file", desc=entry.name, disable=not entry.files):
        _place(partial(_download, file.url, file.path), file, target)
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
    from probing.kernel.models.hub import locate

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


def _place(bring: Callable[[Path], object], file: DataFile, target: Path) -> None:
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


def _download(url: str, member: str, target: Path) -> None:
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
        _download(entry.url, "", archive)
        try:
            with zipfile.ZipFile(archive) as opened:
                for member in opened.namelist():
                    if PurePosixPath(member).is_absolute() or ".." in PurePosixPath(member).parts:
                        raise RegistryError(f"{entry.url} holds the unsafe path {member!r}; it is not unpacked")
                opened.extractall(Path(folder, "files"))
        except zipfile.BadZipFile as error:
            raise RegistryError(f"{entry.url} is not a zip archive: {error}") from error
        rename_folder(Path(folder, "files", entry.archive_root), target)
