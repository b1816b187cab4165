"""Models and data sets are data: reads ``registry.toml`` and finds entries by name."""

import os
import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from probing.core.errors import RegistryError
from probing.core.files.records import Frozen

#: The clone that holds data and pages: ``PROBING_REPOSITORY`` if it is set, else the folder that holds the package.
REPOSITORY = Path(os.environ.get("PROBING_REPOSITORY") or Path(__file__).parents[2]).expanduser().resolve()
REGISTRY = Path(__file__).resolve().parents[1] / "registry.toml"


class ModelEntry(Frozen):
    """A model that menus offer.

    Attributes:
        name: how results call it.
        source: hub id, or a path inside the repository for a shipped model.
        revision: pinned hub commit or tag; empty for a shipped model.
        base: name of the model that it was fine-tuned from and whose head it uses; empty for a base.
        objective: what it was trained for.
        licence: of the weights.
        paper: where it is described.
        shipped: whether it is in the repository.
        note: one sentence for the reader.
        colour: in figures, as ``#RRGGBB``; empty leaves it to the objective and the family.
        base_folder: folder of the base when ``finetune`` read it, if it was a user's folder.
        base_source: hub id and commit of the base when it was read, as ``ID@COMMIT``, if it came from the hub.
        base_weights: identity of the base's weights at that time; empty if it was not recorded.
    """

    name: str
    source: str
    revision: str = ""
    base: str = ""
    objective: str = "pre-training"
    licence: str
    paper: str = ""
    shipped: bool = False
    note: str = ""
    colour: Annotated[str, Field(pattern=r"^(#[0-9A-Fa-f]{6})?$")] = ""
    base_folder: str = ""
    base_source: str = ""
    base_weights: str = ""

    @property
    def location(self) -> str:
        """What to load: an absolute folder for a shipped model, else the hub id."""
        return str(REPOSITORY / self.source) if self.shipped else self.source

    @property
    def hub_id(self) -> str:
        """Its full id on the hub; empty for a folder."""
        return (
            ""
            if self.shipped or not self.source or Path(self.source).is_absolute() or Path(self.source).is_dir()
            else self.source
        )

    @property
    def lacks_data(self) -> bool:
        """Whether the model ships with the repository, and this installation has none."""
        return self.shipped and not has_data()


class DataFile(Frozen):
    """One file of a data set: its path inside the fetched folder, and its sha256 if known.

    Attributes:
        local: its path in a folder of local copies, if it may differ from ``path``.
    """

    path: str
    local: str = ""
    sha256: str = ""
    url: str = ""

    def copy_in(self, folder: Path) -> Path:
        """Where its local copy is, or would be."""
        return folder / self.local if self.local and not (folder / self.path).is_file() else folder / self.path


class DataEntry(Frozen):
    """A data set that can be fetched.

    Attributes:
        folder: its name in a folder of local copies.
        files: if none are listed, the archive at ``url`` holds all of it, below ``archive_root``. A file whose address
            ends in ``.tar.gz`` is the member of that name in the archive.
        made: how the files without an address were made from those that have one.
        stands_in_for: the data set that ``reproduce`` replaces by this one if only this one is available.
    """

    name: str
    title: str
    folder: str
    licence: str
    paper: str = ""
    homepage: str = ""
    url: str = ""
    archive_root: str = ""
    made: str = ""
    stands_in_for: str = ""
    files: tuple[DataFile, ...] = ()


class FamilyMember(Frozen):
    """One fine-tuned model of a family.

    Attributes:
        objective: as ``runs.objective`` calls it.
        model: its name; for ``finetune`` what the model will be called.
        base: what it was fine-tuned from, if that is not the family's base (a cased model among uncased ones).
        how: ``shipped``; ``hub``, a registry entry that the hub serves; ``finetune``, made here from the base.
    """

    objective: str
    model: str
    base: str = ""
    how: Literal["shipped", "hub", "finetune"]


class FamilyEntry(Frozen):
    """A base with the models that were fine-tuned from it, one for each objective.

    Attributes:
        name: what ``reproduce --family`` takes.
        title: for readers.
        base: name of the base model.
        members: the fine-tuned models.
        results_only: further models of the family, of which results ship and no weights: controls, and other seeds.
    """

    name: str
    title: str
    base: str
    members: tuple[FamilyMember, ...]
    results_only: tuple[str, ...] = ()


