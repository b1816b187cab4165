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

from probing.kernel.errors import RegistryError
from probing.kernel.provenance import Frozen

#: The clone that holds data and pages: ``PROBING_REPOSITORY`` if it is set, else the folder that holds the package.
REPOSITORY = Path(os.environ.get("PROBING_REPOSITORY") or Path(__file__).parents[2]).expanduser().resolve()
REGISTRY = Path(__file__).with_name("registry.toml")


class ModelEntry(Frozen):
    """A model that menus offer."""

    name: str
    #: Hub id, or a path inside the repository for a shipped model.
    source: str
    #: Pinned hub commit or tag; empty for a shipped model.
    revision: str = ""
    #: Name of the model that it was fine-tuned from and whose head it uses; empty for a base.
    base: str = ""
    objective: str = "pre-training"
    licence: str
    paper: str = ""
    shipped: bool = False
    note: str = ""
    #: In figures; empty leaves it to the objective and the family.
    colour: Annotated[str, Field(pattern=r"^(#[0-9A-Fa-f]{6})?$")] = ""
    #: Folder of the base when ``finetune`` read it, if it was a user's folder.
    base_folder: str = ""
    #: ``ID@COMMIT`` of the base when it was read, if it came from the hub, and ``base_weights`` if they were recorded.
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
    """One file of a data set: its path inside the fetched folder and, if it may differ, in a folder of local copies."""

    path: str
    local: str = ""
    sha256: str = ""
    url: str = ""

    def copy_in(self, folder: Path) -> Path:
        """Where its local copy is, or would be."""
        return folder / self.local if self.local and not (folder / self.path).is_file() else folder / self.path


class DataEntry(Frozen):
    """A data set that can be fetched; ``folder`` is its name in a folder of local copies."""

    name: str
    title: str
    folder: str
    licence: str
    paper: str = ""
    homepage: str = ""
    url: str = ""
    archive_root: str = ""
    #: How the files without an address were made from those that have one.
    made: str = ""
    #: The data set that ``reproduce`` replaces by this one if only this one is available.
    stands_in_for: str = ""
    #: Without any the archive at ``url`` holds all, below ``archive_root``; ``.tar.gz`` addresses are members.
    files: tuple[DataFile, ...] = ()

    @property
    def has_address(self) -> bool:
        """Whether it can be downloaded; others are taken from local copies."""
        return not self.made


class FamilyMember(Frozen):
    """One fine-tuned model of a family."""

    objective: str
    model: str
    #: If it is not the family's (a cased model among uncased ones).
    base: str = ""
    #: ``shipped``; ``hub``, a registry entry that the hub serves; ``finetune``, made here from the base.
    how: Literal["shipped", "hub", "finetune"]


class FamilyEntry(Frozen):
    """A base with the models that were fine-tuned from it, one for each objective."""

    name: str
    title: str
    base: str
    members: tuple[FamilyMember, ...]
    #: Further models of which results ship and no weights: controls, and other seeds.
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
        """The entry of that name."""
        return _named(self.models, name, "model")

    def data_set(self, name: str) -> DataEntry:
        """The data set of that name."""
        return _named(self.data, name, "data set")

    def family(self, name: str) -> FamilyEntry:
        """The family of that name."""
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
    return str(dict(one.split(", ", 1) for one in urls).get("Source", ""))


def read_registry(path: Path | None = None) -> Registry:
    """Reads and checks the registry, once until the file changes; ``PROBING_REGISTRY`` names another file."""
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
