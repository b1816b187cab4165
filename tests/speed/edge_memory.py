"""Peak memory of ``edges train`` at BERT-base size, in a separate process, and the bytes of its stored states."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from probing.core.edges.target import Part
from probing.core.registry import REPOSITORY
from tests.speed.edge_slices import SIZES, sentences
from tests.speed.measurement import Measurement, random_bert_base
from tests.speed.memory import peak_bytes
from tests.speed.trex_prompts import bench_folder

#: The task with the most targets of two spans.
SIZE = next(size for size in SIZES if size.task == "dependencies")
DEV = 200
#: Limits: gigabytes of memory, and bytes on disk divided by those of the formula, including file headers.
BOUND, CACHE_BOUND = 4.0, 1.01
BYTES = 2


@dataclass(frozen=True)
class Trained:
    """Time, memory and disk space of a training.

    Attributes:
        seconds: total time.
        peak: maximum resident bytes, including mapped files.
        cache: bytes of the states on disk.
        formula: pieces x layers x size of a state x 2.
        pieces: number of pieces with stored states.
    """

    seconds: float
    peak: int
    cache: int
    formula: int
    pieces: int


def measure(quick: bool = False) -> list[Measurement]:
    """The ratios are peak resident memory in gigabytes, and bytes of the cache divided by the formula."""
    source, amount = random_bert_base(bench_folder()), 100 if quick else 4_000
    with TemporaryDirectory(prefix="edge-memory-", dir=source.parent) as folder:
        code = f"from tests.speed.edge_memory import train_slice; train_slice({str(source)!r}, {folder!r}, {amount})"
        here = os.environ | {"PROBING_CACHE": folder}
        run = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, env=here, stdout=subprocess.PIPE, text=True, check=True)
    found = Trained(**json.loads(run.stdout.splitlines()[-1]))
    note = (
        f"measured on a slice: {amount:,} training sentences of the shape of {SIZE.task}, {found.pieces:,} pieces, "
        f"{found.formula / 1e9:.2f} GB of states; states encoded and written, 13 probes trained, answers about {DEV} sentences stored"
    )
    return [
        Measurement("peak memory of edges train (GB)", found.seconds, "", None, found.peak / 1e9, BOUND, True, "nothing is compared", note),
        Measurement(
            "states on disk by pieces x layers x size x 2 bytes",
            found.seconds,
            "",
            None,
            found.cache / found.formula,
            CACHE_BOUND,
            True,
            "the pieces of all words inside spans",
            f"{found.cache:,} bytes for {found.pieces:,} pieces",
        ),
    ]


def train_slice(source: str, folder: str, amount: int) -> None:
    """Trains probes of an own task with the function that ``edges train`` calls, and prints ``Trained`` as JSON."""
    import numpy as np

    from probing.models.edges.recipe import EdgeRecipe
    from probing.workflows.edges.train import train_edges
    from probing.workflows.requests.edges import EdgesRequest

    started, task = time.perf_counter(), Path(folder) / "slice"
    words = sentences(amount + DEV)
    _write(SIZE.part(words[:amount], amount), task / "train.jsonl")
    _write(SIZE.part(words[-DEV:], DEV, seed=1), task / "dev.jsonl")
    recipe = EdgeRecipe(check_every=20, most_checks=2)
    train_edges(EdgesRequest(source, (str(task),), recipe=recipe, out=Path(folder) / "out", device="cpu"), say=lambda _: None)
    files = list((Path(folder) / "edge-states").glob("*/*.npy"))
    shapes = [np.load(path, mmap_mode="r").shape for path in files]
    formula = sum(pieces * layers * hidden * BYTES for pieces, layers, hidden in shapes)
    cache = sum(path.stat().st_size for path in (Path(folder) / "edge-states").rglob("*") if path.is_file())
    pieces = sum(shape[0] for shape in shapes)
    print(json.dumps(vars(Trained(time.perf_counter() - started, peak_bytes(), cache, formula, pieces))))


def _write(part: Part, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for record in part.records:
        targets = [
            {"span1": target.span1, "label": target.labels[0]} | ({"span2": target.span2} if target.span2 else {})
            for target in record.targets
        ]
        lines.append(json.dumps({"text": record.text, "targets": targets, "info": {}}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