_Entry = TypeVar("_Entry", ModelEntry, DataEntry, FamilyEntry)


class Registry(Frozen):
    """The whole registry."""

    models: tuple[ModelEntry, ...]
    data: tuple[DataEntry, ...]
    families: tuple[FamilyEntry, ...] = ()

    @model_validator(mode="after")
    def _families_name_models(self) -> "Registry":
        names = {entry.name for entry in self.models}
        for family in self.families:
            named = [
                family.base,
                *(m.base for m in family.members if m.base),
                *(m.model for m in family.members if m.how != "finetune"),
            ]
            if missing := [name for name in named if name not in names]:
                raise ValueError(f"the family {family.name} names {missing}, which are no models of the registry")
        return self

    @property
    def results_only(self) -> frozenset[str]:
        """The models of all families of which results ship and no weights."""
        return frozenset(name for family in self.families for name in family.results_only)

    def model(self, name: str) -> ModelEntry:
        """The entry of that name.

        Raises:
            RegistryError: if there is none; the message lists the names.
        """
        return _named(self.models, name, "model")

    def data_set(self, name: str) -> DataEntry:
        """The data set of that name.

        Raises:
            RegistryError: if there is none; the message lists the names.
        """
        return _named(self.data, name, "data set")

    def family(self, name: str) -> FamilyEntry:
        """The family of that name.

        Raises:
            RegistryError: if there is none; the message lists the names.
        """
        return _named(self.families, name, "family")


def _named(entries: Sequence[_Entry], name: str, what: str) -> _Entry:
    for entry in entries:
        if entry.name == name:
            return entry
    raise RegistryError(f"no {what} {name!r} in the registry; it has {', '.join(e.name for e in entries)}")


def has_data() -> bool:
    """Whether this installation has the repository's data; a package that was installed from a wheel has none."""
    return (REPOSITORY / "data" / "facts").is_dir()


def where_data_are(what: str) -> str:
    """What to do if the repository's data are missing, for an error about something that ships with them."""
    address = published_at()
    return (
        f"{what} ships with the repository and not with the installed package; clone the repository"
        f"{' ' + address if address else ''} and set the environment variable PROBING_REPOSITORY to its folder before"
        " Python starts"
    )


def published_at() -> str:
    """The repository's address, ``Source`` of ``[project.urls]`` in pyproject.toml; empty if that names none."""
    try:
        urls = metadata("bertnesia-explorer").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return dict(one.split(", ", 1) for one in urls).get("Source", "")


def read_registry(path: Path | None = None) -> Registry:
    """Reads and checks the registry, once until the file changes; ``PROBING_REGISTRY`` names a file that replaces the
    program's.

    Raises:
        RegistryError: if it is missing or malformed.
    """
    path = path or Path(os.environ.get("PROBING_REGISTRY") or REGISTRY)
    try:
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise RegistryError(f"{path} is not a registry: {error}") from error


@lru_cache(maxsize=4)
def _read(path: Path, changed: int, size: int) -> Registry:
    # A probe of one model asks for the registry ten times, and parsing it takes longer than all else that finding a
    # model does.
    return Registry.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


def name_of_model(source: str | Path) -> str:
    """How results call a model that the registry does not have: the last part of its folder or hub id.

    Trainer gives the checkpoints of every training the same names, so a checkpoint has its training's name, too:
    ``PARENT/checkpoint-N``. A snapshot in the hub's cache is called by its repository: ``OWNER/NAME@COMMIT``.
    """
    # A link keeps its own name.
    *_, cache, parent, name = ["", "", "", *Path(os.path.abspath(Path(source).expanduser())).parts]  # noqa: PTH100
    if parent == "snapshots" and cache.startswith("models--"):
        return f"{cache.removeprefix('models--').replace('--', '/', 1)}@{name[:12]}"
    return f"{parent}/{name}" if re.fullmatch(r"checkpoint-\d+", name) and parent.strip("/") else name


def name_in_files(model: str) -> str:
    """A model's name as part of a file's name."""
    return model.replace("/", "--")
