"""Remotes of shared files with one small interface: the Hugging Face Hub, or a folder in its place."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from probing.core.capabilities.registry import HEADS
from probing.core.errors import HubError
from probing.core.files.atomic import atomic_copy
from probing.workflows.share.manifest import CARD, MANIFEST, read_manifest

T = TypeVar("T")


def repository_type(what: str) -> str:
    """The hub's name for a repository of that content."""
    return "model" if what == HEADS else "dataset"


class LocalFolder:
    """A plain folder with a single revision: the checksum of its manifest, which has the checksums of all other
    files.
    """

    def __init__(self, folder: Path):
        self.folder, self.title = folder, str(folder)

    def put(self, folder: Path, what: str, message: str) -> str:
        manifest = self.folder / MANIFEST
        earlier: set[str] = set()
        if self.folder.exists() and not self.folder.is_dir():
            raise HubError(f"{self.folder} is a file; name a folder")
        if manifest.is_file():
            there, new = read_manifest(manifest), read_manifest(folder / MANIFEST)
            if (there.what, there.model) != (new.what, new.model):
                raise HubError(
                    f"{self.folder} holds {there.what} of {there.model}, which {new.what} of {new.model} would replace;"
                    " name another folder"
                )
            earlier = {file.path for file in there.files}
        elif self.folder.is_dir() and (found := [path for path in self.folder.iterdir() if not self._ours(path)]):
            raise HubError(
                f"{self.folder} holds {found[0].name} and no {MANIFEST}; name an empty folder, or one that was pushed"
                " to before"
            )
        names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
        # The manifest last: until then a pull finds wrong checksums, and refuses.
        for name in sorted(names, key=lambda name: (name == MANIFEST, name)):
            atomic_copy(folder / name, self.folder / name)
        for gone in sorted(earlier - set(names)):
            (self.folder / gone).unlink(missing_ok=True)
        return self.resolve(None)

    @staticmethod
    def _ours(path: Path) -> bool:
        """Whether this may be left from a killed push."""
        return path.name in ("heads", "data", CARD) or path.suffix == ".tmp"

    def resolve(self, revision: str | None) -> str:
        read_manifest(self.folder / MANIFEST)
        commit = hashlib.sha256((self.folder / MANIFEST).read_bytes()).hexdigest()[:40]
        if revision not in (None, "main", commit):
            raise HubError(
                f"{self.folder} is at revision {commit}, expected {revision}; a folder keeps its newest revision only: "
                "pull that with --revision main"
            )
        return commit

    def names(self, commit: str) -> list[str]:
        found = (path for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".tmp")
        return sorted(path.relative_to(self.folder).as_posix() for path in found)

    def bring(self, commit: str, names: Sequence[str], target: Path) -> None:
        for name in names:
            try:
                atomic_copy(self.folder / name, target / name)
            except FileNotFoundError as error:
                raise HubError(f"{self.folder} has no {name}; nothing was taken") from error


class HubRepository:
    """A repository of the Hugging Face Hub; the token is the one that ``hf auth login`` keeps."""

    def __init__(self, name: str, what: str, private: bool = False):
        from huggingface_hub import HfApi

        self.name, self.what, self.private = name, what, private
        self.title = f"{name} ({repository_type(what)} on the hub)"
        self._api = HfApi(library_name="bertnesia-explorer")

    def put(self, folder: Path, what: str, message: str) -> str:
        self._asked("push to", self._api.create_repo, private=self.private or None, exist_ok=True)
        # Of a large folder the hub's library makes several commits; in between, checksums are wrong and a pull refuses.
        # Files of earlier pushes that this one lacks are deleted.
        deleted = ["heads/*", "data/*"]
        done = self._asked(
            "push to", self._api.upload_folder, folder_path=folder, commit_message=message, delete_patterns=deleted
        )
        return str(done.oid)

    def resolve(self, revision: str | None) -> str:
        return str(self._asked("find", self._api.repo_info, revision=revision or "main").sha)

    def exists(self) -> bool:
        """Whether the hub has a repository of this name and kind."""
        return bool(self._asked("look for", self._api.repo_exists))

    def names(self, commit: str) -> list[str]:
        return sorted(self._asked("list", self._api.list_repo_files, revision=commit))

    def bring(self, commit: str, names: Sequence[str], target: Path) -> None:
        self._asked(
            "download from", self._api.snapshot_download, revision=commit, local_dir=target, allow_patterns=list(names)
        )

    def _asked(self, doing: str, call: Callable[..., T], **options: Any) -> T:
        """The result of a call of the hub's library for this repository; its errors become one that says what to do."""
        from probing.models.sources.reasons import HUB_ERRORS, in_words, patiently

        kind = repository_type(self.what)
        try:
            return patiently(partial(call, repo_id=self.name, repo_type=kind, **options))
        except HUB_ERRORS as error:
            why = in_words(error, self.name, kind.replace("dataset", "data set"), options.get("revision"))
            raise HubError(f"cannot {doing} {self.title}: {why}") from error
