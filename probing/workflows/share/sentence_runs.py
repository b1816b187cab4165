"""Sharing runs of sentence-level probing and of the effects of fine-tuning: gathering for a push, checks of a pull."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from probing.core.errors import HubError, StoreError
from probing.core.files.atomic import link_or_copy
from probing.core.files.share_manifest import SharedManifest
from probing.core.registry import name_in_files
from probing.core.sentences.tasks import SENTENCE_TASKS
from probing.store.changes.problems import change_problems
from probing.store.changes.tables import CHANGE_SCHEMAS
from probing.store.check import fingerprint_problem
from probing.store.parquet import read_table, write_table
from probing.store.schema import CHANGES, KEYS, OF_KIND, SENTENCES
from probing.store.sentences.problems import sentence_problems
from probing.store.sentences.tables import SENTENCE_SCHEMAS
from probing.store.sources import files_of, table_of
from probing.workflows.share.runs import DATA
from probing.workflows.share.table_files import MAX_VALUES, joined, nearest, other_than_known, refuse_form

SCHEMAS = SENTENCE_SCHEMAS | CHANGE_SCHEMAS
#: Table of runs -> the tables with one file per run.
OF_RUNS = {
    OF_KIND[SENTENCES]: ("sentence_scores", "sentence_pairs", "sentence_predictions"),
    OF_KIND[CHANGES]: ("change_values", "perplexity"),
}
#: Tables with one file per task and protocol, and with one per model.
OF_TASK, OF_MODEL = ("sentence_tasks", "sentence_examples"), ("epoch_perplexity",)
#: Columns of sentences that are shared only if the task's licence allows it.
TEXTS = ("text", "pair")


def gather_sentence_runs(model: str, sources: Sequence[Path], target: Path) -> list[dict]:
    """Copies the files of a model's runs of both kinds below ``target``; the first of several sources of a run counts.

    Sentences are shared with their words only if the licence of a built-in task allows it; those of a user's file never are.

    Returns:
        The rows of ``sentence_runs`` and ``change_runs``.

    Raises:
        StoreError: if there is no run, or one is faulty.
    """
    rows: dict[str, dict] = {}
    for runs in OF_RUNS:
        for source in sources:
            for path in files_of(runs, source):
                for row in read_table(path, runs).to_pylist():
                    if row["model"] == model and row["run_id"] not in rows:
                        if problem := fingerprint_problem(row["run_id"], row["config"]):
                            raise StoreError(f"{path}: {problem}; make it again")
                        rows[row["run_id"]] = row
                        _gather_one(row, runs, path, source, target / DATA)
    if not rows:
        command = f"python -m probing sentences train --model {model}"
        raise StoreError(f"no probes of sentences and no changes of {model} in {', '.join(map(str, sources)) or 'any folder'}; {command}")
    for name in (f"{table}-{name_in_files(model)}.parquet" for table in OF_MODEL):
        if found := next((path for source in sources for path in sorted(source.rglob(name))), None):
            link_or_copy(found, target / DATA / name)
    if problems := _problems(joined({path.name: path for path in (target / DATA).glob("*.parquet")}, SCHEMAS)):
        raise StoreError(problems[0])
    return sorted(rows.values(), key=lambda row: ("task" not in row, row.get("task", ""), row.get("protocol", ""), row["run_id"]))


def _gather_one(row: dict, runs: str, path: Path, source: Path, target: Path) -> None:
    for table in (*OF_RUNS[runs], runs):
        file = path.with_name(f"{table}-{row['run_id']}.parquet")
        if file.is_file():
            link_or_copy(file, target / file.name)
    for table in OF_TASK if "task" in row else ():
        name = f"{table}-{row['task']}-{row['protocol']}.parquet"
        found = nearest(path, source, name)
        if found is None:
            raise StoreError(f"run {row['run_id']} lacks {name}; run `sentences train` again to complete it")
        if not (target / name).is_file():
            task = SENTENCE_TASKS.get(row["task"])
            write_table(table, _shown(read_table(found, table), task is not None and task.open), target / name)


def _shown(rows: pa.Table, opened: bool) -> pa.Table:
    """The rows, without the words that may not be shared."""
    for name in () if opened else TEXTS:
        if name in rows.column_names:
            place = rows.column_names.index(name)
            rows = rows.set_column(place, rows.schema.field(name), pa.nulls(rows.num_rows, pa.string()))
    return rows


def _problems(tables: dict[str, pa.Table]) -> list[str]:
    return sentence_problems(tables) + change_problems(tables)


def own_tasks(rows: Sequence[dict]) -> list[str]:
    """The user's own tasks among those of the runs."""
    return sorted({row["task"] for row in rows if "task" in row} - set(SENTENCE_TASKS))


def sentence_licences(folder: Path) -> dict[str, str]:
    """Task -> licence of its data, from the shared files."""
    rows = [row for path in files_of("sentence_tasks", folder) for row in read_table(path, "sentence_tasks").to_pylist()]
    return {row["task"]: row["licence"] for row in rows}


def check_sentence_runs(folder: Path, manifest: SharedManifest, title: str) -> None:
    """Raises a ``HubError`` if a file is none of this program's tables, or tasks and runs are incomplete, even with right checksums."""
    paths = {Path(file.path).name: folder / DATA / Path(file.path).name for file in manifest.content}
    try:
        for name, path in sorted(paths.items()):
            refuse_form(name, path, SCHEMAS, MAX_VALUES)
        for name, path in sorted(paths.items()):
            if problem := _other_than_named(name, path, manifest.model):
                raise StoreError(f"{name} {problem}")
        tables = joined(paths, SCHEMAS)
    except StoreError as error:
        raise HubError(f"{title} cannot be pulled: {error}; nothing was taken") from error
    runs = [row for table in OF_RUNS for row in tables[table].to_pylist()]
    problems = [problem for row in runs if (problem := fingerprint_problem(row["run_id"], row["config"]))]
    asked = {(row["task"], row["protocol"]) for row in runs if "task" in row}
    given = {(row["task"], row["protocol"]) for row in tables["sentence_tasks"].to_pylist()}
    problems += [f"no run there has the task {name}" for name, _ in sorted(given - asked)]
    problems += _problems(tables)
    problems += [
        f"{name} holds different rows from {known}, which has the same name" for name, known in other_than_known(paths, OF_TASK, TEXTS)
    ]
    if problems:
        raise HubError(f"{title} holds no complete runs of sentence-level probing or changes: {problems[0]}; nothing was taken")


def _other_than_named(name: str, path: Path, model: str) -> str | None:
    """How a file's rows differ from the run, task or model in its name; None if they do not."""
    table = str(table_of(path))
    rows = read_table(path, table)
    if table in OF_TASK:
        pairs = zip(rows.column("task").to_pylist(), rows.column("protocol").to_pylist(), strict=True)
        found = {f"{table}-{task}-{protocol}.parquet" for task, protocol in pairs}
    elif table in OF_MODEL:
        found = {f"{table}-{name_in_files(one)}.parquet" for one in rows.column("model").to_pylist()}
    else:
        found = {f"{table}-{one}.parquet" for one in rows.column(KEYS[table][0]).unique().to_pylist()}
    if strays := sorted(found - {name}):
        return f"holds rows that belong in {strays[0]}"
    if "model" in rows.column_names and (models := sorted(set(rows.column("model").to_pylist()) - {model})):
        return f"is of {models[0]}, the manifest says {model}"
    return None
