"""Trains the probes of edge probing and stores their predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from probing.edges.requests_edges import EdgesRequest
from probing.edges.requests_run import data_sha256
from probing.edges.rows_task_rows import UNSEEN_LABEL, label_names
from probing.edges.tasks import ALL, EDGE_TASKS
from probing.edges.train import EdgeWork, read_cached
from probing.kernel.errors import OptionError, Say
from probing.kernel.jobs.stored_runs import do_job, full_names, places_of, refuse_taken_tasks
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.names import base_entry, find_entry
from probing.kernel.models.torch_settings import set_threads
from probing.kernel.requests import ExecutorChoice


def train_edges(request: EdgesRequest, say: Say = print) -> Path:
    """Trains probes of every task and stores their predictions; resumable, does nothing the second time.

    A killed call resumes where it stopped, under any executor, and gives the same bytes except for ``created``.

    Args:
        request: the probes.
        say: called with each line for the user.

    Returns:
        The folder of the results.

    Raises:
        OptionError: for an unknown task.
        ProbingError: if data or model are missing or not usable, or a name is taken.
    """
    read_cached.cache_clear()  # Files may have changed since an earlier call.
    set_threads(request.threads)
    entry = find_entry(request.model, request.base, request.name, request.revision)
    origin = base_entry(entry)
    names = task_names(request)
    stamps = _read_all(names, say)
    opened = open_encoder(request.model, request.base, request.device, name=request.name, revision=request.revision)
    target, folders = places_of(request, opened)
    refuse_taken_tasks("edge", _by_task(stamps), folders, "folder")
    kinds, labels = tuple(dict.fromkeys(request.kinds)), tuple(dict.fromkeys(request.labels))
    work = EdgeWork(
        request=replace(request, tasks=names, kinds=kinds, labels=labels, executor=ExecutorChoice()),
        encoder=opened,
        base=origin.name if origin else "",
        objective=entry.objective,
        groups=_groups(names),
        stamps=stamps,
        target=target.absolute(),
    )
    # The manifest does not list the probes: if some are lost, every task is checked again.
    do_job(request, work, say, complete=lambda: all(work.has_probes(task) for task in work.shards))
    say(f"probes of {', '.join(work.shards)} on {opened.name} ({request.encoder}): {target}")
    return target


def task_names(request: EdgesRequest) -> tuple[str, ...]:
    """The tasks, each once; folders as absolute paths without links, as a task has its folder's own name."""
    return full_names(request.tasks, ALL, EDGE_TASKS)


def _read_all(names: Sequence[str], say: Say) -> dict[str, str]:
    """Task -> fingerprint of its data; every task is read before the first is trained."""
    stamps = {}
    for name in names:
        _, data = read_cached(name)
        parts = ", ".join(
            f"{part} {one.targets:,} targets in {len(one.records):,} sentences" for part, one in data.parts().items()
        )
        dropped = sum(sum(one.dropped.values()) for one in data.parts().values())
        say(f"{data.task}: {parts}; {len(data.labels)} labels" + (f"; {dropped:,} dropped" if dropped else ""))
        if UNSEEN_LABEL in label_names(data):
            say(f"  {data.task} has labels that its training part lacks; they count as missed")
        stamps[name] = data_sha256(data)
    return stamps


def _by_task(stamps: Mapping[str, str]) -> dict[str, str]:
    """The fingerprints by the tasks' own names; raises an ``OptionError`` if two tasks have the same."""
    found = {Path(name).name: stamp for name, stamp in stamps.items()}
    if len(found) < len(stamps):
        raise OptionError(f"two of the tasks {', '.join(stamps)} have the same name; rename one of the folders")
    return found


def _groups(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Task -> the tasks that share sentences with it, including itself."""
    texts = {
        name: {record.sha256 for part in read_cached(name)[1].parts().values() for record in part.records}
        for name in names
    }
    groups: list[set[str]] = []
    for name in names:
        joined = [group for group in groups if any(texts[name] & texts[other] for other in group)]
        groups = [group for group in groups if group not in joined] + [{name}.union(*joined)]
    return {name: tuple(other for other in names if other in group) for group in groups for name in group}
