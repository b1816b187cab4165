"""Why something on the Hugging Face Hub cannot be used: one sentence that says what to do."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from huggingface_hub import constants
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    RevisionResolutionError,
)
from huggingface_hub.utils import parse_ratelimit_headers

from probing.kernel.files_disk_errors import cannot_write, no_room

log = logging.getLogger(__name__)
# The library would query the hub for its user agent, even if all files are on this machine.
constants.HF_HUB_DISABLE_TELEMETRY = True
T = TypeVar("T")

#: What the hub's library raises. ``HTTPError`` is the base of all errors of a connection; Xet's transfers raise
#: ``RuntimeError``.
HUB_ERRORS = (OSError, HTTPError, EntryNotFoundError, RevisionResolutionError, HFValidationError, RuntimeError)
TRIES = 4
#: Seconds before the second try; each further wait is twice as long, or as long as the hub asks for.
FIRST_WAIT = 1.0
#: A longer wait is left to the user.
LONGEST_WAIT = 60.0
#: Status codes after which another try can succeed: time-out, too many requests, trouble of the hub.
_PASSING = {408, 429, 500, 502, 503, 504}


def patiently(call: Callable[[], T]) -> T:
    """The result of a call of the hub's library, tried again if the hub is busy; its last error is raised."""
    for number in range(1, TRIES):
        try:
            return call()
        except HUB_ERRORS as error:
            status = _status(error)
            wait = max(FIRST_WAIT * 2 ** (number - 1), _requested_wait(error))
            if status not in _PASSING or wait > LONGEST_WAIT:
                raise
            log.warning("the hub answers with HTTP %d; try %d of %d follows in %.0f s", status, number + 1, TRIES, wait)
            time.sleep(wait)
    return call()


def in_words(error: BaseException, name: str, kind: str = "model", revision: str | None = None) -> str:
    """The reason of an error of the hub's library, and what to do; ``kind`` is ``model`` or ``data set``."""
    for cause in _chain(error):
        if words := no_room(cause) or cannot_write(cause):
            return words
        if reason := _of_the_library(cause, name, kind, revision):
            return reason
    return f"{name} cannot be read from the hub: {_first_line(error)}"


def _of_the_library(error: BaseException, name: str, kind: str, revision: str | None) -> str | None:
    """The sentence for one of the library's own errors; None for those that only wrap another one."""
    if isinstance(error, GatedRepoError):
        page = f"{constants.ENDPOINT}/{'datasets/' if kind != 'model' else ''}{name}"
        return f"{name} is gated: ask for access at {page}, then log in with `hf auth login`"
    if isinstance(error, RevisionNotFoundError):
        return f"{name} has no revision {revision or 'main'}; expected a branch, a tag or a commit of it"
    if isinstance(error, RepositoryNotFoundError):
        return f"the hub has no public {kind} {name}; check the name, or log in with `hf auth login` if it is private"
    if isinstance(error, OfflineModeIsEnabled):
        return f"{name} is not in the hub's cache on this machine, and HF_HUB_OFFLINE is set; unset it to download"
    if isinstance(error, HFValidationError):
        return f"{name!r} is no name of the hub: {_first_line(error)}"
    if isinstance(error, HfHubHTTPError):
        return _of_status(error, name)
    if isinstance(error, HTTPError):
        broken = f"{type(error).__name__}: {_first_line(error)}"
        return (
            f"the connection to {constants.ENDPOINT} failed ({broken}); check it and repeat the command: downloaded"
            " files are kept"
        )
    if isinstance(error, LocalEntryNotFoundError | RevisionResolutionError) and not (
        error.__cause__ or error.__context__
    ):
        return f"{name} is not in the hub's cache on this machine; download it with: python -m probing fetch {name}"
    return None


def _of_status(error: HfHubHTTPError, name: str) -> str | None:
    """The sentence for an HTTP status; None if the library's own words are better."""
    status = error.response.status_code
    if status == 401:
        return f"the hub does not accept the login for {name}; log in again with `hf auth login`"
    if status == 403:
        return (
            f"the hub does not allow this for {name} ({error.server_message or 'HTTP 403'}); use a token that may: `hf"
            " auth login`"
        )
    if status == 429:
        wait = _requested_wait(error)
        return (
            f"the hub limits the number of requests; repeat the command {f'in {wait:.0f} s' if wait else 'later'}, or"
            " log in for more"
        )
    if status >= 500:
        return f"the hub is not available (HTTP {status}); repeat the command later"
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what caused it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int | None:
    return next((cause.response.status_code for cause in _chain(error) if isinstance(cause, HfHubHTTPError)), None)


def _requested_wait(error: BaseException) -> float:
    """Seconds that the hub wants us to wait before the next request; 0 if it does not say."""
    for cause in _chain(error):
        if isinstance(cause, HfHubHTTPError):
            limit = parse_ratelimit_headers(cause.response.headers)
            if limit is not None and limit.remaining == 0:
                return float(limit.reset_in_seconds)
            after = cause.response.headers.get("Retry-After", "")
            return float(after) if after.isdigit() else 0.0
    return 0.0


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
