"""What a shared folder holds: every file with its sha256, so that a pull takes nothing damaged and nothing foreign."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import ValidationError, field_validator, model_validator

from probing.core.capabilities.registry import HEADS, everything_shared
from probing.core.characters import in_short
from probing.core.errors import HubError
from probing.core.files.checksums import file_sha256
from probing.core.files.records import Frozen
from probing.core.head_kinds import STORED
from probing.store.kinds import kinds_of

MANIFEST = "manifest.json"
CARD = "README.md"
#: Names of shared models, which are put into commands to copy: no path, no step out of a folder, and no sign of a
#: shell.
MODEL_NAME = re.compile(r"(?!.*\.\.)\w[\w .@/+=,:-]{0,199}")
#: The folder of the files of runs.
DATA = "data"


def path_of(what: str) -> re.Pattern[str]:
    """The form of the paths of shared files. A path outside these folders is refused; ``pull_refusals`` refuses unknown
    tables.
    """
    if what == HEADS:
        return re.compile(rf"{HEADS}/[0-9a-f]{{16}}/({'|'.join(STORED)})-seed[0-9]+/layer-[0-9]{{2,3}}\.safetensors")
    return re.compile(rf"{DATA}/[a-z_]+({'|'.join(dict.fromkeys(kind.names for kind in kinds_of(what)))})\.parquet")


class SharedFile(Frozen):
    """One file: its path with ``/`` below the shared folder, the sha256 of its bytes, and their number."""

    path: str
    sha256: str
    size: int

    @field_validator("sha256")
    @classmethod
    def _is_a_sum(cls, value: str) -> str:
        if not re.fullmatch("[0-9a-f]{64}", value):
            raise ValueError(f"{value!r} is no sha256 of 64 hex digits")
        return value


class SharedManifest(Frozen):
    """What is shared, of which model, made by which version of the program.

    Attributes:
        format: version of this file's format.
        what: one of ``everything_shared``.
        model: name of the model.
        weights: identity of the encoder's weights for heads, else empty.
        code_version: of the program that pushed.
        files: all files but the manifest, by path.
    """

    format: Literal[1] = 1
    what: str
    model: str
    weights: str = ""
    code_version: str
    files: tuple[SharedFile, ...]

    @field_validator("what")
    @classmethod
    def _is_shared(cls, value: str) -> str:
        if value not in everything_shared():
            raise ValueError(f"got {value!r}, expected one of {', '.join(everything_shared())}")
        return value

    @model_validator(mode="after")
    def _paths_stay_inside(self) -> "SharedManifest":
        form = path_of(self.what)
        for file in self.files:
            if file.path != CARD and not form.fullmatch(file.path):
                raise ValueError(f"the path {file.path!r} is none of {self.what}; expected {form.pattern}")
        if len({file.path for file in self.files}) != len(self.files):
            raise ValueError("a path is listed twice")
        if not self.content:
            raise ValueError(f"it lists no {self.what}")
        return self

    @property
    def content(self) -> tuple[SharedFile, ...]:
        """The files without the card."""
        return tuple(file for file in self.files if file.path != CARD)


def describe(folder: Path, what: str, model: str, weights: str, code_version: str) -> SharedManifest:
    """The manifest of all files below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    files = [
        SharedFile(path=path.relative_to(folder).as_posix(), sha256=file_sha256(path), size=path.stat().st_size)
        for path in paths
    ]
    return SharedManifest(what=what, model=model, weights=weights, code_version=code_version, files=tuple(files))


def refuse_name(model: str) -> None:
    """Raises a ``HubError`` for a name that no shared model has."""
    if not MODEL_NAME.fullmatch(model):
        expected = "up to 200 letters, digits and signs such as - and /"
        raise HubError(f"got the model {in_short(model)!r}, expected {expected}; give it another name")


def read_manifest(path: Path) -> SharedManifest:
    """Reads a manifest.

    Raises:
        HubError: if it is missing, damaged or names a path outside.
    """
    try:
        found = SharedManifest.model_validate_json(path.read_text(encoding="utf-8"))
        refuse_name(found.model)
        return found
    except FileNotFoundError as error:
        raise HubError(f"{path.parent} has no {path.name}; expected what `probing push` wrote") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{step}: " for step in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise HubError(f"{path.name} is not what `probing push` writes: {where}{said}; nothing was taken") from error
    except (OSError, UnicodeDecodeError) as error:
        raise HubError(f"{path.name} is not what `probing push` writes: {error}; nothing was taken") from error


def refuse_strangers(names: Iterable[str], manifest: SharedManifest, title: str) -> None:
    """Raises a ``HubError`` that names the first file that is not listed, or the first listed one that is missing."""
    there = set(names)
    listed = {file.path for file in manifest.files}
    folders = tuple({path.split("/")[0] + "/" for path in listed if "/" in path})
    if foreign := sorted(name for name in there - listed if folders and name.startswith(folders)):
        raise HubError(
            f"{title} holds {foreign[0]}, which its {MANIFEST} does not list: a foreign file; nothing was taken"
        )
    if missing := sorted(listed - there):
        raise HubError(
            f"{title} lacks {missing[0]}, which its {MANIFEST} lists; nothing was taken, ask its owner to push again"
        )


def refuse_damage(folder: Path, manifest: SharedManifest, title: str) -> None:
    """Compares every file with its checksum and size; all damaged ones are deleted, so that the next pull fetches them
    again.

    Raises:
        HubError: naming the number of damaged files, and of the first one its checksum and the recorded one.
    """
    damaged = []
    for file in manifest.files:
        path = folder / file.path
        got, size = (file_sha256(path), path.stat().st_size) if path.is_file() else ("none", 0)
        if (got, size) != (file.sha256, file.size):
            path.unlink(missing_ok=True)
            damaged.append(
                f"{file.path} of {title} has sha256 {got} ({size:,} bytes), {MANIFEST} records {file.sha256}"
                f" ({file.size:,} bytes)"
            )
    if damaged:
        others = f" ({len(damaged):,} of {len(manifest.files):,} files are damaged)" if len(damaged) > 1 else ""
        raise HubError(
            f"{damaged[0]}: the copy is damaged or was changed{others}; nothing was taken, pull again or ask its owner"
            " to push again"
        )
