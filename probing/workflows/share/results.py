"""Sharing runs that are not on facts: gathering for a push, checks of a pull. What differs by kind is in ``store.kinds``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from probing.core.errors import HubError, StoreError
from probing.core.files.atomic import link_or_copy
from probing.core.files.share_manifest import SharedManifest, What
from probing.core.paths import result_folders
from probing.core.provenance import fingerprint_problem
from probing.store.kinds import KINDS, Kind
from probing.store.parquet import check_file, read_table, rows_and_values, text_size, write_table
from probing.store.schema import KEYS, TABLES
from probing.store.sources import files_of, table_of
from probing.store.tables.columns import Table
from probing.workflows.gather import without_texts
from probing.workflows.share.runs import DATA

#: Maximum values of a column, and bytes of a file's texts when they are read. A few kilobytes can expand to far more.
MAX_VALUES, MAX_TEXT = 200_000_000, 1 << 30
#: A model's name, or nothing: no path, and no step out of a folder.
_NAME = re.compile(r"(?!.*\.\.)([^/\\~.][^\\]*)?", re.DOTALL)


def kinds_of(what: What) -> list[Kind]:
    """The kinds of runs that are shared together."""
    return [kind for kind in KINDS.values() if kind.shared == what]


def gather_results(what: What, model: str, sources: Sequence[Path], target: Path) -> list[dict]:
    """Copies the files of a model's runs, of their tasks and of the model below ``target``; the first of several sources of a run counts.

    Sentences that a table withholds are shared only if the licence of a built-in task allows it; those of a user's file never are.

    Returns:
        The rows of the runs, by kind.

    Raises:
        StoreError: if there is no run, or one is faulty.
    """
    rows: dict[str, dict] = {}
    kinds = kinds_of(what)
    for kind in kinds:
        for source in sources:
            for path in files_of(kind.runs[0], source):
                for row in read_table(path, kind.runs[0]).to_pylist():
                    if row["model"] == model and row["run_id"] not in rows:
                        if problem := fingerprint_problem(row["run_id"], row["config"]):
                            raise StoreError(f"{path}: {problem}; run `{kind.command}` again")
                        rows[row["run_id"]] = row
                        _gather_one(kind, row, path, source, target / DATA)
    if not rows:
        command = f"python -m probing {kinds[0].command} --model {model}"
        named = " and ".join(kind.title for kind in kinds)
        raise StoreError(f"no {named} of {model} in {', '.join(map(str, sources)) or 'any folder'}; {command}")
    for table in (table for kind in kinds for table in kind.tables if table.per == "model"):
        name = table.file_name({"model": model})
        if found := next((path for source in sources for path in sorted(source.rglob(name))), None):
            link_or_copy(found, target / DATA / name)
    paths = {path.name: path for path in (target / DATA).glob("*.parquet")}
    for name, path in sorted(paths.items()):
        # What no pull takes is not pushed.
        refuse_large(name, path, TABLES[str(table_of(path))])
    tables = _joined(paths)
    if problems := [problem for kind in kinds for problem in kind.problems(tables)]:
        raise StoreError(problems[0])
    return [row for kind in kinds for row in _in_order(kind, rows.values())]


def _in_order(kind: Kind, rows: Iterable[dict]) -> list[dict]:
    """The rows that are runs of a kind, in the order of its table."""
    table = TABLES[kind.runs[0]]
    mine = [row for row in rows if set(row) == set(table.schema.names)]
    return sorted(mine, key=lambda row: [row[name] for name in table.sort.split()])


def _gather_one(kind: Kind, row: dict, path: Path, source: Path, target: Path) -> None:
    for table in (table for table in kind.tables if table.per in ("run_id", "task", "task protocol")):
        name = table.file_name(row)
        found = path.with_name(name) if table.per == "run_id" else _nearest(path, source, name)
        if found is None:
            raise StoreError(f"run {row['run_id']} lacks {name}; run `{kind.command}` again to complete it")
        if (target / name).is_file() or not found.is_file():
            continue
        if table.withheld and not kind.open_tasks.get(row["task"], False):
            write_table(table.name, without_texts(read_table(found, table.name), *table.withheld), target / name)
        else:
            link_or_copy(found, target / name)


def _nearest(path: Path, source: Path, name: str) -> Path | None:
    """The file of that name in the folder of ``path``, or in the nearest one above it that is still in the source."""
    folders = [folder for folder in path.parents if folder == source or source in folder.parents]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def own_tasks(what: What, rows: Iterable[dict]) -> list[str]:
    """The user's own tasks among those of the runs."""
    built_in = {task for kind in kinds_of(what) for task in kind.open_tasks}
    return sorted({row["task"] for row in rows if "task" in row} - built_in)


def task_licences(what: What, folder: Path) -> dict[str, str]:
    """Task -> licence of its data, from the shared files."""
    tables = [table.name for kind in kinds_of(what) for table in kind.tables if "licence" in table.schema.names]
    rows = [row for table in tables for path in files_of(table, folder) for row in read_table(path, table, ["task", "licence"]).to_pylist()]
    return {row["task"]: row["licence"] for row in rows}


