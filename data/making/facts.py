"""The shipped predictions: fact by fact for few models, counts for all others."""

import tempfile
from pathlib import Path

from data.making.plan import fact_by_fact, full_runs
from probing.core.files.atomic import atomic_copy
from probing.core.paths import snapshot_folder
from probing.store.kinds import FACTS, KINDS
from probing.store.parquet import read_table
from probing.store.sources import files_of
from probing.workflows.gather import gather_tables
from probing.workflows.output import Say
from probing.workflows.share.counted_runs import keep_counts


def gather(say: Say = print) -> list[Path]:
    """Stores the predictions and counts of all runs in the snapshot.

    Raises:
        StoreError: if a file cannot be read.
    """
    target, files, counted = snapshot_folder(), [], []
    for folder in sorted(path for path in full_runs().glob("*") if path.is_dir()):
        rows = [row for path in files_of("runs", folder) for row in read_table(path, "runs").to_pylist()]
        if rows and all(fact_by_fact(row["model"], row["head"], row["seed"]) for row in rows):
            files += [atomic_copy(path, target / path.name) for path in sorted(folder.glob("*.parquet"))]
        elif rows:
            counted.append(folder)
    if not counted:
        return files
    ours = [table.name for table in KINDS[FACTS].tables if table.name.endswith(("_counts", "counted_runs"))]
    with tempfile.TemporaryDirectory(prefix="nesia-counts-") as name:
        counts = Path(name)
        keep_counts(counted, counts, say)
        files += gather_tables(counts, target, "counted_runs", ours, {}, say, by_model=False)
        for path in sorted(counts.glob("*.parquet")):
            if not path.name.startswith(tuple(f"{name}-" for name in ours)) and not (target / path.name).is_file():
                files.append(atomic_copy(path, target / path.name))
    return files
