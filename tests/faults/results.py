"""What a command left behind, as one digest a file, without what may differ between two makings of the same thing."""

import hashlib
import json
from pathlib import Path

import duckdb

from probing.core.errors import ProbingError
from probing.store.parquet import read_table
from tests.store.planted import NAMES

#: Folders of a place that hold results; the others (checkpoints, shards, states) are work in progress.
RESULTS = (
    "cache/heads",
    "cache/runs",
    "cache/database",
    "cache/models",
    "cache/downloads",
    "cache/hub/pulled",
    "cache/reproduction",
    "out",
)
#: When and where a run was made.
OF_THE_MAKING = ["device", "created", "seconds"]
UNREADABLE = "unreadable"


def digests(place: Path) -> dict[str, str]:
    """File -> digest, for every file under a final name below the result folders."""
    found = {}
    for folder in RESULTS:
        for path in sorted((place / folder).rglob("*")):
            name = path.relative_to(place).as_posix()
            parts = path.relative_to(place).parts
            if not path.is_file() or any(
                part.startswith(".") or part.endswith((".tmp", ".wal", ".part")) or ".tmp" in part for part in parts
            ):
                continue
            # How long a head took differs from run to run.
            if path.suffix == ".pt" or ".partial." in path.name or path.name.startswith("seconds-"):
                continue
            if path.suffix == ".duckdb":
                # Its name has the sum of its sources, in which the time of making stands.
                name = "cache/database/results.duckdb"
            found[name] = _digest(path)
    return found


def _digest(path: Path) -> str:
    try:
        table = path.name.partition("-")[0]
        if table in ("runs", "head_training") and path.suffix == ".parquet":
            rows = read_table(path, table)
            return _of(rows.drop_columns([column for column in OF_THE_MAKING if column in rows.column_names]).to_pylist())
        if path.suffix == ".duckdb":
            return _of(tables(path))
        if path.name == "current.json":
            return _of(sorted(json.loads(path.read_text())))
        if path.parent.name == "pulled":
            return _of({key: value for key, value in json.loads(path.read_text()).items() if key not in ("from", "commit")})
    except (ProbingError, duckdb.Error, ValueError):
        return UNREADABLE
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tables(path: Path) -> dict[str, list]:
    """Every row of every table of a database, in an order that depends on the rows only."""
    with duckdb.connect(str(path), read_only=True) as connection:
        names = [name for (name,) in connection.execute(NAMES).fetchall()]
        found = {}
        for name in names:
            # Of what it was made: sums of files in which the time of making stands.
            if name in ("meta", "files"):
                continue
            frame = connection.execute(f'SELECT * FROM "{name}"').df()
            frame = frame.drop(columns=[column for column in OF_THE_MAKING if column in frame])
            found[name] = sorted(json.dumps([str(value) for value in row]) for row in frame.itertuples(index=False))
    return found


def _of(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
