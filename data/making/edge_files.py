"""What ships of edge probing: predictions for sentences of this repository, and one file per table and model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from data.making.gather import Runs, gather_tables
from probing.edges.ask import TaskProbes, ask_record, read_probes, write_probes
from probing.edges.readers.own_tasks import read_own_sentences
from probing.edges.requests import data_sha256
from probing.edges.rows import part_row, prediction_columns, sentence_rows, target_rows
from probing.edges.store import COUNTS
from probing.edges.tables import TABLES
from probing.edges.targets import CUMULATIVE, OWN, TASK, Part, TaskData
from probing.edges.tasks import read_task
from probing.kernel.errors import EdgeDataError, Say, StoreError
from probing.kernel.models.arrays import FILE
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.load import Encoder
from probing.kernel.provenance import TRAINED
from probing.kernel.registry import REPOSITORY, name_in_files
from probing.kernel.store.parquet import files_of, read_table, without_texts, write_table

#: Folder with one file of sentences per task, in the authors' format.
SENTENCES = REPOSITORY / "data" / "edges" / "sentences"
SOURCE, LICENCE = "BERTnesia Explorer", "Apache-2.0"


@dataclass(frozen=True)
class OwnRequest:
    """Probes, sentences, and where predictions are written.

    ``probes`` has one folder per task, ``sentences`` has ``TASK.jsonl``, ``downloads`` has the fetched data sets:
    memory and labels are those of the training part. ``results`` has the stored runs of the probes and gets the
    predictions. ``tasks`` None: all that have sentences.
    """

    model: str
    probes: Path
    results: Path
    downloads: Path
    sentences: Path = SENTENCES
    tasks: tuple[str, ...] | None = None


def ask_own_sentences(request: OwnRequest, say: Say = print) -> list[Path]:
    """Stores the predictions of every task's probes for its sentences, as the part ``own`` of the run that trained
    them.

    Returns the files; refused if no stored run belongs to the probes, or they were trained on other weights.
    """
    encoder = open_encoder(request.model, device="cpu")
    rows: dict[str, list[dict]] = {"edge_tasks": [], "edge_sentences": [], "edge_targets": []}
    answers: list[pa.Table] = []
    for path in sorted(request.sentences.glob("*.jsonl")):
        if request.tasks is not None and path.stem not in request.tasks:
            continue
        task, data = read_task(path.stem, request.downloads)
        part = read_own_sentences(path)
        _check_labels(path, part, data)
        probes = read_probes(request.probes / task.name / FILE)
        rows["edge_tasks"].append(part_row(replace(task, data_set=(SOURCE,), licence=LICENCE), data, OWN, part))
        rows["edge_sentences"] += sentence_rows(data.task, OWN, part)
        rows["edge_targets"] += target_rows(task, data, OWN, part)
        answers.append(_answers(_run_of(request, encoder.name, probes, data), encoder, probes, part))
        say(f"{task.name}: {len(part.records)} sentences, {part.targets} targets")
    if not answers:
        raise EdgeDataError(f"no file of sentences in {request.sentences}; expected TASK.jsonl")
    files = [write_table(table, found, request.results / f"{table}-{OWN}.parquet") for table, found in rows.items()]
    name = f"edge_predictions-{OWN}-{name_in_files(encoder.name)}.parquet"
    return [*files, write_table("edge_predictions", pa.concat_tables(answers), request.results / name)]


def _check_labels(path: Path, part: Part, data: TaskData) -> None:
    labels = {label for record in part.records for target in record.targets for label in target.labels}
    if strange := sorted(labels - set(data.labels)):
        raise EdgeDataError(
            f"{path}: got the label {strange[0]!r}, expected labels of the training part of {data.task}"
        )


def _run_of(request: OwnRequest, model: str, probes: TaskProbes, data: TaskData) -> str:
    """The stored run whose probes these are: that of the first seed."""
    wanted = {"model": model, "task": data.task, "kind": CUMULATIVE, "encoder": TRAINED, "labels": TASK, "seed": 0}
    for path in files_of("edge_runs", request.results):
        for row in read_table(path, "edge_runs").to_pylist():
            if all(row[name] == value for name, value in wanted.items()) and _trained(
                json.loads(row["config"]), probes, data
            ):
                return str(row["run_id"])
    raise StoreError(
        f"no run of {data.task} on {model} in {request.results} has the weights and the data of the probes in "
        f"{request.probes}; run `edges train` again"
    )


def _trained(config: Mapping[str, Any], probes: TaskProbes, data: TaskData) -> bool:
    return (config["weights"], config["head_recipe"], config["data"]) == (
        probes.weights,
        probes.recipe,
        data_sha256(data),
    )


def _answers(run_id: str, encoder: Encoder, probes: TaskProbes, part: Part) -> pa.Table:
    p = np.concatenate([ask_record(encoder, probes, record) for record in part.records], 1)
    gold = np.array(
        [[label in target.labels for label in probes.labels] for record in part.records for target in record.targets]
    )
    return prediction_columns(run_id, OWN, p, gold, np.arange(len(gold)))


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
