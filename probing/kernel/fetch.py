"""Fetches data sets and models from their owners or local copies; an interrupted download resumes."""

import io
import logging
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import IO, cast

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
#: Status codes after which another try can succeed: time-out, too early, too many requests, range not satisfiable.
_PASSING = {408, 416, 425, 429}
#: Errors of an address, for which another try is no use.
_WRONG_ADDRESS = (httpx2.InvalidURL, httpx2.UnsupportedProtocol)


class _RefusedError(Exception):
    """The server has no such file, or refuses it."""


class _Body(io.RawIOBase):
    """The bytes of a response as a file that is read once."""

    def __init__(self, response: httpx2.Response) -> None:
        self._parts, self._rest = response.iter_raw(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = part
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def download(url: str, target: Path) -> None:
    """Downloads over an existing file; a ``RegistryError`` names address, number of tries and the last reason."""
    version = ""

    def fetch(stream: IO[bytes]) -> None:
        nonlocal version
        there = stream.tell() if version else 0
        try:
            with _body(url, {"Range": f"bytes={there}-", "If-Range": version} if there else {}) as (
                body,
                begins,
                version,
            ):
                stream.seek(begins)
                stream.truncate()
                shutil.copyfileobj(body, stream)
        except httpx2.HTTPStatusError as error:
            if error.response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                version = ""
            raise

    with target.open("wb") as stream:
        _tried(lambda: fetch(stream), url)


def download_member(url: str, name: str, target: Path) -> None:
    """Takes one file out of a ``.tar.gz`` while that is downloaded, so that an archive of many GB is never stored.

    ``name`` is without the file's folders in the archive.
    """

    def fetch() -> None:
        with (
            _body(url, {}) as (body, _, _),
            target.open("wb") as stream,
            tarfile.open(fileobj=body, mode="r|gz") as archive,
        ):
            for member in archive:
                if member.isfile() and PurePosixPath(member.name).name == PurePosixPath(name).name:
                    extracted = archive.extractfile(member)
                    assert extracted is not None
                    shutil.copyfileobj(extracted, stream)
                    return
        raise RegistryError(f"{url} has no member {name}")

    try:
        _tried(fetch, url)
    except (tarfile.TarError, EOFError) as error:
        raise RegistryError(f"{url} is not a tar archive: {error}") from error


@contextmanager
def _body(url: str, request_headers: dict[str, str]) -> Iterator[tuple[IO[bytes], int, str]]:
    """The bytes of a response, their offset in the file, and the tag of this version of the file (or ``""``)."""
    if url.startswith("file:"):
        with urllib.request.urlopen(url) as stream:
            yield stream, 0, ""
        return
    # A range of a compressed response would be no range of the file.
    headers = {"Accept-Encoding": "identity", **request_headers}
    with httpx2.stream("GET", url, headers=headers, timeout=TIMEOUT, follow_redirects=True) as response:
        status = response.status_code
        if 400 <= status < 500 and status not in _PASSING:
            raise _RefusedError(f"HTTP {status} {response.reason_phrase}")
        response.raise_for_status()
        begins = 0
        if status == HTTPStatus.PARTIAL_CONTENT:
            range_asked = request_headers.get("Range", "").removeprefix("bytes=")
            if not range_asked or not response.headers.get("Content-Range", "").startswith(f"bytes {range_asked}"):
                raise _RefusedError(
                    f"got the range {response.headers.get('Content-Range')}, expected {range_asked or 'the whole file'}"
                )
            begins = int(range_asked.removesuffix("-"))
        yield (
            cast(IO[bytes], _Body(response)),
            begins,
            response.headers.get("ETag") or response.headers.get("Last-Modified") or "",
        )


def _tried(fetch: Callable[[], None], url: str) -> None:
    """Calls until it succeeds; a ``RegistryError`` after the last try, or at once if no other try can help."""
    for number in range(1, TRIES + 1):
        try:
            return fetch()
        except (_RefusedError, urllib.error.URLError, *_WRONG_ADDRESS) as error:
            raise _failed(url, number, error) from error
        except httpx2.HTTPError as error:
            if number == TRIES:
                raise _failed(url, number, error) from error
            wait = max(FIRST_WAIT * 2 ** (number - 1), _asked_wait(error))
            log.warning("%s: %s; try %d of %d follows in %.0f s", url, _reason(error), number + 1, TRIES, wait)
            time.sleep(wait)


def _failed(url: str, tries: int, error: Exception) -> RegistryError:
    counted = "1 try" if tries == 1 else f"{tries} tries, the last"
    return RegistryError(
        f"cannot download {url} ({counted}: {_reason(error)}); check the connection or give local copies: --from FOLDER"
    )


def _reason(error: Exception) -> str:
    """The cause alone; of a status its number and words."""
    if isinstance(error, httpx2.HTTPStatusError):
        return f"{error.response.status_code} {error.response.reason_phrase}"
    return str(error) or type(error).__name__


def _asked_wait(error: Exception) -> float:
    """Seconds that the server wants us to wait before the next try."""
    value = error.response.headers.get("Retry-After", "") if isinstance(error, httpx2.HTTPStatusError) else ""
    if value.isdecimal():
        return min(float(value), LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return min(max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds()), LONGEST_WAIT)


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
