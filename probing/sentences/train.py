"""Trains the probes of whole sentences, one task after the other in any process, and stores their predictions."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from probing.kernel.errors import OptionError, ProbingError, ProgressBar, Say, SentenceDataError
from probing.kernel.files import cache_folder
from probing.kernel.jobs.stored_runs import (
    RunFiles,
    TaskWork,
    do_job,
    full_names,
    places_of,
    provenance_of,
    refuse_taken_tasks,
)
from probing.kernel.models.arrays import FILE
from probing.kernel.models.catalogue import Opened, open_models
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import find_entry
from probing.kernel.models.torch_settings import set_threads, thread_count
from probing.kernel.options import spelled
from probing.kernel.requests import ExecutorChoice
from probing.sentences.examples import FROZEN, MLP, OWN, PARTS, POOLINGS, READINGS, SentenceData, majority_label
from probing.sentences.predictions import Answer, ModelAnswers, Split
from probing.sentences.probes import TaskProbes, folded, probes_folder, read_probes, write_probes
from probing.sentences.requests import SentenceRunConfig, SentencesRequest
from probing.sentences.rows import Answered, Which, gold_labels, rows_of_run, run_tables, write_task
from probing.sentences.tasks import ALL, SENTENCE_TASKS, SentenceTask, read_task
from probing.sentences.vectors import SentenceStates, sentence_states, states_fingerprint

#: Version of the fitting: raised when a change of the program gives other probes for the same states.
RECIPE = "probes-1"
_TOO_LONG = "longer than the model takes"
_TOO_LONG_FOR_BASE = "longer than the base takes"


@dataclass(frozen=True)
class SentenceWork(Opened, TaskWork):
    """Trains the probes of tasks; a shard is a task."""

    request: SentencesRequest  #: the probes, in the usual order and nothing twice
    readings: tuple[str, ...]  #: of the request, or all that are possible for the model
    names: Mapping[str, str]  #: task -> its name or its file's absolute path
    stamps: Mapping[str, str]  #: task -> fingerprint of its data
    target: Path  #: folder of the Parquet files

    def __setstate__(self, state: tuple[int, Mapping[str, Any]]) -> None:
        read_cached.cache_clear()  # Files may have changed since an earlier job of this process.
        super().__setstate__(state)

    @property
    def folder(self) -> Path:
        """With the manifest."""
        record = self.base and self.base.weights_id, self.objective, self.variant, self.tuned_seed
        return self.place("sentences", self.computed, record, self.request, self.readings, self.stamps, self.target)

    @property
    def shards(self) -> Mapping[str, str]:
        """Name of each task -> the task as it was requested."""
        return self.names

    def which(self) -> list[Which]:
        """Reading and portion of all probes."""
        return [
            (reading, portion)
            for reading in self.readings
            for portion in (self.request.portions if reading == OWN else (1,))
        ]

    def config(self, data: SentenceData) -> SentenceRunConfig:
        """The configuration of a task's run."""
        return SentenceRunConfig(
            **provenance_of(self.encoder, self.base, self.objective, RECIPE, self.request.seed, thread_count()),
            task=data.task,
            data=data.sha256,
            protocol=data.protocol,
            poolings=self.request.pooling,
            readings=self.readings,
            portions=self.request.portions,
            codes=self.request.codes,
            base_weights=self.base.weights_id if self.base else "",
            base_configuration=self.base.configuration if self.base else "",
        )

    def make(self, shard: str) -> list[Path]:
        """Makes the run of one task if it is missing; its files without the probes, which another run may replace."""
        task, data = read_cached(shard, self.request.protocol)
        run = RunFiles(self.config(data), run_tables(self.request.predictions), self.target)
        if not (run.whole() and self.has_probes(data.task)):
            self._train(task, data, run)
        return self._write_task(task, data) + run.all

    def _write_task(self, task: SentenceTask, data: SentenceData) -> list[Path]:
        """Writes the tables of a task's data if they are missing or differ, and returns them."""
        return write_task(task, data, self.target, cache_folder() / "sentence-states")

    def has_probes(self, task: str) -> bool:
        """Whether a task's probes for typed sentences can be read; True if none are requested."""
        if OWN not in self.readings or 1 not in self.request.portions or self.request.pooling != POOLINGS:
            return True
        try:
            read_probes(self._probes(task) / FILE)
        except ProbingError:
            return False
        return True

    def _probes(self, task: str) -> Path:
        return probes_folder(cache_folder(), self.encoder.weights_id, task)

    def _train(self, task: SentenceTask, data: SentenceData, run: RunFiles) -> None:
        kept = cache_folder() / "sentence-states"
        work = cache_folder() / "sentence-training" / f"{data.task}-{run.config.fingerprint}"
        # A base's states and predictions are needed for every relative; another model's are kept until its run is
        # stored.
        folder = work if self.base else kept / states_fingerprint(self.encoder, data.sha256)
        states = _encoded(data, self.encoder, folder)
        base_folder = kept / states_fingerprint(self.base, data.sha256) if self.base else folder
        base_states = _encoded(data, self.base, base_folder) if self.base else states
        split, left_out = _split(data, states.taken, base_states.taken, self.request.seed, self.encoder.name)
        model = ModelAnswers(states, split, folder, self.request.pooling)
        base = ModelAnswers(base_states, split, base_folder) if self.base else model
        given = self._answered(model, base, left_out, _test_taken(data, states, base_states))
        rows = rows_of_run(self.config(data), given, self.encoder.hidden)
        rows["sentence_runs"] = [rows["sentence_runs"][0] | {"variant": self.variant, "tuned_seed": self.tuned_seed}]
        if (OWN, 1) in self.which() and self.request.pooling == POOLINGS:
            self._keep_probes(task, data, model)
        # Not before: data that the model cannot be probed on leave no file.
        self._write_task(task, data)
        run.write(rows, self.encoder)
        shutil.rmtree(work, ignore_errors=True)

    def _keep_probes(self, task: SentenceTask, data: SentenceData, model: ModelAnswers) -> None:
        """Stores the probes for typed sentences."""
        (probes, answer), gold = model.own(), model.split.gold["test"]
        weights, bias = folded(probes)
        kept = TaskProbes(
            task=data.task,
            title=task.title,
            pairs=any(one.pair for one in data.parts["train"]),
            labels=data.labels,
            protocol=data.protocol,
            model=self.encoder.name,
            weights_id=self.encoder.weights_id,
            data=data.sha256,
            right=(answer.test == gold).sum(2),
            tested=len(gold),
            majority=int((gold == data.labels.index(majority_label(data.parts["train"]))).sum()),
            c=probes.c,
            weights=weights,
            bias=bias,
        )
        write_probes(kept, self._probes(data.task))

    def _answered(
        self, model: ModelAnswers, base: ModelAnswers, left_out: Mapping[str, Mapping[str, int]], asked: np.ndarray
    ) -> Answered:
        """All predictions; of the base those of its own probes on all training sentences, with which the model's are
        compared.
        """
        chosen = self.which()
        with ProgressBar(f"probes of {self.encoder.name}") as bar:
            own = {}
            for number, which in enumerate(chosen):
                own[which] = _answer(model, base, which)
                bar.moved(number + 1, len(chosen) + self.request.codes)
            of_base = own if base is model else {(OWN, 1): base.own()[1]}
            codes = model.codes() if self.request.codes else None
        return Answered(
            model=self.encoder.name,
            base=self.base.name if self.base else self.encoder.name,
            poolings=model.poolings,
            base_poolings=base.poolings,
            asked=asked,
            gold=model.split.gold["test"],
            n_dev=len(model.split.gold["dev"]),
            own=own,
            of_base=of_base,
            codes=codes,
            left_out=left_out,
        )


