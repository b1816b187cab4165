"""Flips single bits of stored files and opens them: ``python -m tests.faults.flips COUNT FOLDER`` prints what came.

Half of the bits are in footers and headers, on which readers rely. It is a process of its own, as a wrong byte could
end it.
"""

import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import torch
from safetensors import SafetensorError

from data.making.pretraining import train as pretraining
from probing.changes.minimal_pairs import read_minimal_pairs
from probing.edges import ask as edges
from probing.facts.sources import read_own_facts
from probing.finetuning import trainer
from probing.heads.files import read_identity, read_weights, refuse_damage
from probing.kernel.errors import ProbingError
from probing.kernel.models.arrays import read_sealed, write_sealed
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.columns import TABLES
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import files_of, read_table, table_of, write_table
from probing.kernel.store.seals import examine
from probing.own_model import run as own_run
from probing.sentences import probes as sentences

DATA = REPOSITORY / "data"
#: Files of every kind that one part of the stress trials opens, and the number of parts.
EACH, PARTS = 5, 4
#: Reads a file and gives what it holds, to compare.
Read = Callable[[Path], Any]


def table_rows(path: Path) -> Any:
    """Rows as the database of a folder with this file alone has them, and as the files' reader does."""
    with open_database(path.parent) as opened:
        if len(why := opened.left_out[opened.left_out["name"] == path.name]):
            raise ProbingError(why["why"].item())
    rows = duckdb.sql(f"SELECT count(*), sum(hash(t)::HUGEINT) FROM read_parquet('{path}') t").fetchall()
    return rows, read_table(path, str(table_of(path)))


def head(path: Path) -> Any:
    """A head as commands and ``check`` read it."""
    identity, weights = read_identity(path), read_weights(path)
    refuse_damage(path, identity, weights)
    return {name: weight.numpy().tobytes() for name, weight in weights.items()}


def probes(read: Callable, path: Path) -> Any:
    """Probes of words or of sentences."""
    return {name: np.asarray(value).tobytes() for name, value in vars(read(path)).items() if hasattr(value, "shape")}


def arrays(path: Path) -> Any:
    """What a command keeps between its steps."""
    return {name: array.tobytes() for name, array in read_sealed(path).items()}


def files(folder: Path) -> Iterator[tuple[str, Path, Read]]:
    """Kind, file and reader: each table as it ships and as it is written now, and each other kind of file."""
    for table in TABLES:
        shipped = min(files_of(table, DATA / "snapshot"), key=lambda path: path.stat().st_size, default=None)
        rows = read_table(shipped, table) if shipped else []
        name = shipped.name if shipped else f"{table}.parquet"
        yield f"{table}, sealed", write_table(table, rows, folder / "whole" / name), table_rows
        if shipped:
            yield f"{table}, shipped", shipped, table_rows
    large = max(files_of("candidate_ranks", DATA), key=lambda path: path.stat().st_size)
    yield "candidate_ranks with statistics, shipped", large, table_rows
    write_sealed({"ranks": np.arange(600).reshape(3, 200)}, folder / "whole" / "arrays.safetensors")
    yield "arrays", folder / "whole" / "arrays.safetensors", arrays
    yield "heads", next((DATA / "models").glob("*/heads/*/layer-*.safetensors")), head
    for kind, subject in (("edges", edges), ("sentences", sentences)):
        path = min((DATA / kind).glob("*/*/probes.safetensors"), key=lambda path: path.stat().st_size)
        yield f"{kind} probes", path, partial(probes, subject.read_probes)
    yield from states(folder / "whole")
    # Texts without a checksum of their own, which `check` compares: other words are no damage that a reader can see.
    yield "own facts", DATA / "facts" / "well_known.jsonl", lambda path: read_own_facts(path, "mine") and None
    yield "minimal pairs", DATA / "sentences" / "minimal_pairs.jsonl", lambda path: read_minimal_pairs(path) and None


