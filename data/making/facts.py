"""The shipped runs on facts: counts of all, and predictions of few models."""

from pathlib import Path

import pyarrow as pa

from data.making.plan import fact_by_fact, full_runs
from probing.core.files.atomic import atomic_copy
from probing.core.paths import snapshot_folder
from probing.store.kinds import FACTS, KINDS
from probing.store.parquet import read_table
from probing.store.schema import TABLES
from probing.store.sources import files_of, table_of
from probing.workflows.gather import Runs, gather_tables
from probing.workflows.output import Say

#: Tables of counts that ship of all runs.
_COUNTS = [table.name for table in KINDS[FACTS].tables if table.name.endswith(("_counts", "_clusters"))]


def gather(say: Say = print) -> list[Path]:
    """Stores the predictions and counts of all runs in the snapshot.

    Raises:
        StoreError: if a file cannot be read.
    """
    target, files = snapshot_folder(), []
    for folder in sorted(path for path in full_runs().glob("*") if path.is_dir()):
        rows = [row for path in files_of("runs", folder) for row in read_table(path, "runs").to_pylist()]
        whole = all(map(_ships, rows))
        for path in sorted(folder.glob("*.parquet")) if rows else ():
            table = table_of(path)
            if table is None or table in _COUNTS or (not whole and TABLES[table].per == "run_id"):
                continue
            if whole or not (target / path.name).is_file():
                files.append(atomic_copy(path, target / path.name))
    return files + gather_tables(full_runs(), target, "runs", ["runs", *_COUNTS], {"runs": _counted}, say, by_model=False)


def _ships(row: dict) -> bool:
    return fact_by_fact(row["model"], row["head"], row["seed"])


def _counted(rows: pa.Table, runs: Runs) -> pa.Table:
    """The rows of runs without predictions; the others have a file each."""
    return rows.filter(pa.array([not _ships(row) for row in rows.to_pylist()]))
