"""The shipped results of sentence-level probing and of the effects of fine-tuning, on nesia-mini and its fine-tuned
relatives.
"""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from transformers import BertConfig, BertForMaskedLM

from data.making.gather import Runs, gather_tables, has_runs
from data.making.models import COLA_MEAN, FIRST, FURTHER_SEEDS, MODEL, not_shipped
from data.making.models import SHIPPED as SHIPPED_MODELS
from probing.changes import tables as change_tables
from probing.changes.requests import ChangesRequest
from probing.kernel.errors import Say
from probing.kernel.files import atomic_copy, atomic_folder, cache_folder, snapshot_folder
from probing.kernel.models.arrays import FILE
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.store.parquet import without_texts
from probing.sentences import tables as sentence_tables
from probing.sentences.examples import OWN, READINGS
from probing.sentences.probes import SHIPPED, probes_folder, read_probes, write_probes
from probing.sentences.requests import SentencesRequest
from probing.sentences.tasks import ALL

#: The tasks of Mosbach et al. (2020).
PAPER = ("bigram-shift", "coordination-inversion", "odd-man-out")
#: The ones that nesia-mini can solve: all models but the base are probed for these only.
READABLE = PAPER[:2]
#: Models whose probes, in every reading, and predictions for single sentences ship; of the others only counts of own
#: probes ship.
IN_FULL = tuple(f"{MODEL}{end}" for end in ("", "-cola", "-sst-2", "-control"))
#: The model whose predictions of every reading ship.
EVERY_READING = f"{MODEL}-cola"


def results() -> Path:
    """Folder of all results on whole sentences and on changes."""
    return cache_folder() / "nesia-sentences"


def random_twin() -> Path:
    """Folder of a model of nesia-mini's shape with random weights: what its probes find is not due to pre-training."""
    return not_shipped() / f"{MODEL}-random"


def make_random_twin(say: Say = print) -> Path:
    """Writes the random twin, with nesia-mini's tokenizer."""
    folder = random_twin()
    if (folder / "config.json").is_file():
        return folder
    encoder = open_encoder(MODEL, device="cpu")
    torch.manual_seed(0)
    with atomic_folder(folder) as half:
        BertForMaskedLM(BertConfig.from_pretrained(SHIPPED_MODELS / MODEL)).save_pretrained(half)
        encoder.tokenizer.save_pretrained(half)
    say(f"random weights in {folder}")
    return folder


def probings() -> list[SentencesRequest]:
    """The trainings of probes, in order: the base first, as all others are compared with its states."""
    full = [SentencesRequest(model, tasks=_tasks_of(model), threads=1, out=results()) for model in IN_FULL]
    few = SentencesRequest(
        MODEL, tasks=READABLE, readings=(OWN,), portions=(1,), predictions=False, codes=False, threads=1, out=results()
    )
    others = [str(random_twin()), *(one.called for one in (*FIRST, COLA_MEAN) if one.name not in IN_FULL)]
    return full + [replace(few, model=model) for model in others]


def _tasks_of(model: str) -> tuple[str, ...]:
    return ("all",) if model == MODEL else READABLE


def measurings() -> list[ChangesRequest]:
    """The models whose attention, perplexity and similarity are measured; for one without putting layers back."""
    called = [MODEL, *(one.called for one in FIRST)]
    further = ChangesRequest(COLA_MEAN.called, replaced=False, threads=1, out=results())
    return [*(ChangesRequest(model, threads=1, out=results()) for model in called), further]


def minutes(request: SentencesRequest) -> float:
    """Minutes of one processor that a training takes, about."""
    tasks = len(ALL) if request.tasks == ("all",) else len(request.tasks)
    return tasks * (1.5 if request.readings is None else 0.5)


def gather(say: Say = print) -> list[Path]:
    """Stores the results in the snapshot, and the probes of the models that are probed in full."""
    files = gather_results(results(), snapshot_folder(), say)
    folders = [one.folder for one in (*FIRST, *FURTHER_SEEDS, COLA_MEAN)]
    files += [
        atomic_copy(path, snapshot_folder() / path.name)
        for folder in folders
        for path in sorted(folder.glob("*.parquet"))
    ]
    return files + ship_probes(IN_FULL, say)


def gather_results(source: Path, target: Path, say: Say = print) -> list[Path]:
    """Writes all tables of sentence probes and of changes below ``source`` into ``target``, one file per table."""
    lighter = {
        "sentence_predictions": _with_answers,
        "sentence_examples": lambda rows, _: without_texts(rows, "text", "pair"),
    }
    tables = {
        "sentence_runs": [table.name for table in sentence_tables.TABLES],
        "change_runs": [table.name for table in change_tables.TABLES if table.per == "run_id"],
    }
    files: list[Path] = []
    for runs, names in tables.items():
        if has_runs(source, runs, say):
            files += gather_tables(source, target, runs, names, lighter, say, by_model=False)
    return files


def ship_probes(models: Iterable[str], say: Say = print) -> list[Path]:
    """Copies the trained probes of each model's tasks from the cache to the shipped folder; those there of other
    weights are deleted.
    """
    files = []
    for model in models:
        weights = open_encoder(model, device="cpu").weights_id
        for task in ALL if model == MODEL else READABLE:
            trained, ships = probes_folder(cache_folder(), weights, task) / FILE, SHIPPED / model / task
            if trained.is_file():
                files.append(write_probes(read_probes(trained), ships))
            elif (ships / FILE).is_file() and read_probes(ships / FILE).weights_id != weights:
                shutil.rmtree(ships)
    say(f"probes of {', '.join(models)}: {sum(path.stat().st_size for path in files):,} bytes in {SHIPPED}")
    return files


def _with_answers(rows: pa.Table, of_run: Runs) -> pa.Table:
    """The predictions that ship: those of own probes on all training sentences, and for one fine-tuned model those of
    every reading.
    """
    kept = []
    columns = (rows.column(name).to_pylist() for name in ("run_id", "reading", "portion"))
    for run, reading, portion in zip(*columns, strict=True):
        model = of_run[run]["model"] if run in of_run else ""
        own = reading == OWN and portion == 1
        every = model == EVERY_READING and of_run[run]["task"] in READABLE and reading in READINGS and portion == 1
        kept.append(model in IN_FULL and (own or every))
    return rows.filter(pa.array(np.array(kept, bool)))
