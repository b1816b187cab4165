"""Checks of a pull and of a push: other tables than this program's, broken rules and files that are too large are refused."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from probing.core.errors import HubError, StoreError
from probing.core.facts.fact import Fact, fill
from probing.core.paths import result_folders
from probing.core.provenance import fingerprint_problem, stored_configuration
from probing.core.tokens.tokenizer_ids import recorded_checksum, tokens_checksum
from probing.store.kinds import FACTS, kinds_of
from probing.store.knowledge.swapped_ranks import names_swapped
from probing.store.parquet import check_file, read_table, rows_and_values, text_size
from probing.store.rules.asking import light
from probing.store.rules.knowledge import COUNTS
from probing.store.schema import KEYS, TABLES
from probing.store.sources import table_of
from probing.store.tables.columns import Table
from probing.workflows.share.manifest import DATA, SharedManifest

#: Maximum values of a column, and bytes of a file's texts when they are read. A few kilobytes can expand to far more.
MAX_VALUES, MAX_TEXT = 200_000_000, 1 << 30
#: A model's name, or nothing: no path, and no step out of a folder.
_NAME = re.compile(r"(?!.*\.\.)([^/\\~.][^\\]*)?", re.DOTALL)
#: Tables in which equal names mean equal rows everywhere, next to those of tasks: runs on both would have different data.
_SAME_EVERYWHERE = ("vocabulary", "facts")


@dataclass(frozen=True)
class Announced:
    """What the row of a run on facts says of another file: its possible numbers of rows, and the maximum length of its lists."""

    rows: Sequence[int]
    lists: int = 1


def check_results(folder: Path, manifest: SharedManifest, title: str) -> None:
    """Raises a ``HubError`` if a file is none of this program's tables, or a rule is broken, though the checksums are right.

    Every file's footer is read first: impossible numbers of rows are refused before they take memory.
    """
    paths = {Path(file.path).name: folder / DATA / Path(file.path).name for file in manifest.content}
    kinds = kinds_of(manifest.what)
    known = [table.name for kind in kinds for table in kind.tables if table.name not in (*kind.runs[1:], *COUNTS)]
    try:
        for name, path in sorted(paths.items()):
            table = str(table_of(path))
            if table in COUNTS or table == "counted_runs":
                raise StoreError(f"{name} is of a run without predictions, expected runs with them")
            if table not in known:
                raise StoreError(f"{name} is named after no shared table; expected one of {', '.join(known)}")
            check_file(path, table)
        refuse_large(paths)
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
    return next(chain(of_rules, _foreign(what, tables, read, paths if pulled else {})), None)


def _foreign(what: str, tables: Mapping[str, pa.Table], read: Mapping[str, pa.Table], paths: Mapping[str, Path]) -> Iterator[str]:
    """What no rule of a kind says: facts and tokens of other names, tasks of no run, and files that differ from those here."""
    if any(kind.name == FACTS for kind in kinds_of(what)):
        yield from _fact_problems(tables, read)
    for kind in kinds_of(what):
        runs = tables.get(kind.runs[0], TABLES[kind.runs[0]].schema.empty_table())
        for table in (table for table in kind.tables if table.per.startswith("task") and table.name in tables):
            for values in sorted(_values(tables[table.name], table) - _values(runs, table)):
                yield f"no run there has the task {' '.join(values)}"
    for name in sorted(paths):
        table = TABLES[str(table_of(paths[name]))]
        if table.per.startswith("task") or table.name in _SAME_EVERYWHERE:
            for known in (path for folder in result_folders() for path in sorted(folder.rglob(name))):
                if not _same(known, read[name], table):
                    yield f"{name} holds different rows from {known}, which has the same name"


def _same(known: Path, rows: pa.Table, table: Table) -> bool:
    """Whether a file has these rows, except for columns that one of two files may lack."""
    may_differ = [*table.withheld, *table.free]
    try:
        return bool(read_table(known, table.name).drop_columns(may_differ).equals(rows.drop_columns(may_differ)))
    except StoreError:
        # A damaged file of ours is reported by `check`.
        return True


def _values(rows: pa.Table, table: Table) -> set[tuple]:
    """What rows belong to: the values of the columns that the table's files are named after."""
    columns = table.per.split()
    return {tuple(row[name] for name in columns) for row in rows.group_by(columns).aggregate([]).to_pylist()}


def _other_than_named(name: str, table: Table, rows: pa.Table, model: str) -> str | None:
    """How a file's rows differ from its name, or from what a file of that table can hold; None if they do not."""
    columns = table.per.split()
    named = {table.file_name(dict(zip(columns, values, strict=True))) for values in _values(rows, table)} if columns else {name}
    if strays := sorted(named - {name}):
        return f"holds rows that belong in {strays[0]}"
    if "model" in rows.column_names and (models := sorted(set(rows.column("model").to_pylist()) - {model})):
        return f"is of {models[0]}, the manifest says {model}"
    for column in {"base", "with_model"} & set(rows.column_names):
        for text in rows.column(column).unique().to_pylist():
            if text is not None and not _NAME.fullmatch(text):
                return f"has {column} {text!r}, expected the name of a model"
    key = list(KEYS[table.name])
    repeated = rows.num_rows - rows.group_by(key).aggregate([]).num_rows
    return f"has {repeated:,} rows that repeat the key {key}" if repeated else None


