"""The shipped predictions: fact by fact for few models, counts for all others; and ranks among candidates."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from data.making.gather import gather_tables, has_runs
from data.making.plan import carried_runs, fact_by_fact, full_runs, ranked_runs
from probing.kernel.errors import Say, StoreError
from probing.kernel.files import atomic_copy, snapshot_folder
from probing.kernel.models.records import add_rows
from probing.kernel.store.kinds import FACTS, KINDS
from probing.kernel.store.opening import OF_RUN
from probing.kernel.store.parquet import files_of, read_table, table_of, write_table

#: Runs whose configurations agree in these probed the same heads with the same facts; the first counts.
QUESTION = ("weights", "head", "head_recipe", "seed", "probe_set", "template_set", "facts_sha256", "dtype")
#: Tables with the rows of a run that ship in one file for all.
_COUNTS = [table.name for table in KINDS[FACTS].tables if table.per == "run_id" and table.name not in (*OF_RUN, "runs")]


def gather(say: Say = print) -> list[Path]:
    """Stores all runs in the snapshot: of most on facts only counts, ranks among candidates, and what is carried."""
    target = snapshot_folder()
    files = _gather_predictions(target, say) if has_runs(full_runs(), "runs", say) else []
    for folder, kind in ((ranked_runs(), KINDS["candidates"]), (carried_runs(), KINDS["carried"])):
        if has_runs(folder, kind.runs, say):
            tables = [one.name for one in kind.tables]
            files += gather_tables(folder, target, kind.runs, tables, {}, say, by_model=False)
            relations = read_table(folder / "relations.parquet", "relations").to_pylist()
            add_rows("relations", relations, target / "relations.parquet", say)
    return files


def _gather_predictions(target: Path, say: Say) -> list[Path]:
    """The files of the runs on facts."""
    files = []
    counted: dict[tuple, dict] = {}
    for folder in sorted(path for path in full_runs().glob("*") if path.is_dir()):
        rows = [row for path in files_of("runs", folder) for row in read_table(path, "runs").to_pylist()]
        named = ("model", "head", "seed", "template_set")
        ships = {fact_by_fact(*(row[name] for name in named)) for row in rows}
        if len(ships) > 1:
            raise StoreError(
                f"{folder} has runs that ship fact by fact and runs that do not; delete it and probe again"
            )
        whole = ships == {True}
        for row in () if whole else rows:
            counted.setdefault(tuple(json.loads(row["config"]).get(name) for name in QUESTION), row)
        kept = _COUNTS if whole else (*_COUNTS, *OF_RUN, "runs")
        for path in sorted(path for path in folder.glob("*.parquet") if table_of(path) not in (None, *kept)):
            if table_of(path) == "head_training":
                # Heads of several seeds are in one file.
                add_rows("head_training", read_table(path, "head_training").to_pylist(), target / path.name, say)
                files.append(target / path.name)
            else:
                files.append(atomic_copy(path, target / path.name))
    by_fact = {path.stem.rpartition("-")[2] for path in files_of("predictions", target)}
    ids = pa.array(by_fact | {row["run_id"] for row in counted.values()})
    for name in _COUNTS:
        rows = pa.concat_tables([read_table(path, name) for path in files_of(name, full_runs())])
        files.append(write_table(name, rows.filter(pc.is_in(rows.column("run_id"), ids)), target / f"{name}.parquet"))
    files.append(write_table("runs", list(counted.values()), target / "runs.parquet"))
    say(f"{len(by_fact)} runs fact by fact, {len(counted)} as counts")
    return files
