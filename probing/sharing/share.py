"""A share: a folder with a card, a manifest and the files of heads or runs, and what these must be before they are
pushed or pulled.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa
from pydantic import Field, ValidationError, model_validator

from probing.facts.kind import CANDIDATES
from probing.facts.stored_run import run_files
from probing.kernel.errors import HubError, StoreError
from probing.kernel.fact import MASK, Fact, fill
from probing.kernel.files import file_sha256
from probing.kernel.models.names import STORED
from probing.kernel.provenance import Frozen, stored_configuration, tokens_checksum
from probing.kernel.store.check import check_store
from probing.kernel.store.columns import KEYS, TABLES, Table
from probing.kernel.store.kinds import FACTS, Kind, light
from probing.kernel.store.opening import write_counts
from probing.kernel.store.parquet import files_of, read_table, table_of
from probing.kernel.store.seals import read_strange
from probing.kernel.store.strange import Contents
from probing.kernel.text import in_short
from probing.kernel.version import __version__
from probing.subjects import HEADS, everything_shared, kinds_of

T = TypeVar("T")
MANIFEST, CARD = "manifest.json", "README.md"
#: The folder of the files of runs.
DATA = "data"
#: Names of shared models, which are put into commands to copy: no path, no step out of a folder, and no sign of a
#: shell.
MODEL_NAME = re.compile(r"(?!.*\.\.)\w[\w .@/+=,:-]{0,199}")
#: Maximum values of a column, and bytes of all texts of a share when they are read. A few kilobytes can expand to far
#: more.
MAX_VALUES, MAX_TEXT = 200_000_000, 1 << 30
#: Maximum bytes of one text, several times those of the longest sentence and configuration that are known.
LONGEST_TEXT = 100_000
#: The form of the paths of shared heads (True), and of all other shared files.
PATHS = {True: rf"{HEADS}/[0-9a-f]{{16}}/({'|'.join(STORED)})-seed[0-9]+/layer-[0-9]{{2,3}}\.safetensors"}
PATHS[False] = rf"{DATA}/[a-z_]+(-[^/\\\0]+)?\.parquet"


class SharedFile(Frozen):
    """One file: its path with ``/`` below the shared folder, the sha256 of its bytes, and their number."""

    path: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    size: int


class Manifest(Frozen):
    """What is shared, of which model, made by which version of the program."""

    format: Literal[1] = 1  #: version of this file's format
    what: str  #: one of ``everything_shared``
    model: str  #: name of the model
    weights: str = ""  #: identity of the encoder's weights for heads, else empty
    code_version: str = __version__  #: of the program that pushed
    files: tuple[SharedFile, ...]  #: all files but the manifest, by path

    @model_validator(mode="after")
    def _is_sound(self) -> "Manifest":
        if self.what not in everything_shared():
            raise ValueError(f"got {in_short(self.what)!r}, expected one of {', '.join(everything_shared())}")
        refuse_name(self.model)
        form = PATHS[self.what == HEADS]
        for file in self.content:
            if not re.fullmatch(form, file.path):
                raise ValueError(f"the path {in_short(file.path)!r} is none of {self.what}; expected {form}")
        if len({file.path for file in self.files}) != len(self.files):
            raise ValueError("a path is listed twice")
        if not self.content:
            raise ValueError(f"it lists no {self.what}")
        return self

    @property
    def content(self) -> tuple[SharedFile, ...]:
        """The files without the card."""
        return tuple(file for file in self.files if file.path != CARD)


def refuse_name(model: str) -> None:
    """Raises a ``HubError`` for a name that no shared model has."""
    if not MODEL_NAME.fullmatch(model):
        expected = "up to 200 letters, digits and signs such as - and /"
        raise HubError(f"got the model {in_short(model)!r}, expected {expected}; give it another name")


def described(folder: Path, what: str, model: str, weights: str = "") -> Manifest:
    """The manifest of all files below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    files = [
        SharedFile(path=path.relative_to(folder).as_posix(), sha256=file_sha256(path), size=path.stat().st_size)
        for path in paths
    ]
    return Manifest(what=what, model=model, weights=weights, files=tuple(files))


