"""Sharing runs of edge probing: gathering for a push, checks of a pull."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from probing.core.edges.tasks import EDGE_TASKS
from probing.core.errors import HubError, StoreError
from probing.core.files.atomic import link_or_copy
from probing.core.files.share_manifest import SharedManifest
from probing.store.check import fingerprint_problem
from probing.store.edges.problems import edge_problems
from probing.store.edges.tables import EDGE_KEYS, EDGE_SCHEMAS
from probing.store.parquet import read_table
from probing.store.sources import files_of, table_of
from probing.workflows.share.runs import DATA
from probing.workflows.share.table_files import MAX_ROWS, joined, nearest, other_than_known, refuse_form, refuse_large

#: Tables with one file per task, and those with one file per run; the row of a run comes last.
OF_TASK = tuple(table for table, key in EDGE_KEYS.items() if key[0] == "task")
OF_RUN = (*(table for table, key in EDGE_KEYS.items() if key[0] == "run_id" and table != "edge_runs"), "edge_runs")
#: Maximum number of labels of a shared task, and of values in a list.
_MAX_LABELS = 1000


def gather_edge_runs(model: str, sources: Sequence[Path], target: Path) -> list[dict]:
    """Copies the files of a model's runs and of their tasks below ``target``; the first of several sources of a run counts.

    Returns:
        The rows of ``edge_runs``.

    Raises:
        StoreError: if there is no run, or one is faulty.
    """
    rows: dict[str, dict] = {}
    for source in sources:
        for path in files_of("edge_runs", source):
            for row in read_table(path, "edge_runs").to_pylist():
                if row["model"] == model and row["run_id"] not in rows:
                    if problem := fingerprint_problem(row["run_id"], row["config"]):
                        raise StoreError(f"{path}: {problem}; run `edges train` again")
                    rows[row["run_id"]] = row
                    _gather_one(row, path, source, target / DATA)
    if not rows:
        command = f"python -m probing edges train --model {model}"
        raise StoreError(f"no probes of {model} in {', '.join(map(str, sources)) or 'any folder'}; {command}")
    for path in files_of("edge_labels", target / DATA):
        # What no pull takes is not pushed.
        refuse_large(path.name, path, _MAX_LABELS, _MAX_LABELS)
    if problems := edge_problems(joined({path.name: path for path in (target / DATA).glob("*.parquet")}, EDGE_SCHEMAS)):
        raise StoreError(problems[0])
    return sorted(rows.values(), key=lambda row: (row["task"], row["encoder"], row["kind"], row["labels"], row["seed"], row["run_id"]))


def _gather_one(row: dict, path: Path, source: Path, target: Path) -> None:
    beside = {table: path.with_name(f"{table}-{row['run_id']}.parquet") for table in OF_RUN}
    of_task = {table: nearest(path, source, f"{table}-{row['task']}.parquet") for table in OF_TASK}
    if missing := [table for table, file in of_task.items() if file is None]:
        raise StoreError(f"run {row['run_id']} lacks {missing[0]}-{row['task']}.parquet; run `edges train` again to complete it")
    for file in [*of_task.values(), *(file for file in beside.values() if file.is_file())]:
        if file is not None and not (target / file.name).is_file():
            link_or_copy(file, target / file.name)


def foreign_tasks(rows: Sequence[dict]) -> list[str]:
    """The user's own tasks among those of the runs."""
    return sorted({row["task"] for row in rows} - set(EDGE_TASKS))


def task_licences(folder: Path) -> dict[str, str]:
    """Task -> licence of its data, from the shared files."""
    rows = [row for path in files_of("edge_tasks", folder) for row in read_table(path, "edge_tasks").to_pylist()]
    return {row["task"]: row["licence"] for row in rows}


def check_edge_runs(folder: Path, manifest: SharedManifest, title: str) -> None:
    """Raises a ``HubError`` if a file is none of this program's tables, or tasks and runs are incomplete, even with right checksums.

    Every file's footer is read first, so that impossible numbers of rows are refused before they take memory.
    """
    paths = {Path(file.path).name: folder / DATA / Path(file.path).name for file in manifest.content}
    try:
        for name, path in sorted(paths.items()):
            refuse_form(name, path, EDGE_SCHEMAS, _MAX_LABELS, _MAX_LABELS if table_of(path) == "edge_labels" else MAX_ROWS)
        for name, path in sorted(paths.items()):
            if problem := _other_than_named(name, path, manifest.model):
                raise StoreError(f"{name} {problem}")
        tables = joined(paths, EDGE_SCHEMAS)
    except StoreError as error:
        raise HubError(f"{title} cannot be pulled: {error}; nothing was taken") from error
    runs = tables["edge_runs"].to_pylist()
    problems = [problem for row in runs if (problem := fingerprint_problem(row["run_id"], row["config"]))]
    problems += [f"no run there has the task {name}" for name in sorted(_tasks(tables) - {row["task"] for row in runs})]
    problems += edge_problems(tables)
    problems += [f"{name} holds different rows from {known}, which has the same name" for name, known in other_than_known(paths, OF_TASK)]
    if problems:
        raise HubError(f"{title} holds no complete runs of edge probing: {problems[0]}; nothing was taken")


def _tasks(tables: Mapping[str, pa.Table]) -> set[str]:
    return {task for table in OF_TASK for task in tables[table].column("task").unique().to_pylist()}


def _other_than_named(name: str, path: Path, model: str) -> str | None:
    """How a file's rows differ from the run or task in its name; None if they do not."""
    table = str(table_of(path))
    rows = read_table(path, table)
    column = EDGE_KEYS[table][0]
    expected = name.removeprefix(f"{table}-").removesuffix(".parquet")
    if found := sorted(set(rows.column(column).unique().to_pylist()) - {expected}):
        return f"holds rows of the {column} {found[0]!r}"
    if table == "edge_runs" and (models := sorted(set(rows.column("model").to_pylist()) - {model})):
        return f"is of {models[0]}, the manifest says {model}"
    return None
