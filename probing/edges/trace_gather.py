"""Joins the many small files of edge probing runs into one file per table and model, as in the shipped snapshot.

No sentence of a data set ships, under any licence: a sentence is named by the sha256 of its text. Pages find the words
if the data set has been fetched.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from probing.edges.ask import FILE, read_probes, write_probes
from probing.edges.store_counting import COUNTS
from probing.edges.tables import TABLES
from probing.edges.targets_encoders import TRAINED
from probing.kernel.errors import Say
from probing.kernel.store.gather import Runs, gather_tables, without_texts

#: Levels above 0 that shipped probabilities are rounded to.
LEVELS = 5


def gather_results(source: Path, target: Path, say: Say = print) -> list[Path]:
    """Writes all edge tables below ``source`` into ``target``, one file per table, or per table and model."""
    lighter = {"edge_predictions": _lighter, "edge_sentences": lambda rows, _: without_texts(rows)}
    return gather_tables(
        source, target, "edge_runs", [table.name for table in TABLES if table.name not in COUNTS], lighter, say
    )


def _lighter(rows: pa.Table, of_run: Runs) -> pa.Table:
    """The shipped predictions for single targets: none of random encoders; coarse probabilities for a base model's
    first seed, whose traces can be viewed; else 0 or 1, which is enough for intervals."""
    runs = np.array(rows.column("run_id").to_pylist())
    trained = np.array([run in of_run and of_run[run]["encoder"] == TRAINED for run in runs], bool)
    traced = np.array([run in of_run and not of_run[run]["base"] and of_run[run]["seed"] == 0 for run in runs], bool)
    parts = [
        _rounded(rows.filter(pa.array(trained & chosen)), levels) for chosen, levels in ((traced, LEVELS), (~traced, 1))
    ]
    return pa.concat_tables(parts)


def _rounded(rows: pa.Table, levels: int) -> pa.Table:
    """Probabilities to the nearest of some levels above 0; their sum is at least that of the stored ones."""
    for name in ("p_top", "p_gold", "p_wrong", "p_sum"):
        column = rows.column(name).combine_chunks()
        if pa.types.is_list(column.type):
            made = pa.ListArray.from_arrays(column.offsets, _to_levels(column.values, levels))
        else:
            made = _to_levels(column, levels)
        rows = _with(rows, name, made)
    gold = rows.column("p_gold").combine_chunks()
    starts = gold.offsets.to_numpy().astype(np.int64)
    upto = np.concatenate([[0], np.cumsum(gold.values.to_numpy(), dtype=np.int64)])
    stored = upto[starts[1:]] - upto[starts[:-1]] + rows.column("p_wrong").to_numpy()
    total = np.maximum.reduce([rows.column("p_sum").to_numpy(), rows.column("p_top").to_numpy(), stored])
    return _with(rows, "p_sum", pa.array(total.astype(np.uint32)))


def _to_levels(values: pa.Array, levels: int) -> pa.Array:
    steps = np.rint(values.to_numpy().astype(np.float64) * levels / 255)
    return pa.array(np.rint(steps * 255 / levels).astype(np.int64)).cast(values.type)


def _with(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    place = rows.column_names.index(name)
    return rows.set_column(place, rows.schema.field(place), column)


def gather_probes(source: Path, tasks: tuple[str, ...], target: Path, say: Say = print) -> list[Path]:
    """Copies the probes of some tasks from ``source``, a folder with one folder per task, to ``target`` in 6 bits."""
    files = [write_probes(read_probes(source / task / FILE), target / task, 6) for task in tasks]
    say(f"probes of {', '.join(tasks) or 'no task'}: {sum(path.stat().st_size for path in files):,} bytes in {target}")
    return files
