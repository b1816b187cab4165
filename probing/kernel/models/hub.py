"""Models on the Hugging Face Hub: their files, commit, size and identity, and why one cannot be used."""

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import httpx2
from huggingface_hub import HfApi, constants, get_cached_repo_tree, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    CachedRepoTreeNotFoundError,
    FileMetadataError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    RevisionResolutionError,
)
from huggingface_hub.file_download import repo_folder_name
from huggingface_hub.utils import parse_ratelimit_headers, set_client_factory, tqdm
from huggingface_hub.utils._http import default_client_factory

from probing.kernel.errors import ModelError
from probing.kernel.files import cannot_write, file_sha256, no_room
from probing.kernel.models.checkpoint import ADAPTER, ModelFiles, check_files, chosen_weights, has_tokenizer
from probing.kernel.provenance import LOCAL

log = logging.getLogger(__name__)
T = TypeVar("T")


def weight_files(folder: str | Path) -> list[Path]:
    """The weight files of a folder, in order, and an adapter's scale (``ADAPTER``); ModelError if there are none."""
    names = "*.safetensors", "pytorch_model*.bin", "adapter_model.bin", ADAPTER
    files = sorted({path for name in names for path in Path(folder).glob(name)})
    if not files:
        raise ModelError(f"{folder} has no weight files; expected model.safetensors")
    return files


def identity_of(files: Iterable[Path]) -> str:
    """sha256 over weight files, name and bytes, independent of their folder."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def weights_id_of(folder: str | Path) -> str:
    """``identity_of`` the weight files of a folder."""
    return identity_of(weight_files(folder))


def joint_weights_id(weights: str, base_weights: str) -> str:
    """Identity of a model with two sets of weights, its own and its base's; with one set its identity alone."""
    return hashlib.sha256(f"{weights}+{base_weights}".encode()).hexdigest() if base_weights else weights


# The library would query the hub for its user agent, even if all files are on this machine.
constants.HF_HUB_DISABLE_TELEMETRY = True

#: What the hub's library raises: an answer that is no hub's makes it fail in any way, Xet's transfers in a
#: ``RuntimeError``, and the variables of a proxy in an ``ImportError`` or a ``ValueError``.
HUB_ERRORS = (Exception,)
#: Seconds of silence after which a server is taken for gone; the library itself waits for ever for some answers.
LONGEST_SILENCE = 60.0
#: A connection that ends on its way, after which another try can succeed.
_BROKEN = (httpx2.NetworkError, httpx2.RemoteProtocolError)
TRIES = 4
#: Seconds before the second try; each further wait is twice as long, or as long as the hub asks for.
FIRST_WAIT = 1.0
#: A longer wait is left to the user.
LONGEST_WAIT = 60.0
#: Status codes after which another try can succeed: time-out, too many requests, trouble of the hub.
_PASSING = {408, 429, 500, 502, 503, 504}


def _client() -> httpx2.Client:
    """The library's client, which waits for no answer longer than ``LONGEST_SILENCE``."""

    def bounded(request: httpx2.Request) -> None:
        limits = request.extensions["timeout"]
        limits.update((name, min(limit or LONGEST_SILENCE, LONGEST_SILENCE)) for name, limit in [*limits.items()])

    client = default_client_factory()
    client.event_hooks["request"].append(bounded)
    return client


set_client_factory(_client)


