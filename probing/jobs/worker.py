"""Runs in a worker process: does shards that came as JSON, by a worker that is opened once."""

import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from probing.core import errors
from probing.core.errors import JobError, ProbingError
from probing.jobs.job import Worker, open_worker
from probing.jobs.manifest import Line, summed


@lru_cache(maxsize=1)
def _opened(worker: str, setup: str) -> Worker:
    # One at a time: models are large, and a process does one job after the other.
    return open_worker(worker, json.loads(setup))


def do_shards(sent: str) -> dict[str, Any]:
    """Does the shards of ``Job.sent``.

    Returns:
        ``lines``: for the manifest, which the coordinator alone writes; ``error``: class and message of what a user can
        fix, or None. A library's exception may not survive the way back; two strings do.
    """
    job = json.loads(sent)
    lines: list[dict] = []
    try:
        folder = _seen(Path(job["folder"]), job["token"])
        os.environ.update(job["environment"])
        names = [name for name, _ in job["shards"]]
        note = noted(names, folder, lambda line: lines.append(asdict(line)))
        worker = _opened(job["worker"], json.dumps(job["setup"], sort_keys=True))
        worker([arguments for _, arguments in job["shards"]], note)
    except ProbingError as error:
        return {"lines": lines, "error": [type(error).__name__, str(error)]}
    return {"lines": lines, "error": None}


def noted(names: list[str], folder: Path, finished: Callable[[Line], None]) -> Callable[[int, list[Path]], None]:
    """Called by a worker after each shard: hashes its files and hands the line on."""
    began = time.monotonic()

    def note(number: int, files: list[Path]) -> None:
        nonlocal began
        seconds = round(time.monotonic() - began, 3)
        finished(Line(names[number], summed(files, folder), seconds, socket.gethostname()))
        began = time.monotonic()

    return note


def take_back(answer: dict[str, Any], finished: Callable[[Line], None]) -> None:
    """Hands on the lines that ``do_shards`` returned, and raises its error if there is one.

    Raises:
        ProbingError: of the class that the worker raised.
    """
    for row in answer["lines"]:
        finished(Line(row["name"], tuple((name, digest) for name, digest in row["files"]), row["seconds"], row["host"]))
    if answer["error"]:
        kind, message = answer["error"]
        raise getattr(errors, kind, JobError)(message)


def _seen(folder: Path, token: str) -> Path:
    if not (folder / token).is_file():
        raise JobError(
            f"worker on {socket.gethostname()} does not see {folder}; expected a folder that all machines share under"
            " the same path: set PROBING_CACHE to one"
        )
    return folder
