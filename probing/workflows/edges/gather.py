"""Puts the many small files of edge probing runs together: one file for each table and model, as the shipped snapshot has them.

No sentence of a data set ships: a sentence is named by the sha256 of its text, whatever its licence. Pages find the words where the data
set has been fetched.
"""

import shutil
from collections import defaultdict
from pathlib import Path

import pyarrow as pa

from probing.core.errors import StoreError
from probing.core.files.atomic import copy_whole
from probing.core.registry import name_in_files
from probing.models.edges.files import FILE, read_probes
from probing.store.edges.tables import EDGE_KEYS, EDGE_SCHEMAS
from probing.store.parquet import read_table, write_table
from probing.store.sources import files_of
from probing.workflows.say import Say


def gather_results(source: Path, target: Path, say: Say = print) -> list[Path]:
    """Writes all edge tables below ``source`` into ``target``, one file for each table, or for each table and model.

    Args:
        source: folder of ``edges train --out``.
        target: another folder.
        say: called with each line for the user.

    Returns:
        The files that were written.

    Raises:
        StoreError: if there are no runs, a file cannot be read, or two rows have the same key.
    """
    found = {table: [read_table(path, table) for path in files_of(table, source)] for table in EDGE_SCHEMAS}
    if not found["edge_runs"]:
        raise StoreError(f"no runs of edge probing in {source}; expected the folder that `edges train --out` filled")
    model_of = {row["run_id"]: row["model"] for table in found["edge_runs"] for row in table.to_pylist()}
    files = []
    for table, parts in found.items():
        if not parts:
            continue
        rows = pa.concat_tables(parts)
        keys = list(zip(*(rows.column(name).to_pylist() for name in EDGE_KEYS[table]), strict=True))
        if len(set(keys)) < len(keys):
            raise StoreError(f"{source}: {len(keys) - len(set(keys))} rows of {table} are there twice; delete one of the files with them")
        if table == "edge_sentences":
            place = rows.column_names.index("text")
            rows = rows.set_column(place, rows.schema.field(place), pa.nulls(len(rows), pa.string()))
        if "run_id" not in rows.column_names:
            files.append(write_table(table, rows, target / f"{table}.parquet"))
            continue
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, run in enumerate(rows.column("run_id").to_pylist()):
            if run in model_of:
                places[model_of[run]].append(place)
        files += [
            write_table(table, rows.take(pa.array(chosen)), target / f"{table}-{name_in_files(model)}.parquet")
            for model, chosen in places.items()
        ]
    say(f"{len(model_of)} runs of {len(set(model_of.values()))} models: {sum(path.stat().st_size for path in files):,} bytes in {target}")
    return files


def gather_probes(source: Path, tasks: tuple[str, ...], target: Path, say: Say = print) -> list[Path]:
    """Copies the probes of some tasks from ``source``, a folder with one for each task, to ``target``, and takes away those of others."""
    files = []
    for folder in sorted(target.iterdir()) if target.is_dir() else ():
        if folder.name not in tasks:
            shutil.rmtree(folder)
    for task in tasks:
        read_probes(source / task / FILE)
        copy_whole(source / task / FILE, target / task / FILE)
        files.append(target / task / FILE)
    say(f"probes of {', '.join(tasks)}: {sum(path.stat().st_size for path in files):,} bytes in {target}")
    return files