def patiently(call: Callable[[], T]) -> T:
    """The result of a call of the hub's library, tried again if the hub is busy or the connection breaks; its last
    error is raised.

    The library itself repeats the questions for files and their lists only, not the first one for a repository.
    """
    for number in range(1, TRIES):
        try:
            return call()
        except HUB_ERRORS as error:
            answer = next((cause.response for cause in _chain(error) if isinstance(cause, HfHubHTTPError)), None)
            wait = max(FIRST_WAIT * 2 ** (number - 1), _requested_wait(answer) if answer else 0.0)
            passing = answer.status_code in _PASSING if answer else any(isinstance(e, _BROKEN) for e in _chain(error))
            if not passing or wait > LONGEST_WAIT or isinstance(error, LocalEntryNotFoundError):
                raise
            why = f"answers with HTTP {answer.status_code}" if answer else "broke off the connection"
            log.warning("the hub %s; try %d of %d follows in %.0f s", why, number + 1, TRIES, wait)
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
        asked = revision or "main"
        return f"{name} has no revision {asked}; expected a branch, a tag or a commit of it, such as --revision main"
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
            f"the connection to {constants.ENDPOINT}{_by_proxy()} failed ({broken}); check it and repeat the command:"
            " whole files are kept"
        )
    if isinstance(error, LocalEntryNotFoundError | RevisionResolutionError) and not (
        error.__cause__ or error.__context__
    ):
        return f"{name} is not in the hub's cache on this machine; download it with: python -m probing fetch {name}"
    # A plain ``OSError`` says that a file has another size than the hub named.
    strange = isinstance(error, FileMetadataError | ValueError | LookupError | TypeError | AssertionError)
    if strange or (type(error) is OSError and error.errno is None):
        return (
            f"{constants.ENDPOINT}{_by_proxy()} gives an answer for {name} that is none of the hub"
            f" ({_first_line(error)[:100]}); a network that asks for a login first does that: open a page in a browser,"
            " then repeat the command"
        )
    return None


