"""A model at a commit of the Hugging Face Hub, with its files in the hub's own cache on this machine."""

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from huggingface_hub import HfApi, constants, get_cached_repo_tree, hf_hub_download, snapshot_download
from huggingface_hub.errors import CachedRepoTreeNotFoundError, RemoteEntryNotFoundError
from huggingface_hub.utils import tqdm

from probing.kernel.errors import ModelError
from probing.kernel.files_checksums import file_sha256
from probing.kernel.models.checkpoint import chosen_weights
from probing.kernel.models.hub_reasons import HUB_ERRORS, in_words, patiently

log = logging.getLogger(__name__)
T = TypeVar("T")

#: Configuration, tokenizer and lists of shards: all that is read but the weights. Files in subfolders belong to other
#: software.
_SMALL = (
    "config.json",
    "tokenizer*.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges.txt",
    "*.model",
    "*.index.json",
)
_NESTED = ("*/*",)


class _NoBar(tqdm):
    """Small files are downloaded without a progress bar."""

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings | {"disable": True})


@dataclass(frozen=True)
class Snapshot:
    """A model at a commit, with the folder of its files on this machine."""

    hub_id: str
    commit: str
    folder: Path
    local_only: bool

    def bring(self) -> list[Path]:
        """The weight files in order; what is missing is downloaded, and the weights compared with the hub's sums.

        A file with another checksum is downloaded once more. ModelError: it cannot be downloaded or is damaged, or the
        model has no weights that can be read.
        """
        small = partial(
            snapshot_download,
            self.hub_id,
            revision=self.commit,
            allow_patterns=list(_SMALL),
            ignore_patterns=list(_NESTED),
        )
        if not self.local_only:
            self._request(partial(small, tqdm_class=_NoBar))
        names, sums = self._listed()
        chosen = chosen_weights(names, self._shards)
        if not chosen:
            raise ModelError(
                f"{self.hub_id} has no weights that can be read at commit {self.commit[:12]}: got"
                f" {', '.join(sorted(names)) or 'no file'}; expected model.safetensors or pytorch_model.bin, in one"
                " file or in shards"
            )
        for name in chosen:
            self._file(name)
        for name in chosen:
            self._check(name, sums.get(name) or self._sum_of_blob(name))
        return [self.folder / name for name in chosen]

    def is_complete(self) -> bool:
        """Whether the weights are on this machine; all other files are downloaded before them."""
        chosen = chosen_weights(self._listed()[0], self._shards)
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

    def _listed(self) -> tuple[set[str], dict[str, str]]:
        """The commit's files, and the sha256 of large ones; without the hub's list, those on this machine."""
        try:
            tree = get_cached_repo_tree(self.hub_id, revision=self.commit)
        except CachedRepoTreeNotFoundError:
            return {path.name for path in self.folder.iterdir() if path.is_file()}, {}
        return {file.path for file in tree if "/" not in file.path}, {
            file.path: file.lfs.sha256 for file in tree if file.lfs is not None
        }

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

    def _file(self, name: str, **more: Any) -> Path:
        """A file of the commit, downloaded if it is missing."""
        call = partial(
            hf_hub_download, self.hub_id, name, revision=self.commit, local_files_only=self.local_only, **more
        )
        return Path(self._request(call))

    def _sum_of_blob(self, name: str) -> str:
        """The sha256 that the hub's cache calls a large file by; empty if the cache holds no links."""
        path = self.folder / name
        blob = path.readlink().name if path.is_symlink() else ""
        return blob if re.fullmatch("[0-9a-f]{64}", blob) else ""

    def _check(self, name: str, expected: str) -> None:
        """Raises a ``ModelError`` if a file has another checksum, also after a second download; then it is deleted."""
        path = self.folder / name
        if not expected or (got := file_sha256(path)) == expected:
            return
        what = f"{name} of {self.hub_id} has sha256 {got[:12]}, the hub has {expected[:12]}: the download is damaged"
        if not self.local_only and not constants.HF_HUB_OFFLINE:
            log.warning("%s; it is downloaded again", what)
            self._file(name, force_download=True)
            if file_sha256(path) == expected:
                return
        for damaged in (path.parent / path.readlink(), path) if path.is_symlink() else (path,):
            damaged.unlink(missing_ok=True)
        raise ModelError(f"{what} and was deleted; download it again with: python -m probing fetch {self.hub_id}")

    def _request(self, call: Callable[[], T]) -> T:
        """The result of a download, whose errors are ``ModelError``s."""
        return _request(call, self.hub_id, self.commit)


def open_snapshot(hub_id: str, revision: str | None = None, local_only: bool = False) -> Snapshot:
    """A model at the commit of a revision (None: the main branch); only the configuration is downloaded.

    If the hub cannot be reached, the commit that the hub's cache on this machine has for the revision is taken.
    """
    api = HfApi(library_name="bertnesia-explorer")
    resolved = _request(
        partial(api.resolve_revision, hub_id, revision=revision, local_files_only=local_only), hub_id, revision
    )
    commit = resolved.resolved
    try:
        config = _request(
            partial(
                hf_hub_download, hub_id, "config.json", revision=commit, local_files_only=local_only, tqdm_class=_NoBar
            ),
            hub_id,
            commit,
        )
    except ModelError as error:
        if not isinstance(error.__cause__, RemoteEntryNotFoundError):
            raise
        raise ModelError(
            f"{hub_id} has no config.json at commit {commit[:12]}; expected a model in the format of transformers"
        ) from error
    return Snapshot(hub_id, commit, Path(config).parent, local_only)


def is_on_this_machine(hub_id: str, revision: str | None = None) -> bool:
    """Whether a model of the hub can be loaded without a download."""
    try:
        return open_snapshot(hub_id, revision, local_only=True).is_complete()
    except ModelError:
        return False


def _request(call: Callable[[], T], hub_id: str, revision: str | None) -> T:
    try:
        return patiently(call)
    except HUB_ERRORS as error:
        reason = in_words(error, hub_id, revision=revision)
        raise ModelError(reason if hub_id in reason else f"{hub_id} cannot be downloaded: {reason}") from error
