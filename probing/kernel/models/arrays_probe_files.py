"""Files of trained probes, for spans and for sentences: one folder per task, local ones before shipped ones."""

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open

FILE = "probes.safetensors"


def find_probe_files(local: Path, shipped: Path, weights_id: str, field: str) -> dict[str, Path]:
    """Files of all probes of an encoder, by task; locally trained probes come before shipped ones.

    Files for other weights, by their ``field``, are left out, unreadable files are not.
    """
    paths: dict[str, Path] = {}
    for folder in (local, shipped):
        for path in sorted(folder.glob(f"*/{FILE}")):
            if path.parent.name not in paths and _weights_id_of(path, field) in (weights_id, ""):
                paths[path.parent.name] = path
    return dict(sorted(paths.items()))


def _weights_id_of(path: Path, field: str) -> str:
    """Identity of the encoder of a file's probes; empty if it cannot be read: that raises when the probes are read."""
    try:
        with safe_open(path, framework="numpy") as stream:
            return str(json.loads((stream.metadata() or {})["probes"])[field])
    except (OSError, SafetensorError, ValueError, KeyError, TypeError):
        return ""