def read_manifest(folder: Path, title: str) -> Manifest:
    """The manifest of a share; a HubError if it is missing, damaged, of another format, or names a path outside."""
    path = folder / MANIFEST
    if path.is_symlink():
        from probing.kernel.models.hub import damage, delete_damaged

        if found := damage(path):
            delete_damaged(path)
            raise HubError(f"{MANIFEST} of {title} {found}; nothing was taken, repeat the command")
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise HubError(f"{title} has no {MANIFEST}; expected what `probing push` wrote") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{step}: " for step in first["loc"])
        why = where + first["msg"].removeprefix("Value error, ")
    except (OSError, HubError) as error:
        why = str(error)
    raise HubError(f"{MANIFEST} of {title} is not what this version of `probing push` writes: {why}; nothing was taken")


def repository_type(what: str) -> str:
    """The hub's name for a repository of that content."""
    return "model" if what == HEADS else "dataset"


def asked_hub(doing: str, name: str, kind: str, call: Callable[..., T], **options: Any) -> T:
    """The result of a call of the hub's library for a repository; its errors become one that says what to do."""
    from probing.kernel.models.hub import HUB_ERRORS, in_words, patiently

    try:
        return patiently(partial(call, repo_id=name, repo_type=kind, **options))
    except HUB_ERRORS as error:
        why = in_words(error, name, kind.replace("dataset", "data set"), options.get("revision"))
        raise HubError(f"cannot {doing} {title_of(name, kind)}: {why}") from error


def title_of(name: str, kind: str) -> str:
    """A repository in messages."""
    return f"{name} ({kind} on the hub)"


def first_problem(folder: Path, what: str, model: str, folders: Sequence[Path]) -> str | None:
    """What is wrong with the files of runs of a share, in words; None if nothing is.

    All files are read by another process first, so that what is too large or ends that process is refused. Counts that
    the files lack are written.
    """
    data, kinds = folder / DATA, kinds_of(what)
    paths = sorted(data.iterdir())
    known = [table.name for kind in kinds for table in kind.tables]
    try:
        for path in paths:
            if table_of(path) not in known:
                return f"{path.name} is named after no shared table; expected one of {', '.join(known)}"
        refuse_large(paths)
        for path in paths:
            table = TABLES[str(table_of(path))]
            if problem := _other_than_named(path.name, table, light(table.name, read_table(path, table.name)), model):
                return f"{path.name} {problem}"
        for kind in kinds:
            rows = rows_of(kind.runs, data)
            if kind.name == FACTS and (problem := next(_missing(rows, data), None)):
                return problem
            for row in rows:
                if kind.name == CANDIDATES.name and (strange := next(_strange_ids(row, data), None)):
                    return strange
                # What a base's text states of each fact is known where it was counted, and may be unknown here.
                if kind.name != FACTS or not (data / TABLES["known"].file_name(row)).is_file():
                    # What is wrong with rows that cannot be counted, the rules say.
                    with suppress(StoreError):
                        write_counts(kind, row, data, folders)
    except StoreError as error:
        return str(error)
    return next(iter(check_store([data])), None)


def rows_of(table: str, folder: Path) -> list[dict]:
    """The rows of all files of a table below a folder."""
    return [row for path in files_of(table, folder) for row in read_table(path, table).to_pylist()]


def kind_of(what: str, row: Mapping[str, Any]) -> Kind:
    """The kind of a shared run, by its row."""
    return next(kind for kind in kinds_of(what) if kind.holds(row))


def _missing(rows: Sequence[dict], data: Path) -> Iterator[str]:
    """The files that runs on facts need and that are not there."""
    for row in rows:
        if not isinstance(stored_configuration(row["config"]).get("facts_sha256"), str):
            yield f"run {row['run_id']}: its configuration does not name its facts"
        for path in run_files(data, row):
            if not path.is_file():
                yield f"run {row['run_id']} is not complete: {path.name} is missing"


