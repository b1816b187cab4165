"""Downloads with a few tries and growing waits; an interrupted download resumes if the server can send the rest."""

import io
import logging
import shutil
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import IO, cast

import httpx2

from probing.kernel.errors import RegistryError

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
