"""Trains the probes of whole sentences and stores their predictions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from probing.kernel.errors import OptionError, Say
from probing.kernel.jobs.stored_runs import do_job, full_names, places_of, refuse_taken_tasks
from probing.kernel.models.catalogue import open_models
from probing.kernel.models.names import find_entry
from probing.kernel.models.torch_settings import set_threads
from probing.kernel.options import spelled
from probing.kernel.requests import ExecutorChoice
from probing.sentences.examples import FROZEN, MLP, OWN, POOLINGS, READINGS
from probing.sentences.requests import SentencesRequest
from probing.sentences.tasks import ALL, SENTENCE_TASKS
from probing.sentences.train import SentenceWork, read_cached


def train_sentences(request: SentencesRequest, say: Say = print) -> Path:
    """Trains probes of every task and stores their predictions; resumable, does nothing the second time.

    A killed call resumes where it stopped, under any executor, and gives the same bytes except for ``created``.

    Args:
        request: the probes.
        say: called with each line for the user.

    Returns:
        The folder of the results.

    Raises:
        OptionError: for an unknown task, or a reading that the model cannot have.
        ProbingError: if data or model are missing or not usable, or a name is taken.
    """
    read_cached.cache_clear()  # Files may have changed since an earlier call.
    set_threads(request.threads)
    readings = _readings(request)
    names = full_names(request.tasks, ALL, SENTENCE_TASKS)
    stamps = _read_all(names, request.protocol, say)
    opened = open_models(request.model, request.base, request.device, request.name, request.revision)
    target, folders = places_of(request, opened.encoder)
    refuse_taken_tasks("sentence", stamps, folders, "file", request.protocol)
    wanted = replace(
        request,
        pooling=tuple(one for one in POOLINGS if one in request.pooling),
        portions=tuple(sorted(set(request.portions))),
        codes=request.codes and OWN in readings,
        executor=ExecutorChoice(),
    )
    by_task = dict(zip(stamps, names, strict=True))
    work = SentenceWork(
        **vars(opened), request=wanted, readings=readings, names=by_task, stamps=stamps, target=target.absolute()
    )
    # The manifest does not list the probes: if some are lost, every task is checked again.
    do_job(request, work, say, complete=lambda: all(work.has_probes(task) for task in stamps))
    beside = f" and {opened.base.name}" if opened.base else ""
    say(f"probes of {', '.join(stamps)} on {opened.encoder.name}{beside}: {target}")
    return target


def _readings(request: SentencesRequest) -> tuple[str, ...]:
    """The readings of a model, in the usual order.

    Raises:
        OptionError: if the reading by the base's probes is requested of a model without a base.
    """
    has_base = bool(find_entry(request.model, request.base, request.name, request.revision).base)
    chosen = request.readings
    if chosen is None:
        chosen = READINGS if has_base else (OWN, MLP)
    if not has_base and FROZEN in chosen:
        raise OptionError(
            f"got the reading {FROZEN!r} for {request.model}, whose base is not known; name the model that it was"
            f" fine-tuned from ({spelled('base')}), or leave {FROZEN!r} out"
        )
    return tuple(one for one in READINGS if one in chosen)


def _read_all(names: Sequence[str], protocol: str, say: Say) -> dict[str, str]:
    """Task -> fingerprint of its data; every task is read before the first is trained.

    Raises:
        OptionError: if two tasks have the same name.
    """
    stamps: dict[str, str] = {}
    for name in names:
        _, data = read_cached(name, protocol)
        if data.task in stamps:
            raise OptionError(f"two of the tasks {', '.join(names)} are called {data.task}; rename one of the files")
        parts = ", ".join(f"{part} {len(examples):,}" for part, examples in data.parts.items())
        dropped = ", ".join(f"{number:,} {reason}" for reason, number in data.dropped.items())
        say(
            f"{data.task}: {parts} sentences; {len(data.labels)} labels" + (f"; left out: {dropped}" if dropped else "")
        )
        if data.said:
            say(f"{data.task}: {data.said}")
        stamps[data.task] = data.sha256
    return stamps
