"""The shipped results of sentence-level probing and of the effects of fine-tuning, on nesia-mini and its fine-tuned relatives."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from probing.core.files.atomic import atomic_copy
from probing.core.paths import cache_folder, snapshot_folder
from probing.core.registry import REPOSITORY
from probing.core.sentences.example import ALIGNED, FROZEN, MLP, OWN, RESCALED
from probing.core.sentences.tasks import ALL
from probing.models.encoders.catalogue import open_encoder
from probing.models.sentences.files import FILE, SHIPPED, probes_folder, read_probes, write_probes
from probing.store.tables import changes as change_tables
from probing.store.tables import sentences as sentence_tables
from probing.workflows.changes.measure import measure_changes
from probing.workflows.finetune import finetune
from probing.workflows.gather import Runs, gather_tables, without_texts
from probing.workflows.requests.changes import ChangesRequest
from probing.workflows.requests.finetune import FinetuneRequest, TrainingLength
from probing.workflows.requests.sentences import SentencesRequest
from probing.workflows.say import Say
from probing.workflows.sentences.train import train_sentences

MODEL = "nesia-mini"
#: Fine-tuned models that ship with their own heads.
RELATIVES = tuple(
    f"{MODEL}-{end}" for end in ("control", "qa-squad-1", "qa-squad-2", "ner-conll", "rank-msmarco", "mlm-squad", "mlm-msmarco")
)
#: The weights of these models ship; of the further ones only results.
SENTENCE_MODELS = (f"{MODEL}-cola", f"{MODEL}-sst-2")
#: The tasks of Mosbach et al. (2020).
PAPER = ("bigram-shift", "coordination-inversion", "odd-man-out")
#: The ones that nesia-mini can solve: models that are in no table of the paper, and further seeds, are probed for these only.
READABLE = PAPER[:2]
#: Models probed for all tasks, whose probes and predictions for single sentences ship; of the others only counts ship.
EVERY_TASK = (MODEL, *SENTENCE_MODELS, f"{MODEL}-control")
#: Further models of the paper's tables.
IN_TABLES = (f"{MODEL}-qa-squad-1",)
#: The model whose predictions of every reading ship.
EVERY_READING = f"{MODEL}-cola"
SEEDS = (2, 3)
_STEPS, _TOKENS, _RATE = 600, 2000, 2e-4


def models_folder() -> Path:
    """The folder of models of which only results ship."""
    return cache_folder() / "nesia-models"


def fine_tunings() -> list[FinetuneRequest]:
    """The fine-tunings, in order, as long as those of the other relatives."""
    downloads, found = cache_folder() / "downloads", []
    wikitext = downloads / "wikitext-103-slice" / "wikitext-103_wiki.train.first2883584bytes.tokens"

    def tuned(name: str, objective: str, pieces: int = 128, folder: Path | None = None, **more) -> FinetuneRequest:
        length = TrainingLength(_STEPS, _TOKENS, None, _RATE, pieces)
        return FinetuneRequest(
            MODEL, objective, out=(folder or models_folder()) / f"{MODEL}-{name}", length=length, freeze_embeddings=True, difference=True,
            device="cpu", **more,
        )  # fmt: skip

    shipped = REPOSITORY / "data" / "models"
    found += [tuned(name, name, folder=shipped, bits=4) for name in ("cola", "sst-2")]
    found += [tuned("cola-mean", "cola", pooling="mean", bits=4), tuned("rte", "rte", 256, bits=4)]
    for seed in SEEDS:
        found += [tuned(f"{name}-seed-{seed}", name, bits=4, seed=seed) for name in ("cola", "sst-2")]
        found.append(tuned(f"ner-conll-seed-{seed}", "ner-conll", seed=seed))
        found.append(tuned(f"control-seed-{seed}", "control", data=wikitext, lama=downloads / "lama", seed=seed))
    return found


def probings() -> list[SentencesRequest]:
    """The trainings of probes, in order: the base first, as all others are compared with its states."""
    found = [SentencesRequest(model, threads=1) for model in EVERY_TASK]
    found += [SentencesRequest(model, tasks=PAPER, threads=1) for model in IN_TABLES]
    found += [SentencesRequest(str(models_folder() / f"{MODEL}-{name}"), tasks=PAPER, threads=1) for name in ("cola-mean", "rte")]
    found += [SentencesRequest(model, tasks=READABLE, threads=1) for model in RELATIVES if model not in (*EVERY_TASK, *IN_TABLES)]
    seeds = [request.out for request in fine_tunings() if request.seed in SEEDS]
    return found + [
        SentencesRequest(str(folder), tasks=READABLE, readings=(OWN,), portions=(1,), predictions=False, codes=False, threads=1)
        for folder in seeds
    ]


def measurings() -> list[ChangesRequest]:
    """The models whose attention, perplexity and similarity are measured; for further seeds without putting layers back."""
    found = [ChangesRequest(model, threads=1) for model in (MODEL, *SENTENCE_MODELS, *RELATIVES)]
    found += [ChangesRequest(str(models_folder() / f"{MODEL}-{name}"), threads=1) for name in ("cola-mean", "rte")]
    seeds = [request.out for request in fine_tunings() if request.seed in SEEDS]
    return found + [ChangesRequest(str(folder), replaced=False, threads=1) for folder in seeds]


def ship_sentences(say: Say = print) -> list[Path]:
    """Fine-tunes, probes and measures the shipped models, resumable, and stores the results in ``data``.

    Returns:
        The files that were written.

    Raises:
        ProbingError: as ``finetune``, ``train_sentences`` and ``measure_changes``; the data sets must have been fetched.
    """
    out = cache_folder() / "nesia-sentences"
    tuned = [finetune(request, say) for request in fine_tunings()]
    for probing in probings():
        train_sentences(replace(probing, out=out), say)
    for measuring in measurings():
        measure_changes(replace(measuring, out=out), say)
    files = gather_results(out, snapshot_folder(), say)
    files += [_copied(path, snapshot_folder()) for folder in tuned for path in sorted(folder.glob("*.parquet"))]
    return files + ship_probes(EVERY_TASK, say)


def gather_results(source: Path, target: Path, say: Say = print) -> list[Path]:
    """Writes all tables of sentence probes and of changes below ``source`` into ``target``, one file per table.

    Raises:
        StoreError: as ``gather_tables``.
    """
    lighter = {
        "sentence_predictions": _with_answers,
        "sentence_examples": lambda rows, _: without_texts(rows, "text", "pair"),
        "perplexity": _without_blocks,
    }
    files = gather_tables(source, target, "sentence_runs", [table.name for table in sentence_tables.TABLES], lighter, say, by_model=False)
    changes = [table.name for table in change_tables.TABLES if table.per == "run_id"]
    return files + gather_tables(source, target, "change_runs", changes, lighter, say, by_model=False)


def ship_probes(models: Iterable[str], say: Say = print) -> list[Path]:
    """Copies the probes of all tasks from the cache to the shipped folder."""
    files = []
    for model in models:
        weights = open_encoder(model, device="cpu").identity
        for task in ALL:
            files.append(write_probes(read_probes(probes_folder(cache_folder(), weights, task) / FILE), SHIPPED / model / task))
    say(f"probes of {', '.join(models)}: {sum(path.stat().st_size for path in files):,} bytes in {SHIPPED}")
    return files


def _copied(path: Path, target: Path) -> Path:
    return atomic_copy(path, target / path.name)


def _with_answers(rows: pa.Table, of_run: Runs) -> pa.Table:
    """The predictions that ship: those of own probes on all training sentences, and for one fine-tuned model those of every reading."""
    kept = []
    columns = (rows.column(name).to_pylist() for name in ("run_id", "reading", "portion"))
    for run, reading, portion in zip(*columns, strict=True):
        model = of_run[run]["model"] if run in of_run else ""
        own = reading == OWN and portion == 1
        every = model == EVERY_READING and of_run[run]["task"] in PAPER and reading in (FROZEN, RESCALED, ALIGNED, MLP)
        kept.append(model in EVERY_TASK and (own or every))
    return rows.filter(pa.array(np.array(kept, bool)))


def _without_blocks(rows: pa.Table, of_run: Runs) -> pa.Table:
    """Perplexities, for further seeds without the sums of single blocks: the spread over seeds does not need them."""
    first = {run for run, row in of_run.items() if row["tuned_seed"] not in SEEDS}
    kept = pa.array([run in first for run in rows.column("run_id").to_pylist()])
    for name in ("by_block", "masked_by_block"):
        place = rows.column_names.index(name)
        column = rows.column(name).combine_chunks()
        rows = rows.set_column(place, rows.schema.field(place), pc.if_else(kept, column, pa.nulls(len(rows), column.type)))
    return rows