def _by_proxy() -> str:
    """The variable that sends requests through a proxy, in words; empty if none does."""
    names = [name for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY") if os.getenv(name) or os.getenv(name.lower())]
    return f", by the proxy of {names[0]}," if names else ""


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
        wait = _requested_wait(error.response)
        return (
            f"the hub limits the number of requests; repeat the command {f'in {wait:.0f} s' if wait else 'later'}, or"
            " log in for more"
        )
    if status >= 500:
        return f"the hub is not available (HTTP {status}); repeat the command later"
    if isinstance(error, RemoteEntryNotFoundError):
        return None
    return f"{constants.ENDPOINT}{_by_proxy()} answers with HTTP {status} for {name}; check HF_ENDPOINT, if it is set"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what caused it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _requested_wait(answer: Any) -> float:
    """Seconds that the hub wants us to wait before the next request; 0 if it does not say."""
    limit = parse_ratelimit_headers(answer.headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    after = answer.headers.get("Retry-After", "")
    return float(after) if after.isdigit() else 0.0


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


#: Configuration, tokenizer and lists of shards: all that is read but the weights. Files in subfolders belong to other
#: software.
_SMALL = [
    "config.json",
    "tokenizer*.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges.txt",
    "*.model",
    "*.index.json",
]


class _Bar(tqdm):
    """Weights are downloaded with a progress bar, as in all commands also where it is written to a file."""

    disabled = False

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings | {"disable": self.disabled})  # type: ignore[no-untyped-call]


class _NoBar(_Bar):
    """Small files are downloaded without one."""

    disabled = True


def damage(path: Path) -> str:
    """How a file differs from the checksum that the hub's cache calls it by; empty if it does not, or has no link."""
    blob = path.readlink().name if path.is_symlink() and path.exists() else ""
    if not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", blob):
        return ""
    large, size = len(blob) == 64, path.stat().st_size
    # A small file has the name that Git gives it.
    got = file_sha256(path) if large else hashlib.sha1(b"blob %d\0" % size + path.read_bytes()).hexdigest()
    if got == blob:
        return ""
    return f"has {'sha256' if large else 'sha1'} {got[:12]}, the hub has {blob[:12]}: the download is damaged"


def delete_damaged(path: Path) -> None:
    """Deletes a file from the hub's cache, so that it is downloaded again."""
    for damaged in (path.parent / path.readlink(), path):
        damaged.unlink()


@dataclass(frozen=True)
class Snapshot:
    """A model at a commit, with the folder of its files on this machine."""

    hub_id: str
    commit: str
    folder: Path
    local_only: bool

    def bring(self) -> list[Path]:
        """The weight files in order; what is missing is downloaded, and all files are compared with the hub's sums.

        A file with another checksum is downloaded once more. ModelError: it cannot be downloaded or is damaged, or the
        model has no weights that can be read.
        """
        if not self.local_only:
            self._request(snapshot_download, allow_patterns=_SMALL, ignore_patterns="*/*", tqdm_class=_NoBar)
        names = self._listed()
        for path in sorted(path for pattern in _SMALL for path in self.folder.glob(pattern)):
            self.check(path.name)
        chosen = chosen_weights(names, self._shards)
        if not chosen:
            if not self.local_only:
                # Without the hub's list, the library takes what is on this machine for all and hides the reason.
                self._request(HfApi(library_name="bertnesia-explorer").list_repo_files)
            raise ModelError(
                f"{self.hub_id} has no weights that can be read at commit {self.commit[:12]}: got"
                f" {', '.join(sorted(names)) or 'no file'}; expected model.safetensors or pytorch_model.bin, in one"
                " file or in shards"
            )
        for name in chosen:
            self._file(name)
        for name in chosen:
            self.check(name)
        return [self.folder / name for name in chosen]

    def is_complete(self) -> bool:
        """Whether the weights are on this machine; all other files are downloaded before them."""
        chosen = chosen_weights(self._listed(), self._shards)
        return bool(chosen) and all((self.folder / name).is_file() for name in chosen)

    def weight_bytes(self) -> int:
        """Bytes of the weight files that would be loaded, by the hub's list; 0 if the list is not on this machine."""
        try:
            tree = get_cached_repo_tree(self.hub_id, revision=self.commit)
        except CachedRepoTreeNotFoundError:
            return 0
        sizes = {file.path: int(file.size or 0) for file in tree if "/" not in file.path}
        whole = [name for name in chosen_weights(sizes, lambda index: []) if name in sizes]
        ending = ".safetensors" if any(name.startswith("model.safetensors") for name in sizes) else ".bin"
        return sum(sizes[name] for name in whole) or sum(size for name, size in sizes.items() if name.endswith(ending))

    def _listed(self) -> set[str]:
        """The commit's files; without the hub's list, those on this machine."""
        try:
            tree = get_cached_repo_tree(self.hub_id, revision=self.commit)
        except CachedRepoTreeNotFoundError:
            return {path.name for path in self.folder.iterdir() if path.is_file()}
        return {file.path for file in tree if "/" not in file.path}

    def _shards(self, index: str) -> Sequence[str]:
        """The files that a list of shards names."""
        try:
            named = sorted(set(json.loads((self.folder / index).read_text(encoding="utf-8"))["weight_map"].values()))
            if strange := [name for name in named if name != PurePosixPath(name).name]:
                raise ValueError(f"{strange[0]!r} is no file next to it")
            return named
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{index} of {self.hub_id} cannot be read ({error!r}); expected transformers' list of shards"
            ) from error

    def _file(self, name: str) -> None:
        """Downloads a file of the commit if it is missing."""
        self._request(hf_hub_download, name, local_files_only=self.local_only, tqdm_class=_Bar)

    def check(self, name: str) -> None:
        """Raises a ``ModelError`` if a file has another checksum, also after a second download, if there can be one."""
        path = self.folder / name
        if (found := damage(path)) and not self.local_only and not constants.HF_HUB_OFFLINE:
            log.warning("%s of %s %s; it is downloaded again", name, self.hub_id, found)
            delete_damaged(path)
            self._file(name)
            if found := damage(path):
                delete_damaged(path)
        if found:
            way = f"download it again with: python -m probing fetch {self.hub_id}"
            raise ModelError(f"{name} of {self.hub_id} {found}; {way}")

    def _request(self, call: Callable[..., T], *names: str, **options: Any) -> T:
        return _request(call, self.hub_id, *names, revision=self.commit, **options)


