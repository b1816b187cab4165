"""Sharing runs: gathering for a push, storing in a pull; ``pull_refusals`` has the checks."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from probing.core.errors import HubError, StoreError
from probing.core.facts.sources import read_facts
from probing.core.facts.templates import shipped_relations
from probing.core.files.atomic import atomic_copy, link_or_copy
from probing.core.files.checksums import file_sha256
from probing.core.files.share_manifest import SharedManifest
from probing.core.registry import has_data, name_in_files
from probing.store.kinds import FACTS, KINDS, RUNS_OF_FILES
from probing.store.parquet import read_table
from probing.store.rules.asking import light
from probing.store.schema import SCHEMAS, TABLES
from probing.store.sources import files_of, table_of
from probing.workflows.knowledge.stored_run import run_files

DATA = "data"
#: Template sets that ship with the facts.
_OUR_TEMPLATES = ("default", "paraphrase")
#: Columns that may differ if the same run is made twice.
OF_THE_MAKING = ("device", "created")


def gather_runs(model: str, kinds: Sequence[str], sources: Sequence[Path], target: Path) -> list[dict]:
    """Copies the files of a model's runs below ``target``; the first of several sources of a run counts.

    Returns:
        The rows of ``runs``.

    Raises:
        StoreError: if there is no run, or a run lacks one of its files or is incomplete.
    """
    rows: dict[str, dict] = {}
    for source in sources:
        for path in files_of("runs", source):
            for row in read_table(path, "runs").to_pylist():
                if row["model"] == model and row["head"] in kinds and row["run_id"] not in rows:
                    rows[row["run_id"]] = row
                    _gather_one(row, path, target / DATA)
    if not rows:
        command = f"python -m probing probe --model {model}"
        raise StoreError(f"no runs of {model} with heads {', '.join(kinds)} in {', '.join(map(str, sources)) or 'any folder'}; {command}")
    return sorted(rows.values(), key=lambda row: (row["probe_set"], row["head"], row["seed"], row["run_id"]))


def foreign_facts(rows: Sequence[dict], folder: Path) -> list[str]:
    """Probe sets and template sets of the runs that have facts or prompts other than those that ship with this project.

    Args:
        rows: of ``runs``.
        folder: with the runs' files below ``data``.
    """
    ours = _shipped_facts()
    others = set()
    for row in rows:
        facts = read_table(run_files(folder / DATA, row)[1], "facts")
        if set(facts.column("fact_id").to_pylist()) - ours:
            others.add(f"{row['probe_set']} with the prompts {row['template_set']}")
    return sorted(others)


def _shipped_facts() -> set[str]:
    """Ids of the facts that ship, which depend on their prompts; none without the repository's data."""
    if not has_data():
        return set()
    relations = shipped_relations()
    return {fact.fact_id for templates in _OUR_TEMPLATES for one in read_facts("all", relations, templates) for fact in one.facts}


def counted_alone(model: str, sources: Sequence[Path]) -> list[str]:
    """Ids of a model's runs that have only counts; they are not shared."""
    rows = [row for source in sources for path in files_of("counted_runs", source) for row in read_table(path, "counted_runs").to_pylist()]
    return sorted({row["run_id"] for row in rows if row["model"] == model})


def _gather_one(row: dict, path: Path, target: Path) -> None:
    folder, run_id = path.parent, row["run_id"]
    needed = run_files(folder, row)
    if missing := [file for file in needed if not file.is_file()]:
        raise StoreError(f"run {run_id} lacks {missing[0]}; run `probe` again to complete it")
    if problem := incomplete(row, path):
        raise StoreError(f"run {run_id} cannot be shared: {problem}")
    beside = [folder / f"{table}-{name_in_files(row['model'])}.parquet" for table in ("exposure", "tasks", "weight_drift")]
    for file in [*needed, path, *(file for file in beside if file.is_file())]:
        # Every folder has one file of relations, with different rows.
        name = f"relations-{file_sha256(file)[:16]}.parquet" if file.name == "relations.parquet" else file.name
        if not (target / name).is_file():
            link_or_copy(file, target / name)


def incomplete(row: dict, path: Path) -> str | None:
    """The first rule that a run on facts breaks, or a fact that only one of its files has; None if there is none.

    Args:
        row: of ``runs``.
        path: a file in the folder with its other files.
    """
    files = [file for file in run_files(path.parent, row) if file.name != "relations.parquet"]
    tables = {name: light(name, read_table(file, name)) for file in files if (name := table_of(file))}
    predictions, facts = tables["predictions"], tables["facts"]
    for name in ("predictions", "lenders"):
        there = set(tables[name].column("run_id").unique().to_pylist()) if name in tables else {row["run_id"]}
        if there != {row["run_id"]} and (there or name == "predictions"):
            return f"its file of {name} holds rows of {sorted(there) or 'no run'}"
    rows = pa.Table.from_pylist([row], schema=SCHEMAS["runs"])
    if problems := KINDS[FACTS].problems(tables | {"runs": rows}):
        return problems[0]
    asked, stored = (set(table.column("fact_id").unique().to_pylist()) for table in (predictions, facts))
    return f"{len(asked ^ stored):,} facts are in only one of its predictions and facts" if asked ^ stored else None


def lenders_file(row: dict) -> str:
    return f"lenders-{row['run_id']}.parquet"


def place_runs(folder: Path, manifest: SharedManifest, target: Path) -> list[Path]:
    """Stores checked runs with those made here. A run's row comes last, as a run exists when its row does.

    Raises:
        HubError: before anything is stored, if a file of that name has different rows.
    """
    wanted = []
    for file in manifest.content:
        path = target / Path(file.path).name
        if path.is_file() and file_sha256(path) != file.sha256:
            if not _same_run(path, folder / file.path):
                raise HubError(
                    f"{path} holds different rows from the pulled {file.path}; move yours away, or pull with --out into another folder"
                )
        elif not path.is_file():
            wanted.append((folder / file.path, path))
    for source, path in sorted(wanted, key=lambda pair: (table_of(pair[1]) in RUNS_OF_FILES, pair[1].name)):
        atomic_copy(source, path)
    return [path for _, path in wanted]


def _same_run(ours: Path, theirs: Path) -> bool:
    """Whether two files are of the same run, made twice (only device and time differ), or of the same sentences (only words differ)."""
    table = table_of(ours)
    may_differ = OF_THE_MAKING if table in RUNS_OF_FILES else TABLES[str(table)].withheld
    if not may_differ:
        return False
    rows = [read_table(path, str(table)).drop_columns(list(may_differ)).to_pylist() for path in (ours, theirs)]
    return rows[0] == rows[1]