def _strange_ids(row: Mapping[str, Any], data: Path) -> Iterator[str]:
    """The facts of a run among candidates whose id no template gives that their prompt can be made of."""
    path = data / TABLES["candidate_facts"].file_name(dict(row))
    for fact in read_table(path, "candidate_facts").to_pylist() if path.is_file() else ():
        prompt, subject = fact["prompt"], fact["subject"]
        places = [found.start() for found in re.finditer(f"(?={re.escape(subject)})", prompt)]
        filled = [f"{prompt[:place]}[X]{prompt[place + len(subject) :]}".replace(MASK, "[Y]") for place in places]
        told = (row["probe_set"], fact["relation"], subject, fact["object"])
        if fact["fact_id"] not in {Fact(*told, template, prompt).fact_id for template in (prompt, *filled)}:
            yield f"{path.name} says that {fact['fact_id']} is {in_short(prompt)!r}, which has another id"


def _other_than_named(name: str, table: Table, rows: pa.Table, model: str) -> str | None:
    """How a file's rows differ from its name, or from what a file of that table can hold; None if they do not."""
    columns = table.per.split()
    owners = rows.group_by(columns).aggregate([]).to_pylist() if columns else []
    if strays := sorted({table.file_name(owner) for owner in owners} - {name}):
        return f"holds rows that belong in {in_short(strays[0])!r}"
    if "model" in rows.column_names and (models := sorted(set(rows.column("model").to_pylist()) - {model})):
        return f"is of {in_short(models[0])!r}, the manifest says {model}"
    for column in {"base", "with_model"} & set(rows.column_names):
        for text in rows.column(column).unique().to_pylist():
            if text and not MODEL_NAME.fullmatch(text):
                return f"has {column} {in_short(text)!r}, expected the name of a model"
    key = list(KEYS[table.name])
    if repeated := rows.num_rows - rows.group_by(key).aggregate([]).num_rows:
        return f"has {repeated:,} rows that repeat the key {key}"
    if table.name == "vocabulary":
        tokens = tokens_checksum(rows.column("token").to_pylist())
        if not name.endswith(f"-{tokens}.parquet"):
            return f"holds tokens with the checksum {tokens}, its name says another"
    parts = [field.name for field in fields(Fact) if field.name != "pred"]
    for row in rows.to_pylist() if table.name == "facts" else ():
        if Fact(**{part: row[part] for part in parts}).fact_id != row["fact_id"]:
            return f"says that {row['fact_id']} is {in_short(row['prompt'])!r}, which has another id"
        if row["prompt"] not in (row["template"], fill(row["template"], row["subject"])):
            return f"says that {row['fact_id']} is asked as {in_short(row['prompt'])!r}, not as its template says"
    return None


def refuse_large(paths: Sequence[Path]) -> None:
    """Refuses files that cannot be read, or hold too much, by a process of its own that reads them."""
    tables, size = {path: TABLES[str(table_of(path))] for path in paths}, 0
    bounds = {path: Contents(table.most_rows, MAX_VALUES, MAX_TEXT, LONGEST_TEXT) for path, table in tables.items()}
    for path, found in read_strange(bounds).items():
        if found.problem:
            raise StoreError(f"cannot read {path.name}: {found.problem}; expected a Parquet file that `push` wrote")
        size += found.text
        for got, limit, said in (
            (found.rows, tables[path].most_rows, "rows"),
            (found.values, MAX_VALUES, "values in a column"),
            (found.longest, LONGEST_TEXT, "bytes in one text"),
            (size, MAX_TEXT, "bytes of text, with the files before it"),
            # Of a file that is not read to its end, this mean says nothing.
            (found.values, found.rows * tables[path].longest, f"values in a column of {found.rows:,} rows"),
        ):
            if got > limit:
                raise StoreError(f"{path.name} holds {got:,} {said}, expected at most {limit:,}")