def refuse_large(paths: Mapping[str, Path]) -> None:
    """Refuses files by their footers and the size of their texts, before they take memory.

    Raises:
        StoreError: if one has more rows, values or bytes of text than any that ``push`` writes, or than a run says.
    """
    of_runs = {name: path for name, path in paths.items() if table_of(path) == "runs"}
    announced = dict.fromkeys(of_runs, Announced((1,)))
    for name, path in sorted(of_runs.items()):
        _refuse_large(name, path, announced[name])
        announced |= _announced(read_table(path, "runs").to_pylist()[0], paths)
    for name, path in sorted(paths.items()):
        if table_of(path) in ("predictions", "lenders") and name not in announced:
            raise StoreError(f"{name} belongs to no run there")
        _refuse_large(name, path, announced.get(name))


def _refuse_large(name: str, path: Path, announced: Announced | None) -> None:
    table, (rows, values) = TABLES[str(table_of(path))], rows_and_values(path)
    if announced is not None and rows not in announced.rows:
        wanted = announced.rows
        said = f"at most {wanted[-1]:,}" if isinstance(wanted, range) else " or ".join(f"{n:,}" for n in wanted)
        raise StoreError(f"{name} holds {rows:,} {'predictions' if table.name == 'predictions' else 'rows'}, expected {said}")
    if rows > table.most_rows:
        raise StoreError(f"{name} holds {rows:,} rows, expected at most {table.most_rows:,}")
    most = min(rows * (announced.lists if announced else table.longest), MAX_VALUES)
    if values > most:
        raise StoreError(f"{name} holds {values:,} values in a column of {rows:,} rows, expected at most {most:,}")
    if (size := text_size(path)) > MAX_TEXT:
        raise StoreError(f"{name} holds {size:,} bytes of text when it is read, expected at most {MAX_TEXT:,}")


def announced_rows(run: Mapping[str, Any]) -> tuple[int, ...]:
    """Every number of predictions with which a run may be complete: a replicate may have its last layer only."""
    ways = (run["layers"], 1) if run["role"] == "replicate" else (run["layers"],)
    return tuple(dict.fromkeys(run["n_probed"] * layers for layers in ways))


def _announced(row: dict, paths: Mapping[str, Path]) -> dict[str, Announced]:
    """Name of another file of a run on facts -> its size; all that it needs are there, or a ``StoreError`` is raised."""
    if problem := fingerprint_problem(row["run_id"], row["config"]):
        raise StoreError(problem)
    if not isinstance(stored_configuration(row["config"]).get("facts_sha256"), str):
        raise StoreError(f"run {row['run_id']}: its configuration does not name its facts")
    found = {f"predictions-{row['run_id']}.parquet": Announced(announced_rows(row), row["top_k"])}
    found[facts_file(row)] = Announced((row["n_probed"],))
    if names_swapped(row["config"]):
        # Facts without a swapped subject have no row.
        found[f"lenders-{row['run_id']}.parquet"] = Announced(range(row["n_probed"] + 1))
    if missing := [name for name in (*found, f"vocabulary-{row['tokenizer']}.parquet") if name not in paths]:
        raise StoreError(f"run {row['run_id']} is not complete: {missing[0]} is missing")
    return found


def facts_file(row: dict) -> str:
    """Name of the file with the facts of a run."""
    return f"facts-{json.loads(row['config'])['facts_sha256'][:16]}.parquet"


def _fact_problems(tables: Mapping[str, pa.Table], read: Mapping[str, pa.Table]) -> Iterator[str]:
    """How facts and tokens differ from their ids, which are hashes, from the names of their files or from their runs."""
    runs = tables["runs"].to_pylist() if "runs" in tables else []
    for row in runs:
        asked = tables["predictions"].filter(pc.equal(tables["predictions"].column("run_id"), row["run_id"])).column("fact_id")
        alone = set(asked.unique().to_pylist()) ^ set(read[facts_file(row)].column("fact_id").to_pylist())
        if alone:
            yield f"run {row['run_id']}: {len(alone):,} facts are in only one of its predictions and facts"
    for name, rows in read.items():
        if name.startswith("facts-") and (problem := _renamed(rows.to_pylist(), [row for row in runs if facts_file(row) == name])):
            yield f"{name} {problem}"
        for tokenizer in rows.column("tokenizer").unique().to_pylist() if name.startswith("vocabulary-") else ():
            tokens = rows.filter(pc.equal(rows.column("tokenizer"), tokenizer)).column("token").to_pylist()
            recorded, found = recorded_checksum(tokenizer), tokens_checksum(tokens)
            if recorded not in (None, found):
                yield f"{name} holds other tokens than the checksum in its name says: {found}, expected {recorded}"


def _renamed(facts: list[dict], runs: Sequence[dict]) -> str | None:
    """How facts differ from their ids, which are hashes, or from their runs; None if they do not."""
    parts = [field.name for field in fields(Fact) if field.name != "pred"]
    for row in facts:
        fact = Fact(**{name: row[name] for name in parts})
        # If a set has no templates, the template is the prompt.
        if fact.prompt not in (fact.template, fill(fact.template or "", fact.subject)):
            return f"says that {fact.fact_id} has the prompt {fact.prompt!r}, which its template {fact.template!r} does not give"
        if fact.fact_id != row["fact_id"]:
            return f"says that {row['fact_id']} is {row['subject']!r}, {row['relation']}, {row['object']!r}, which has another id"
        for key in ("probe_set", "template_set"):
            if runs and row[key] not in {run[key] for run in runs}:
                return f"says that {row['fact_id']} is of {key} {row[key]!r}, its run says {runs[0][key]!r}"
    return None
