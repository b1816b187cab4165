"""Models and data sets are data: reads ``registry.toml`` and finds what a name means."""

import hashlib
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from probing.core.errors import RegistryError

REPOSITORY = Path(__file__).resolve().parents[2]
REGISTRY = Path(__file__).resolve().parents[1] / "registry.toml"


class ModelEntry(BaseModel):
    """A model that menus offer.

    Attributes:
        name: how results call it.
        source: hub id, or a path inside the repository for a shipped model.
        revision: pinned hub commit or tag; empty for a shipped model.
        base: name of the model whose head it borrows and which it was fine-tuned from; empty for a base.
        objective: what it was trained for.
        licence: of the weights.
        paper: where it is described.
        shipped: whether it lies in the repository.
        note: one sentence for the reader.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: str
    revision: str = ""
    base: str = ""
    objective: str = "pre-training"
    licence: str
    paper: str = ""
    shipped: bool = False
    note: str = ""

    @property
    def location(self) -> str:
        """What to load: an absolute folder for a shipped model, else the hub id."""
        return str(REPOSITORY / self.source) if self.shipped else self.source


class DataFile(BaseModel):
    """One file of a data set: its path inside the fetched folder, and its sha256 where known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    sha256: str = ""
    url: str = ""


class DataEntry(BaseModel):
    """A data set that can be fetched; ``folder`` is its name in a folder of local copies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    folder: str
    licence: str
    paper: str = ""
    homepage: str = ""
    url: str = ""
    archive_root: str = ""
    files: tuple[DataFile, ...] = ()


class Registry(BaseModel):
    """The whole registry."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: tuple[ModelEntry, ...]
    data: tuple[DataEntry, ...]

    def model(self, name: str) -> ModelEntry:
        """The entry of that name.

        Raises:
            RegistryError: naming what there is.
        """
        for entry in self.models:
            if entry.name == name:
                return entry
        raise RegistryError(f"no model {name!r} in the registry; it has {', '.join(e.name for e in self.models)}")

    def data_set(self, name: str) -> DataEntry:
        """The data set of that name.

        Raises:
            RegistryError: naming what there is.
        """
        for entry in self.data:
            if entry.name == name:
                return entry
        raise RegistryError(f"no data set {name!r} in the registry; it has {', '.join(e.name for e in self.data)}")


def read_registry(path: Path = REGISTRY) -> Registry:
    """Reads and checks the registry.

    Raises:
        RegistryError: if it is missing or malformed.
    """
    try:
        return Registry.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise RegistryError(f"{path} is not a registry: {error}") from error


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