def states(folder: Path) -> Iterator[tuple[str, Path, Read]]:
    """What unfinished work keeps: an own run's state, and the checkpoints of fine-tuning and of pre-training."""
    wish = own_run.Wish(model="m", facts="f.csv", called="f")
    own_run._save(folder, own_run.State(wish=wish, created="2026", step=3))
    yield "state of an own run", folder / "run.json", lambda path: named(path, own_run._read)
    recipe = pretraining.PretrainRecipe(layers=1, hidden=16, heads=2, steps=8, tokens_per_step=60)
    model = pretraining.new_model(recipe, 40)
    optimiser = torch.optim.AdamW(model.parameters())
    pretraining._save(folder, recipe, "begun", model, optimiser, 3, [])

    def resumed(path: Path) -> Any:
        found = pretraining._resume(path.parent, recipe, "begun", model, optimiser)
        return found, [weight.numpy().tobytes() for weight in model.state_dict().values()]

    yield "checkpoint of pretrain", folder / "checkpoint.pt", resumed
    whole = folder / "checkpoint-3"
    model.save_pretrained(whole)
    (whole / "trainer_state.json").write_text('{"best_model_checkpoint": null}')
    (whole / trainer._SUMS).write_text(json.dumps(trainer._sums(whole)))

    def last(path: Path) -> Any:
        training = folder.parent / "training"
        shutil.rmtree(training, ignore_errors=True)
        content = path.read_bytes()
        shutil.copytree(whole, training / whole.name)
        (training / whole.name / path.name).write_bytes(content)
        if trainer._last_whole_checkpoint(training) is None:
            raise ProbingError(f"{path.name} is not used")
        return content

    for name in ("model.safetensors", trainer._SUMS):
        yield f"{name} of a checkpoint of finetune", whole / name, last


def named(path: Path, read: Read) -> Any:
    """As a caller reads it that names the file in its error."""
    try:
        return read(path)
    except ValueError as error:
        raise ProbingError(f"{path.name}: {error}") from error


def flipped(content: bytes, rng: random.Random) -> bytes:
    """One other bit; half of them in the footer of Parquet, the header of safetensors or the first bytes of a text."""
    if content.endswith(b"PAR1"):
        part = range(len(content) - 8 - int.from_bytes(content[-8:-4], "little"), len(content))
    else:
        part = range(min(len(content), 8 + int.from_bytes(content[:2], "little")))
    changed = bytearray(content)
    changed[rng.choice(part) if rng.random() < 0.5 else rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(changed)


class Flips:
    """So many files with one other bit, of every kind by turns, each of which is opened once."""

    def __init__(self, folder: Path, count: int, rng: random.Random):
        kinds = list(files(folder))
        self._trials = []
        for number in range(count or EACH * len(kinds)):
            kind, path, read = kinds[number % len(kinds)]
            copy = folder / str(number) / path.name
            copy.parent.mkdir()
            copy.write_bytes(flipped(path.read_bytes(), rng))
            self._trials.append((kind, path, copy, read))
        # One process for the files without a seal, as for a folder of them.
        examine(copy for *_, copy, _ in self._trials if copy.suffix == ".parquet")

    def __len__(self) -> int:
        return len(self._trials)

    def opened(self, number: int) -> tuple[str, str]:
        """What came of a trial: ``named``, ``same rows``, or ``opened``, of a text that has no checksum of its own; and
        what is wrong, empty if nothing.
        """
        kind, path, copy, read = self._trials[number]
        try:
            if (found := read(copy)) is None:
                return "opened", ""
            return ("same rows", "") if found == read(path) else ("other rows", f"{kind}, trial {number}")
        except (ProbingError, OSError, SafetensorError) as error:
            return "named", "" if copy.name in str(error) else f"{kind}, trial {number} says {error}"
        except Exception as error:
            return "raised", f"{kind}, trial {number}: {error!r}"


def main(count: int, folder: Path) -> None:
    """Prints a list of what was wrong, and the number of trials."""
    flips = Flips(folder, count, random.Random(count))
    print(json.dumps([wrong for number in range(len(flips)) if (wrong := flips.opened(number)[1])]), len(flips))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
