"""Flips single bits of stored files and opens them: ``python -m tests.faults.flips COUNT FOLDER`` prints what came.

Half of the bits are in footers and headers, on which readers rely. It is a process of its own, as a wrong byte could
end it.
"""

import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from safetensors import SafetensorError

from probing.changes.minimal_pairs import read_minimal_pairs
from probing.edges import ask as edges
from probing.facts.sources import read_own_facts
from probing.heads.files import read_identity, read_weights, refuse_damage
from probing.kernel.errors import ProbingError
from probing.kernel.models.arrays import read_sealed, write_sealed
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.columns import TABLES
from probing.kernel.store.opening import open_database
from probing.kernel.store.parquet import files_of, read_table, table_of, write_table
from probing.kernel.store.seals import examine
from probing.sentences import probes as sentences

DATA = REPOSITORY / "data"
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
    # Texts without a checksum of their own, which `check` compares: other words are no damage that a reader can see.
    yield "own facts", DATA / "facts" / "well_known.jsonl", lambda path: read_own_facts(path, "mine") and None
    yield "minimal pairs", DATA / "sentences" / "minimal_pairs.jsonl", lambda path: read_minimal_pairs(path) and None


def flipped(content: bytes, rng: random.Random) -> bytes:
    """One other bit; half of them in the footer of Parquet, the header of safetensors or the first bytes of a text."""
    if content.endswith(b"PAR1"):
        part = range(len(content) - 8 - int.from_bytes(content[-8:-4], "little"), len(content))
    else:
        part = range(min(len(content), 8 + int.from_bytes(content[:2], "little")))
    changed = bytearray(content)
    changed[rng.choice(part) if rng.random() < 0.5 else rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def main(count: int, folder: Path) -> None:
    """Prints kind -> what came -> how often; ``wrong`` and ``raised`` with the number of the trial."""
    rng, came, kinds = random.Random(count), defaultdict[str, Counter[str]](Counter), list(files(folder))
    trials = []
    for number in range(count):
        kind, path, read = kinds[number % len(kinds)]
        copy = folder / str(number) / path.name
        copy.parent.mkdir()
        copy.write_bytes(flipped(path.read_bytes(), rng))
        trials.append((number, kind, path, copy, read))
    # One process for the files without a seal, as for a folder of them.
    examine(copy for *_, copy, _ in trials if copy.suffix == ".parquet")
    for number, kind, path, copy, read in trials:
        try:
            came[kind]["same rows" if read(copy) == read(path) else f"wrong: trial {number}"] += 1
        except (ProbingError, OSError, SafetensorError) as error:
            came[kind]["named" if copy.name in str(error) else f"wrong: trial {number} says {error}"] += 1
        except Exception as error:
            came[kind][f"raised: trial {number}, {error!r}"] += 1
    print(json.dumps(came))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
