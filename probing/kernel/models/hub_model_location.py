"""Where the files of a model are: in a user's folder, or in the hub's cache at the commit that they came from."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from probing.kernel.errors import ModelError
from probing.kernel.models.checkpoint import ModelFiles, has_tokenizer
from probing.kernel.models.checkpoint_cases import check_files
from probing.kernel.models.hub import open_snapshot
from probing.kernel.models.hub_weights import identity_of, weight_files
from probing.kernel.provenance import LOCAL

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

    ModelError: no such folder or hub id, a failed download, a damaged file, or a case of ``kernel.models.checkpoint_cases``.
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
