"""What a command left behind, as one digest a file, without what may differ between two makings of the same thing."""

import hashlib
import json
from pathlib import Path

from probing.core.errors import ProbingError
from probing.store.parquet import read_table

#: Folders of a place that hold results; the others (checkpoints, shards, states) are work in progress.
RESULTS = (
    "cache/heads",
    "cache/runs",
    "cache/shared",
    "cache/models",
    "cache/downloads",
    "cache/hub/pulled",
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
                part.startswith(".") or part.endswith((".tmp", ".part")) or ".tmp" in part for part in parts
            ):
                continue
            # How long a head took differs from run to run.
            if path.suffix == ".pt" or ".partial." in path.name or path.name.startswith("seconds-"):
                continue
            found[name] = _digest(path)
    return found


def _digest(path: Path) -> str:
    try:
        table = path.name.partition("-")[0]
        if table in ("runs", "head_training") and path.suffix == ".parquet":
            rows = read_table(path, table)
            return _of(
                rows.drop_columns([column for column in OF_THE_MAKING if column in rows.column_names]).to_pylist()
            )
        if path.parent.name == "pulled":
            return _of(
                {key: value for key, value in json.loads(path.read_text()).items() if key not in ("from", "commit")}
            )
    except (ProbingError, ValueError):
        return UNREADABLE
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _of(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
