"""Joins the many small files of runs, as in the shipped snapshot."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from probing.kernel.errors import Say, StoreError
from probing.kernel.registry import name_in_files
from probing.kernel.store.columns import KEYS
from probing.kernel.store.parquet import files_of, read_table, write_table

#: Run -> its row in the table of runs.
Runs = Mapping[str, Mapping[str, Any]]


def gather_tables(
    source: Path,
    target: Path,
    runs: str,
    tables: Iterable[str],
    lighter: Mapping[str, Callable[[pa.Table, Runs], pa.Table]],
    say: Say = print,
    by_model: bool = True,
) -> list[Path]:
    """Writes all rows of some tables below ``source`` into ``target``, with one file per table and model, or per table.

    ``runs`` names the table of runs; ``lighter`` reduces the rows of a table, given all runs. Tables without runs
    always have one file. Refused if there are no runs, or two rows have the same key.
    """
    found = {table: [read_table(path, table) for path in files_of(table, source)] for table in tables}
    if not found[runs]:
        raise StoreError(f"no runs in {source}: expected rows of {runs}, in a folder that --out filled")
    of_run = {row["run_id"]: row for table in found[runs] for row in table.to_pylist()}
    files = []
    for table, parts in found.items():
        if not parts:
            continue
        rows = pa.concat_tables(parts)
        keys = list(zip(*(rows.column(name).to_pylist() for name in KEYS[table]), strict=True))
        if len(set(keys)) < len(keys):
            raise StoreError(
                f"{source}: {len(keys) - len(set(keys))} rows of {table} exist twice; delete one of the files with them"
            )
        if table in lighter:
            rows = lighter[table](rows, of_run)
        for name, chosen in (
            _by_model(rows, of_run).items() if by_model and "run_id" in rows.column_names else (("", rows),)
        ):
            files.append(write_table(table, chosen, target / f"{table}{name}.parquet"))
    models = {row["model"] for row in of_run.values()}
    say(f"{len(of_run)} runs of {len(models)} models: {sum(path.stat().st_size for path in files):,} bytes in {target}")
    return files


def has_runs(source: Path, runs: str, say: Say = print) -> bool:
    """Whether a folder has a file of a table of runs; says so if it has none."""
    found = source.is_dir() and bool(files_of(runs, source))
    if not found:
        say(f"no {runs} in {source}: none are stored")
    return found


def _by_model(rows: pa.Table, of_run: Runs) -> dict[str, pa.Table]:
    """End of a file's name -> the rows of one model; rows that belong to no run are left out."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, run in enumerate(rows.column("run_id").to_pylist()):
        if run in of_run:
            places[of_run[run]["model"]].append(place)
    return {f"-{name_in_files(model)}": rows.take(pa.array(chosen)) for model, chosen in places.items()}