def open_snapshot(hub_id: str, revision: str | None = None, local_only: bool = False) -> Snapshot:
    """A model at the commit of a revision (None: the main branch); only the configuration is downloaded.

    If the hub cannot be reached, the commit that the hub's cache on this machine has for the revision is taken.
    """
    options: dict[str, Any] = {"local_files_only": local_only}
    resolve = HfApi(library_name="bertnesia-explorer").resolve_revision
    commit = _request(resolve, hub_id, revision=revision, **options).resolved
    try:
        config = _request(hf_hub_download, hub_id, "config.json", revision=commit, tqdm_class=_NoBar, **options)
    except ModelError as error:
        if not isinstance(error.__cause__, RemoteEntryNotFoundError):
            raise
        raise ModelError(
            f"{hub_id} has no config.json at commit {commit[:12]}; expected a whole model (an adapter: its folder)"
        ) from error
    snapshot = Snapshot(hub_id, commit, Path(config).parent, local_only)
    snapshot.check("config.json")
    return snapshot


def is_on_this_machine(hub_id: str, revision: str | None = None) -> bool:
    """Whether a model of the hub can be loaded without a download."""
    if not Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=hub_id, repo_type="model")).is_dir():
        return False
    try:
        return open_snapshot(hub_id, revision, local_only=True).is_complete()
    except ModelError:
        return False


def _request(call: Callable[..., T], hub_id: str, *names: str, revision: str | None, **options: Any) -> T:
    """The result of a question or a download, whose errors are ``ModelError``s."""
    try:
        return patiently(partial(call, hub_id, *names, revision=revision, **options))
    except HUB_ERRORS as error:
        reason = in_words(error, hub_id, revision=revision)
        raise ModelError(reason if hub_id in reason else f"{hub_id} cannot be downloaded: {reason}") from error


#: Whether this thread loads local models only.
_LOCAL_ONLY: ContextVar[bool] = ContextVar("local_only", default=False)


@contextmanager
def without_the_hub() -> Iterator[None]:
    """Inside the ``with`` block only models on this machine load, and the hub is not contacted."""
    before = _LOCAL_ONLY.set(True)
    try:
        yield
    finally:
        _LOCAL_ONLY.reset(before)


@dataclass(frozen=True)
class Located:
    """The files of a model on this machine."""

    title: str  #: as the user or the registry names the model
    folder: Path
    hub_id: str = ""  #: empty for a folder of the user's
    revision: str = LOCAL  #: commit on the hub, or ``LOCAL``
    fetched: tuple[Path, ...] = ()

    @property
    def at_commit(self) -> str:
        """Hub id and commit, as ``ID@COMMIT``; empty for a folder."""
        return f"{self.hub_id}@{self.revision}" if self.hub_id else ""

    @cached_property
    def weights_id(self) -> str:
        """sha256 over the weight files."""
        return identity_of(self.fetched or weight_files(self.folder))

    @property
    def has_tokenizer(self) -> bool:
        """Whether it has a vocabulary."""
        return has_tokenizer(path.name for path in self.folder.iterdir())


def locate(source: str | Path, revision: str | None) -> Located:
    """The files of a model; those of a hub id are downloaded, unless they are on this machine.

    ModelError: no such folder or hub id, a failed download, a damaged file, or a case of ``kernel.models.checkpoint``.
    """
    located = Located(str(source), Path(source))
    if not located.folder.is_dir():
        if located.folder.is_absolute():
            raise ModelError(f"no folder {source}; expected a model folder")
        snapshot = open_snapshot(str(source), revision, _LOCAL_ONLY.get())
        check_files(source, ModelFiles(snapshot.folder, complete=False))
        located = Located(str(source), snapshot.folder, snapshot.hub_id, snapshot.commit, tuple(snapshot.bring()))
    check_files(source, ModelFiles(located.folder))
    return located


def check_configuration(source: str | Path, revision: str | None = None) -> None:
    """Checks a model's folder, or the ``config.json`` of a hub id, without more; ModelError as ``locate``."""
    here = Path(source).is_dir()
    folder = Path(source) if here else open_snapshot(str(source), revision, _LOCAL_ONLY.get()).folder
    check_files(source, ModelFiles(folder, complete=here))