def _answer(model: ModelAnswers, base: ModelAnswers, which: Which) -> Answer:
    reading, portion = which
    if reading == OWN:
        return model.own(portion)[1]
    return model.mlp() if reading == MLP else model.of_base(base)


def _encoded(data: SentenceData, encoder: Encoder, folder: Path) -> SentenceStates:
    """States of all sentences of a task, parts in their order."""
    examples = [one for part in PARTS for one in data.parts[part]]
    with ProgressBar(f"{data.task}: states of {encoder.name}", "sentence") as bar:
        return sentence_states(examples, encoder, folder, bar.moved)


def _split(
    data: SentenceData, taken: np.ndarray, by_base: np.ndarray, seed: int, model: str
) -> tuple[Split, dict[str, dict[str, int]]]:
    """The sentences that fit both model and base, and how many are left out for each reason."""
    places, gold, left_out = {}, {}, {}
    start = 0
    for part in PARTS:
        here = np.arange(start, start + len(data.parts[part]))
        start += len(here)
        both = taken[here] & by_base[here]
        places[part], gold[part] = here[both], gold_labels(data, part)[both]
        counted = {_TOO_LONG: int((~taken[here]).sum()), _TOO_LONG_FOR_BASE: int((taken[here] & ~by_base[here]).sum())}
        left_out[part] = {reason: number for reason, number in counted.items() if number}
        if (
            lacking := sorted(set(data.labels) - {data.labels[label] for label in gold[part]})
            if part == "train"
            else not both.any()
        ):
            raise SentenceDataError(
                f"{data.task}: {int(both.sum())} of {len(here)} sentences of the {part} part fit {model}, "
                + (f"none of them with the label {lacking[0]!r}; " if isinstance(lacking, list) else "")
                + "the others have more word pieces than fit; give shorter sentences"
            )
    return Split(places, gold, len(data.labels), data.protocol, seed), left_out


def _test_taken(data: SentenceData, states: SentenceStates, of_base: SentenceStates) -> np.ndarray:
    """(test sentences,) bool, which of them are used."""
    taken: np.ndarray = (states.taken & of_base.taken)[-len(data.parts["test"]) :]
    return taken


@lru_cache(maxsize=8)
def read_cached(name: str, protocol: str) -> tuple[SentenceTask, SentenceData]:
    """A task and its data, read once."""
    return read_task(name, cache_folder() / "downloads", protocol)


def train_sentences(request: SentencesRequest, say: Say = print) -> Path:
    """Trains probes of every task and stores their predictions; returns the folder of the results.

    A killed call resumes where it stopped, under any executor, and gives the same bytes except for ``created``.
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
    """The readings of a model, in the usual order; an OptionError if one needs a base and the model has none."""
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
    """Task -> fingerprint of its data; every task is read before the first is trained, and no two may have one name."""
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
