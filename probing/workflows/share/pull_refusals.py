"""Checks of a pull and of a push: other tables than this program's, broken rules and files that are too large are
refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import chain
from pathlib import Path

import pyarrow as pa

from probing.core.characters import in_short
from probing.core.errors import HubError, StoreError
from probing.core.facts.fact import Fact
from probing.core.paths import result_folders
from probing.core.provenance import stored_configuration
from probing.core.tokens.tokenizer_ids import tokens_checksum
from probing.store.kinds import kinds_of
from probing.store.parquet import check_file, read_table, rows_and_values, text_size
from probing.store.rules.asking import light
from probing.store.schema import KEYS, TABLES
from probing.store.sources import table_of
from probing.store.tables.columns import Table
from probing.workflows.knowledge.stored_run import run_files
from probing.workflows.share.manifest import DATA, MODEL_NAME, SharedManifest

#: Maximum values of a column, and bytes of all texts of a share when they are read. A few kilobytes can expand to far
#: more.
MAX_VALUES, MAX_TEXT = 200_000_000, 1 << 30
#: Tables in which equal names mean equal rows everywhere, next to those of tasks: runs on both would have different
#: data.
_SAME_EVERYWHERE = ("vocabulary", "facts")


def check_results(folder: Path, manifest: SharedManifest, title: str) -> None:
    """Raises a ``HubError`` if a file is none of this program's tables, or a rule is broken, though the checksums are
    right.

    Footers and sizes of texts are read first: what is too large is refused before it takes memory.
    """
    paths = {Path(file.path).name: folder / DATA / Path(file.path).name for file in manifest.content}
    kinds = kinds_of(manifest.what)
    known = [table.name for kind in kinds for table in kind.tables]
    try:
        for name, path in sorted(paths.items()):
            table = str(table_of(path))
            if table not in known:
                raise StoreError(f"{name} is named after no shared table; expected one of {', '.join(known)}")
        refuse_large(paths.values())
        problem = first_problem(manifest.what, paths, manifest.model, pulled=True)
    except StoreError as error:
        raise HubError(f"{title} cannot be pulled: {error}; nothing was taken") from error
    if problem:
        raise HubError(f"{title} holds no complete runs of {manifest.what}: {problem}; nothing was taken")


def first_problem(what: str, paths: Mapping[str, Path], model: str, pulled: bool = False) -> str | None:
    """What is wrong with shared files: their names, a rule, or another file of the same name; None if nothing is.

    Args:
        what: the runs are shared as.
        paths: name -> file, of a size that is checked.
        model: that all are of.
        pulled: compares them with the files that are here.

    Raises:
        StoreError: if a file cannot be read.
    """
    read: dict[str, pa.Table] = {}
    parts: dict[str, list[pa.Table]] = {}
    for name, path in sorted(paths.items()):
        table = TABLES[str(table_of(path))]
        read[name] = light(table.name, read_table(path, table.name))
        parts.setdefault(table.name, []).append(read[name])
        if problem := _other_than_named(name, table, read[name], model):
            return f"{name} {problem}"
    tables = {table: pa.concat_tables(rows) for table, rows in parts.items()}
    of_rules = (problem for kind in kinds_of(what) for problem in kind.problems(tables))
    return next(chain(_missing(tables, paths), of_rules, _other_than_here(read) if pulled else ()), None)


def _missing(tables: Mapping[str, pa.Table], paths: Mapping[str, Path]) -> Iterator[str]:
    """The files that runs on facts need and that are not there."""
    for row in tables["runs"].to_pylist() if "runs" in tables else ():
        if not isinstance(stored_configuration(row["config"]).get("facts_sha256"), str):
            yield f"run {row['run_id']}: its configuration does not name its facts"
        for path in run_files(Path(), row):
            if path.stem != "relations" and path.name not in paths:
                yield f"run {row['run_id']} is not complete: {path.name} is missing"


def _other_than_here(read: Mapping[str, pa.Table]) -> Iterator[str]:
    """Files whose name means equal rows everywhere and that differ from one here."""
    for name, rows in sorted(read.items()):
        table = TABLES[str(table_of(Path(name)))]
        if table.per.startswith("task") or table.name in _SAME_EVERYWHERE:
            for known in (path for folder in result_folders() for path in sorted(folder.rglob(name))):
                if not _same(known, rows, table):
                    yield f"{name} holds different rows from {known}, which has the same name"


def _same(known: Path, rows: pa.Table, table: Table) -> bool:
    """Whether a file has these rows, except for columns that one of two files may lack."""
    may_differ = [*table.withheld, *table.free]
    try:
        return bool(read_table(known, table.name).drop_columns(may_differ).equals(rows.drop_columns(may_differ)))
    except StoreError:
        # A damaged file of ours is reported by `check`.
        return True


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
    repeated = rows.num_rows - rows.group_by(key).aggregate([]).num_rows
    if repeated:
        return f"has {repeated:,} rows that repeat the key {key}"
    if table.name == "vocabulary":
        tokens = tokens_checksum(rows.column("token").to_pylist())
        return (
            None
            if name.endswith(f"-{tokens}.parquet")
            else f"holds tokens with the checksum {tokens}, its name says another"
        )
    return _other_facts(rows.to_pylist()) if table.name == "facts" else None


def _other_facts(rows: list[dict]) -> str | None:
    """Which fact differs from its id, which is a hash of it."""
    parts = [field.name for field in fields(Fact) if field.name != "pred"]
    facts = ((row["fact_id"], Fact(**{name: row[name] for name in parts})) for row in rows)
    return next(
        (
            f"says that {name} is {in_short(fact.prompt)!r}, which has another id"
            for name, fact in facts
            if fact.fact_id != name
        ),
        None,
    )


def refuse_large(paths: Iterable[Path]) -> None:
    """Refuses files by their footers and the size of their texts, before they take memory.

    Raises:
        StoreError: if one is none of this program's tables, has more rows, values or a longer text than any that
            ``push`` writes, or all together have more text.
    """
    size = 0
    for path in paths:
        table = TABLES[str(table_of(path))]
        check_file(path, table.name)
        rows, values = rows_and_values(path)
        if rows > table.most_rows:
            raise StoreError(f"{path.name} holds {rows:,} rows, expected at most {table.most_rows:,}")
        most = min(rows * table.longest, MAX_VALUES)
        if values > most:
            raise StoreError(
                f"{path.name} holds {values:,} values in a column of {rows:,} rows, expected at most {most:,}"
            )
        size += text_size(path)
        if size > MAX_TEXT:
            raise StoreError(
                f"{path.name} and the files before it hold {size:,} bytes of text, expected at most {MAX_TEXT:,}"
            )
