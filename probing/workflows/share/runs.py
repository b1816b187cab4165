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
from probing.store.check import fingerprint_problem
from probing.store.completeness import counted_in_tables, lack
from probing.store.knowledge.swapped_ranks import lender_problem, names_lenders, stored_facts
from probing.store.parquet import read_table
from probing.store.schema import OF_KIND
from probing.store.sources import files_of, table_of
from probing.workflows.knowledge.stored_run import run_files

DATA = "data"
#: Template sets that ship with the facts.
_OUR_TEMPLATES = ("default", "paraphrase")
#: Tables with one row per run.
_RUNS = ("runs", *OF_KIND.values())
#: Columns of a task's sentences that one of two files may lack.
_WORDS = {"sentence_examples": ("text", "pair")}
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
                    if problem := fingerprint_problem(row["run_id"], row["config"]):
                        raise StoreError(f"{path}: {problem}; probe again")
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
    if problem := incomplete(row, needed[0], needed[1]):
        raise StoreError(f"run {run_id}: {problem}; run `probe` again to complete it")
    beside = [folder / f"{table}-{name_in_files(row['model'])}.parquet" for table in ("exposure", "tasks", "weight_drift")]
    for file in [*needed, path, *(file for file in beside if file.is_file())]:
        # Every folder has one file of relations, with different rows.
        name = f"relations-{file_sha256(file)[:16]}.parquet" if file.name == "relations.parquet" else file.name
        if not (target / name).is_file():
            link_or_copy(file, target / name)


def incomplete(row: dict, predictions: Path, facts: Path) -> str | None:
    """Missing or surplus predictions of a run, by its row and its facts; None if there are none."""
    table = read_table(predictions, "predictions")
    there = set(table.column("run_id").unique().to_pylist())
    if there != {row["run_id"]}:
        return f"{predictions.name} holds predictions of {sorted(there) or 'no run'}"
    stored = read_table(facts, "facts").column("fact_id")
    lacking = lack(row, counted_in_tables(table, stored)[row["run_id"]])
    if lacking.wrong_number:
        return f"{predictions.name} holds {lacking.counted.rows:,} predictions, expected {lacking.expected:,}"
    if doubled := lacking.counted.repeated:
        return f"{doubled:,} predictions of {predictions.name} repeat a fact and layer"
    asked = set(stored.to_pylist())
    if other := set(table.column("fact_id").unique().to_pylist()) ^ asked:
        return f"{len(other):,} facts are in only one of {predictions.name} and {facts.name}"
    return _wrong_lenders(row, table, facts, predictions.with_name(lenders_file(row)))


def lenders_file(row: dict) -> str:
    return f"lenders-{row['run_id']}.parquet"


def _wrong_lenders(row: dict, predictions: pa.Table, facts: Path, lenders: Path) -> str | None:
    """How a run's ``lenders`` differ from those that its configuration names; None if they do not."""
    if not names_lenders(row["config"]):
        return None
    stored = read_table(lenders, "lenders").to_pylist()
    if strange := {one["run_id"] for one in stored} - {row["run_id"]}:
        return f"{lenders.name} holds lenders of run {min(strange)}"
    swapped = predictions.filter(predictions.column("other_rank").is_valid()).column("fact_id").unique().to_pylist()
    known = list(stored_facts(read_table(facts, "facts")).values())
    return lender_problem(known, {one["fact_id"]: one["lender_id"] for one in stored}, swapped)


def place_runs(folder: Path, manifest: SharedManifest, target: Path) -> list[Path]:
    """Stores checked runs with those made here. A run's row comes last, as a run exists when its row does.

    Raises:
        HubError: before anything is stored, if a file of that name has different rows.
    """
    from probing.store.sources import table_of

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
    for source, path in sorted(wanted, key=lambda pair: (table_of(pair[1]) in _RUNS, pair[1].name)):
        atomic_copy(source, path)
    return [path for _, path in wanted]


def _same_run(ours: Path, theirs: Path) -> bool:
    """Whether two files are of the same run, made twice (only device and time differ), or of the same sentences (only words differ)."""
    table = table_of(ours)
    if table is None or table not in (*_RUNS, *_WORDS):
        return False
    may_differ = _WORDS.get(table, OF_THE_MAKING)
    rows = [read_table(path, table).drop_columns(list(may_differ)).to_pylist() for path in (ours, theirs)]
    return rows[0] == rows[1]
