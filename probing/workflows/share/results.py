"""Gathering runs of any kind for a push; ``pull_refusals`` has the checks. What differs by kind is in
``store.kinds``.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pyarrow.compute as pc

from probing.core.errors import StoreError
from probing.core.files.atomic import link_or_copy
from probing.core.files.checksums import file_sha256
from probing.core.provenance import fingerprint_problem
from probing.store.counts import write_counts
from probing.store.kinds import FACTS, KINDS, Kind, kinds_of
from probing.store.parquet import read_table, write_table
from probing.store.schema import TABLES
from probing.store.sources import files_of
from probing.workflows.gather import without_texts
from probing.workflows.knowledge.stored_run import predictions_path, run_files
from probing.workflows.share.manifest import DATA
from probing.workflows.share.pull_refusals import first_problem, refuse_large


def gather_results(
    what: str,
    model: str,
    sources: Sequence[Path],
    target: Path,
    heads: Sequence[str] = (),
    left_out: Callable[[str], None] = print,
) -> list[dict]:
    """Copies the files of a model's runs, of their tasks and of the model below ``target``; the first of several
    sources of a run counts.

    Sentences that a table withholds are shared only if the licence of a built-in task allows it; those of a user's file
    never are.

    Args:
        what: the runs are shared as.
        model: name of the model.
        sources: folders of runs.
        target: of the files.
        heads: kinds of heads of runs on facts.
        left_out: called with the id of each run of which only counts are stored.

    Returns:
        The rows of the runs, by kind.

    Raises:
        StoreError: if there is no run, or one is faulty.
    """
    rows: dict[str, dict] = {}
    kinds = kinds_of(what)
    for kind in kinds:
        gather: Callable[[dict, Path, Path, Path], None] = (
            _gather_facts if kind.name == FACTS else partial(_gather_one, kind)
        )
        for source in sources:
            for path in files_of(kind.runs, source):
                for row in read_table(path, kind.runs).to_pylist():
                    if row["model"] != model or row["run_id"] in rows or ("head" in row and row["head"] not in heads):
                        continue
                    if kind.name == FACTS and not predictions_path(path.parent, row["run_id"]).is_file():
                        left_out(row["run_id"])
                        continue
                    if problem := fingerprint_problem(row["run_id"], row["config"]):
                        raise StoreError(f"{path}: {problem}; run `{kind.command}` again")
                    rows[row["run_id"]] = row
                    gather(row, path, source, target / DATA)
    if not rows:
        command = f"python -m probing {kinds[0].command} --model {model}"
        named = " and no ".join(kind.title for kind in kinds)
        of_heads = f" with heads {', '.join(heads)}" if heads else ""
        raise StoreError(
            f"no {named} of {model}{of_heads} in {', '.join(map(str, sources)) or 'any folder'}; {command}"
        )
    for table in (table for kind in kinds for table in kind.tables if table.per == "model"):
        name = table.file_name({"model": model})
        if found := next((path for source in sources for path in sorted(source.rglob(name))), None):
            link_or_copy(found, target / DATA / name)
    paths = {path.name: path for path in (target / DATA).glob("*.parquet")}
    # What no pull takes is not pushed.
    refuse_large(paths.values())
    if problem := first_problem(what, paths, model):
        raise StoreError(f"the {' and '.join(kind.title for kind in kinds)} of {model} cannot be shared: {problem}")
    return [row for kind in kinds for row in _in_order(kind, rows.values())]


def _in_order(kind: Kind, rows: Iterable[dict]) -> list[dict]:
    """The rows that are runs of a kind, in the order of its table."""
    table = TABLES[kind.runs]
    return sorted(filter(kind.holds, rows), key=lambda row: [row[name] for name in table.sort.split()])


def _gather_facts(row: dict, path: Path, source: Path, target: Path) -> None:
    """Copies the files of a run on facts, and counts it."""
    needed = run_files(path.parent, row)
    if missing := [file for file in needed if not file.is_file()]:
        raise StoreError(f"run {row['run_id']} lacks {missing[0]}; run `probe` again to complete it")
    write_table("runs", [row], target / TABLES["runs"].file_name(row))
    for file in needed:
        # Every folder has one file of relations, with different rows.
        name = f"relations-{file_sha256(file)[:16]}.parquet" if file.name == "relations.parquet" else file.name
        if not (target / name).is_file():
            link_or_copy(file, target / name)
    # What is wrong with rows that cannot be counted, the rules say.
    with suppress(StoreError):
        write_counts(KINDS[FACTS], row, target, [source])


def _gather_one(kind: Kind, row: dict, path: Path, source: Path, target: Path) -> None:
    for table in (table for table in kind.tables if table.per in ("run_id", "task", "task protocol")):
        name = table.file_name(row)
        # Next to a run's own file, or to one of many runs as in the snapshot.
        beside = path.with_name(table.name + path.name.removeprefix(kind.runs))
        found = beside if table.per == "run_id" else _nearest(path, source, name)
        if found is None:
            raise StoreError(f"run {row['run_id']} lacks {name}; run `{kind.command}` again to complete it")
        if (target / name).is_file() or not found.is_file():
            continue
        if table.withheld and not kind.open_tasks.get(row["task"], False):
            write_table(table.name, without_texts(read_table(found, table.name), *table.withheld), target / name)
        elif table.per == "run_id" and found.name != name:
            rows = read_table(found, table.name)
            write_table(table.name, rows.filter(pc.equal(rows.column("run_id"), row["run_id"])), target / name)
        else:
            link_or_copy(found, target / name)


def _nearest(path: Path, source: Path, name: str) -> Path | None:
    """The file of that name in the folder of ``path``, or in the nearest one above it that is still in the source."""
    folders = [folder for folder in path.parents if folder == source or source in folder.parents]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def own_tasks(what: str, rows: Iterable[dict]) -> list[str]:
    """The user's own tasks among those of the runs."""
    built_in = {task for kind in kinds_of(what) for task in kind.open_tasks}
    return sorted({row["task"] for row in rows if "task" in row} - built_in)


def task_licences(what: str, folder: Path) -> dict[str, str]:
    """Task -> licence of its data, from the shared files."""
    tables = [table.name for kind in kinds_of(what) for table in kind.tables if "licence" in table.schema.names]
    rows = [
        row
        for table in tables
        for path in files_of(table, folder)
        for row in read_table(path, table, ["task", "licence"]).to_pylist()
    ]
    return {row["task"]: row["licence"] for row in rows}