def check_results(folder: Path, manifest: SharedManifest, title: str) -> None:
    """Raises a ``HubError`` if a file is none of this program's tables, or a rule is broken, even with right checksums.

    Every file's footer is read first, so that impossible numbers of rows are refused before they take memory.
    """
    paths = {Path(file.path).name: folder / DATA / Path(file.path).name for file in manifest.content}
    kinds = kinds_of(manifest.what)
    known = {table.name: table for kind in kinds for table in kind.tables}
    try:
        for name, path in sorted(paths.items()):
            found = table_of(path)
            if found not in known:
                raise StoreError(f"{name} is named after no shared table; expected one of {', '.join(known)}")
            check_file(path, str(found))
            refuse_large(name, path, known[str(found)])
        for name, path in sorted(paths.items()):
            table = known[str(table_of(path))]
            if problem := _other_than_named(name, table, read_table(path, table.name), manifest.model):
                raise StoreError(f"{name} {problem}")
        tables = _joined(paths)
    except StoreError as error:
        raise HubError(f"{title} cannot be pulled: {error}; nothing was taken") from error
    problems = [problem for kind in kinds for problem in kind.problems(tables)]
    problems += [f"no run there has the task {name}" for name in _tasks_of_no_run(kinds, tables)]
    problems += [f"{name} holds different rows from {path}, which has the same name" for name, path in _other_than_known(paths)]
    if problems:
        raise HubError(f"{title} holds no complete runs of {manifest.what}: {problems[0]}; nothing was taken")


def _tasks_of_no_run(kinds: Sequence[Kind], tables: Mapping[str, pa.Table]) -> list[str]:
    """Tasks, by protocol if there are several, that have files and no run."""
    found: set[tuple] = set()
    for kind in kinds:
        runs = tables.get(kind.runs[0], TABLES[kind.runs[0]].schema.empty_table())
        for table in kind.tables:
            if table.per.startswith("task") and table.name in tables:
                found |= _values(tables[table.name], table) - _values(runs, table)
    return [" ".join(values) for values in sorted(found)]


def _values(rows: pa.Table, table: Table) -> set[tuple]:
    """What rows belong to: the values of the columns that the table's files are named after."""
    columns = table.per.split()
    return {tuple(row[name] for name in columns) for row in rows.group_by(columns).aggregate([]).to_pylist()}


def refuse_large(name: str, path: Path, table: Table, lists: int | None = None) -> None:
    """Refuses a file by its footer and the size of its texts, before it takes memory.

    Args:
        name: of the file.
        path: of the file.
        table: that it belongs to.
        lists: maximum mean length of a column's lists; None: the table's.

    Raises:
        StoreError: if it has more rows, values or bytes of text than any that ``push`` writes.
    """
    rows, values = rows_and_values(path)
    if rows > table.most_rows:
        raise StoreError(f"{name} holds {rows:,} rows, expected at most {table.most_rows:,}")
    most = min(rows * (table.longest if lists is None else lists), MAX_VALUES)
    if values > most:
        raise StoreError(f"{name} holds {values:,} values in a column of {rows:,} rows, expected at most {most:,}")
    if (size := text_size(path)) > MAX_TEXT:
        raise StoreError(f"{name} holds {size:,} bytes of text when it is read, expected at most {MAX_TEXT:,}")


def _joined(paths: Mapping[str, Path]) -> dict[str, pa.Table]:
    """Table -> the rows of all files."""
    parts: dict[str, list[pa.Table]] = {}
    for _, path in sorted(paths.items()):
        table = str(table_of(path))
        parts.setdefault(table, []).append(read_table(path, table))
    return {table: pa.concat_tables(tables) for table, tables in parts.items()}


def _other_than_named(name: str, table: Table, rows: pa.Table, model: str) -> str | None:
    """How a file's rows differ from its name, or from what a file of that table can hold; None if they do not."""
    columns = table.per.split()
    if strays := sorted({table.file_name(dict(zip(columns, values, strict=True))) for values in _values(rows, table)} - {name}):
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


def _other_than_known(paths: Mapping[str, Path]) -> list[tuple[str, Path]]:
    """Files of tasks that are stored here with different rows: runs on both would have different data."""
    found = []
    for name, path in sorted(paths.items()):
        table = TABLES[str(table_of(path))]
        for folder in result_folders() if table.per.startswith("task") else ():
            for known in sorted(folder.rglob(name)):
                try:
                    same = _without(known, table).equals(_without(path, table))
                except StoreError:
                    # A damaged file of ours is reported by `check`.
                    continue
                if not same:
                    found.append((name, known))
    return found


def _without(path: Path, table: Table) -> pa.Table:
    """The rows of a file without the columns that one of two files may lack."""
    return read_table(path, table.name).drop_columns(list(table.withheld))
