"""Runs stored as counts by layer and relation, without their predictions: a hundredth of the bytes."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from probing.core.files.atomic import atomic_copy
from probing.core.provenance import stored_configuration
from probing.core.registry import name_in_files
from probing.store.build import built_database
from probing.store.database import Database
from probing.store.knowledge.kept_counts import KEPT, counts_of
from probing.store.parquet import read_table, write_table
from probing.store.run_queries import runs as all_runs
from probing.store.schema import SCHEMAS
from probing.store.sources import files_of
from probing.workflows.model_records import add_rows
from probing.workflows.output import Say

#: Runs whose configurations agree in these probed the same heads with the same facts.
QUESTION = ("weights", "head", "head_recipe", "seed", "probe_set", "template_set", "facts_sha256", "dtype")


def keep_counts(full: Sequence[Path], target: Path, say: Say) -> list[str]:
    """Writes the counts of runs into another folder, without their predictions; of runs on the same question those of the first.

    Args:
        full: folders of runs with predictions.
        target: folder of the counts; made if it is missing.
        say: called with a line for each run.

    Returns:
        Ids of the runs whose counts were written.

    Raises:
        StoreError: if a folder is missing or a file cannot be read.
    """
    with (
        tempfile.TemporaryDirectory(prefix="probing-counts-") as folder,
        built_database(list(full), Path(folder)) as database,
    ):
        rows = {row["run_id"]: row for row in all_runs(database).to_dict("records")}
        first: dict[tuple, dict] = {}
        for run_id in (run_id for source in full for run_id in _ids(source) if run_id in rows):
            first.setdefault(_question(rows[run_id]), rows[run_id])
        for row in first.values():
            _keep(database, row, full, target, say)
    return [row["run_id"] for row in first.values()]


def _ids(folder: Path) -> list[str]:
    return [run_id for path in files_of("runs", folder) for run_id in read_table(path, "runs", ["run_id"]).column("run_id").to_pylist()]


def _question(row: dict) -> tuple:
    configuration = stored_configuration(row["config"])
    return tuple(configuration.get(name) for name in QUESTION)


def _keep(database: Database, row: dict, full: Sequence[Path], target: Path, say: Say) -> None:
    """Writes the counts of a run, its row, and those of its other files that ``target`` lacks.

    Args:
        database: made from ``full``.
        row: of the run, as ``store.run_queries.runs`` gives it.
        full: folders of runs; other files come from the first that has the run.
        target: folder of the counts.
        say: called with a line for the run.
    """
    run_id = row["run_id"]
    paths = (path for source in full for path in files_of("runs", source))
    folder = next(path.parent for path in paths if run_id in read_table(path, "runs", ["run_id"]).column("run_id").to_pylist())
    for name in _beside(row):
        if (folder / name).is_file() and not (target / name).is_file():
            atomic_copy(folder / name, target / name)
    training = f"head_training-{name_in_files(row['model'])}-{row['head']}.parquet"
    if (folder / training).is_file():
        add_rows("head_training", read_table(folder / training, "head_training").to_pylist(), target / training, say)
    for table in KEPT:
        rows = counts_of(database, table, run_id)
        # Some probe sets have no swapped subject, and replicates have no inner layer.
        if len(rows):
            write_table(table, rows.to_dict("records"), target / f"{table}-{run_id}.parquet")
    # Written last: a run exists when its row does.
    write_table("counted_runs", [{name: row[name] for name in SCHEMAS["counted_runs"].names}], target / f"counted_runs-{run_id}.parquet")
    say(f"{run_id} ({row['model']} {row['head']} {row['probe_set']}): only counts")


def _beside(row: dict) -> list[str]:
    """Names of the other files that a run needs, and of those about its model."""
    names = ["relations", f"vocabulary-{row['tokenizer']}", f"facts-{json.loads(row['config'])['facts_sha256'][:16]}"]
    names += [f"{table}-{name_in_files(row['model'])}" for table in ("exposure", "tasks", "weight_drift")]
    return [f"{name}.parquet" for name in names]
