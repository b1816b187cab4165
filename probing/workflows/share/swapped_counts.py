"""Adds to compact runs the counts that they lack, from equivalent full runs: a hundredth of the bytes of their predictions.

A compact run has no ranks with the swapped subject. A second, full run of the same model, head and facts has them; only its
counts by layer and relation are kept, under the compact run's id.
"""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from probing.core.errors import StoreError
from probing.core.provenance import stored_configuration
from probing.store.build import build_database
from probing.store.database import Database, open_database
from probing.store.knowledge.swapped_counts import DERIVED, counts_of, differing_answers, runs_with_swapped_ranks
from probing.store.parquet import read_table, write_table
from probing.store.run_queries import runs as all_runs
from probing.store.sources import files_of
from probing.workflows.say import Say
from probing.workflows.share.counted_runs import keep_alone

#: Runs whose configurations agree in these probed the same heads with the same facts.
QUESTION = ("weights", "head", "head_recipe", "seed", "probe_set", "template_set", "facts_sha256", "dtype")
#: Two versions of the program build batches differently, so that a near-tie may be decided differently.
MAX_DIFFERING = 0.001


@dataclass(frozen=True)
class _Twins:
    """A run without swapped subjects, and the full run that has them.

    Attributes:
        target: row of the run that gets the counts.
        full: row of the run that is counted.
    """

    target: dict
    full: dict


def keep_counts(full: Sequence[Path], target: Path, say: Say, new: bool = False) -> list[str]:
    """Adds counts with the swapped subject to the runs of ``target`` that lack them.

    With ``new`` runs without a counterpart are no error: only their counts are kept (``share.counted_runs``). If ``target``
    has counts for the same configuration already, they stay. ``target`` is made if it is missing.

    Args:
        full: folders of full runs.
        target: folder of runs, such as the snapshot; their predictions stay unchanged.
        say: called with a line for each run.
        new: whether only the counts are kept of runs without a counterpart in ``target``.

    Returns:
        Ids of the runs that got counts.

    Raises:
        StoreError: if a full run has no counterpart and ``new`` is not set, or too many of its predictions differ.
    """
    with tempfile.TemporaryDirectory(prefix="probing-counts-") as folder:
        build_database([*([target] if target.is_dir() or not new else []), *full], Path(folder))
        with open_database(Path(folder)) as database:
            twins, alone = _twins(database, full, target, new)
            agreed = [_agreed(database, pair) for pair in twins]
            for pair, words in zip(twins, agreed, strict=True):
                _write(database, pair, target)
                say(words)
            for row in alone:
                keep_alone(database, row, full, target, say)
    return [row["run_id"] for row in (*(pair.target for pair in twins), *alone)]


def _twins(database: Database, full: Sequence[Path], target: Path, new: bool) -> tuple[list[_Twins], list[dict]]:
    """The runs of ``target`` that get counts, with their full runs; with ``new`` also the rows of the runs that it lacks."""
    rows = {row["run_id"]: row for row in all_runs(database).to_dict("records")}
    swapped = runs_with_swapped_ranks(database)
    ours = _ids(target)
    lacking = {_question(rows[run_id]): rows[run_id] for run_id in ours if run_id in rows and run_id not in swapped}
    answered = {_question(rows[run_id]): run_id for run_id in (*_ids(target, "counted_runs"), *ours) if run_id in rows}
    twins, alone = [], []
    for run_id in dict.fromkeys(run_id for folder in full for run_id in _ids(folder) if run_id not in ours and run_id in rows):
        question = _question(rows[run_id])
        found = lacking.get(question)
        if new and (found is None or run_id not in swapped):
            # The first of several equivalent runs is kept; it is written again if it exists already, as its files may be damaged.
            alone += [rows[run_id]] if answered.setdefault(question, run_id) == run_id else []
            continue
        if run_id not in swapped:
            continue
        if found is None:
            name = " ".join(str(rows[run_id][column]) for column in ("model", "head", "probe_set"))
            raise StoreError(
                f"run {run_id} ({name}): no run in {target} lacks its counts; expected one of the same weights, head and facts without "
                "swapped subjects, as `probe --compact` makes it (--new keeps only the counts of a run without a counterpart)"
            )
        twins.append(_Twins(found, rows[run_id]))
    if not twins and not new:
        places = ", ".join(map(str, full))
        raise StoreError(
            f"no run in {places} has swapped subjects and is not in {target}; expected folders of runs that `probe` made in full"
        )
    if twice := [one for one, n in Counter(pair.target["run_id"] for pair in twins).items() if n > 1]:
        raise StoreError(f"run {twice[0]} has several full runs in {', '.join(map(str, full))}; expected one; leave out the others")
    return twins, alone


def _ids(folder: Path, table: str = "runs") -> list[str]:
    return [run_id for path in files_of(table, folder) for run_id in read_table(path, table, ["run_id"]).column("run_id").to_pylist()]


def _question(row: dict) -> tuple:
    configuration = stored_configuration(row["config"])
    return tuple(configuration.get(name) for name in QUESTION)


def _agreed(database: Database, twins: _Twins) -> str:
    """A line on how well two runs agree.

    Raises:
        StoreError: if more predictions differ than ``MAX_DIFFERING`` allows.
    """
    run_id, counted = twins.target["run_id"], twins.full["run_id"]
    differing, answers = differing_answers(database, run_id, counted)
    if differing > MAX_DIFFERING * answers:
        got = f"{differing:,} of {answers:,} answers differ from those of run {run_id}"
        raise StoreError(f"run {counted}: {got}; expected equal ones, as model, head and facts are the same; nothing is kept")
    name = " ".join(str(twins.target[column]) for column in ("model", "head", "probe_set"))
    return f"{run_id} ({name}): counted in {counted}; {differing:,} of {answers:,} answers differ"


def _write(database: Database, twins: _Twins, target: Path) -> None:
    run_id, counted = twins.target["run_id"], twins.full["run_id"]
    source = {name: twins.full[name] for name in ("config", "device", "created")}
    write_table("swapped_runs", [{"run_id": run_id, "counted_by": counted, **source}], target / f"swapped_runs-{run_id}.parquet")
    for table in DERIVED:
        rows = counts_of(database, table, counted).assign(run_id=run_id)
        write_table(table, rows.to_dict("records"), target / f"{table}-{run_id}.parquet")
