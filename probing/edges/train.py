"""Trains the probes of edge probing, one task after the other in any process, and stores their predictions."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from probing.edges.ask import TaskProbes, probes_folder, read_probes, write_probes
from probing.edges.numbers import with_control_labels
from probing.edges.probes import ProbeKey, keys_of
from probing.edges.requests import EdgeRunConfig, EdgesRequest, data_sha256
from probing.edges.rows import UNSEEN_LABEL, Answered, counted_mask, label_names, rows_of_run, run_tables, write_task
from probing.edges.states import PartArrays, TrainingData, WordStates, part_arrays, word_states
from probing.edges.targets import CONTROL, CUMULATIVE, TASK, TaskData
from probing.edges.tasks import ALL, EDGE_TASKS, EdgeTask, read_task
from probing.edges.training import Trained, online_codes, train_probes
from probing.kernel.errors import EdgeDataError, OptionError, ProbingError, ProgressBar, Say
from probing.kernel.files import atomic_text, cache_folder
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
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import base_entry, find_entry
from probing.kernel.models.states import encoder_of_kind
from probing.kernel.models.torch_settings import set_threads, thread_count
from probing.kernel.provenance import TRAINED
from probing.kernel.requests import ExecutorChoice

#: The file of a training's folder that lists its runs.
_RUNS = "runs.json"
#: The control labels are drawn once: another draw is another control task.
CONTROL_SEED = 0


@dataclass(frozen=True)
class EdgeWork(TaskWork):
    """Trains the probes of tasks; a shard is a task."""

    request: EdgesRequest  #: the probes; its tasks are absolute paths, and nothing is named twice
    encoder: Encoder  #: the opened model; runs name its weights even if the probed one is random
    base: str  #: as in runs
    objective: str
    groups: Mapping[str, tuple[str, ...]]  #: task -> tasks on the same sentences, whose states are encoded together
    stamps: Mapping[str, str]  #: task -> fingerprint of its data
    target: Path  #: folder of the Parquet files

    def __setstate__(self, state: tuple[int, Mapping[str, Any]]) -> None:
        read_cached.cache_clear()  # Files may have changed since an earlier job of this process.
        super().__setstate__(state)

    @property
    def folder(self) -> Path:
        """With the manifest."""
        record = self.base, self.objective, self.groups
        return self.place("edges", self.computed, record, self.request, self.stamps, self.target)

    @property
    def shards(self) -> dict[str, str]:
        """Name of each task -> the task as it was requested."""
        return {Path(name).name: name for name in self.stamps}

    @cached_property
    def probed(self) -> Encoder:
        """The encoder of the requested kind."""
        return encoder_of_kind(self.encoder, self.request.encoder)

    @property
    def _trainings(self) -> Path:
        """The folder of unfinished trainings."""
        return cache_folder() / "edge-training"

    def config(self, data: str, task: str, key: ProbeKey) -> EdgeRunConfig:
        """The configuration of a probe's run."""
        codes = self.request.codes and (key.labels, key.seed, key.kind) == (TASK, 0, CUMULATIVE)
        recipe = self.request.recipe.canonical()
        return EdgeRunConfig(
            **provenance_of(self.encoder, self.base, self.objective, recipe, key.seed, thread_count()),
            task=task,
            data=data,
            kind=key.kind,
            labels=key.labels,
            encoder=self.request.encoder,
            codes=codes,
        )

    def make(self, shard: str) -> list[Path]:
        """Makes the missing runs of one task; its files without the probes, which another training may replace."""
        task, data = read_cached(shard)
        stamp = data_sha256(data)
        keys = keys_of(self.request.kinds, self.request.labels, range(self.request.seeds), self.encoder.depth)
        of_run: dict[str, tuple[EdgeRunConfig, list[ProbeKey]]] = {}
        for key in keys:
            config = self.config(stamp, data.task, key)
            of_run.setdefault(config.fingerprint, (config, []))[1].append(key)
        if missing := {run for run, (config, _) in of_run.items() if not self._stored(config)}:
            chosen = _begun_together(self._trainings, data.task, missing, set(of_run))
            files = self._train(shard, task, data, [of_run[run] for run in of_run if run in chosen])
        else:
            files = write_task(task, data, self.target)
        for config, _ in of_run.values():
            files += self._files(config).all
        return files

    def _files(self, config: EdgeRunConfig) -> RunFiles:
        return RunFiles(config, run_tables(config, self.request.predictions), self.target)

    def _stored(self, config: EdgeRunConfig) -> bool:
        """Whether all requested files of a run exist and can be read."""
        return self._files(config).whole() and (not self._keeps_probes(config) or self.has_probes(config.task))

    def has_probes(self, task: str) -> bool:
        """Whether a task's probes for typed sentences can be read; True if none are requested."""
        if self.request.encoder != TRAINED or CUMULATIVE not in self.request.kinds or TASK not in self.request.labels:
            return True
        try:
            read_probes(self._probes(task) / FILE)
        except ProbingError:
            return False
        return True

    def _keeps_probes(self, config: EdgeRunConfig) -> bool:
        """Whether the probes of a run are those for typed sentences."""
        return (config.kind, config.labels, config.encoder, config.seed) == (CUMULATIVE, TASK, TRAINED, 0)

    def _probes(self, task: str) -> Path:
        return probes_folder(cache_folder(), self.encoder.weights_id, task)

    def _train(
        self, name: str, task: EdgeTask, data: TaskData, runs: Sequence[tuple[EdgeRunConfig, list[ProbeKey]]]
    ) -> list[Path]:
        """Trains and stores runs; before, an ``EdgeDataError`` if a part has no target to be probed for."""
        states = self._states(name)
        control = (
            with_control_labels(data, CONTROL_SEED) if any(config.labels == CONTROL for config, _ in runs) else None
        )
        arrays = _all_parts(task, data, control, states)
        counted = np.array([task.counts(label) for label in data.labels], bool)
        for part in ("train", "dev"):
            if not len(arrays[part]):
                left_out = ", ".join(f"{number:,} {reason}" for reason, number in arrays[part].left_out.items())
                raise EdgeDataError(
                    f"{name}: got no target in its {part} part that {self.probed.name} can be probed for ({left_out})"
                )
        training = TrainingData(arrays["train"], states, arrays["dev"], states, counted)
        keys = [key for _, found in runs for key in found]
        work = _begin(self._trainings, data.task, [config.fingerprint for config, _ in runs])
        with ProgressBar(f"{task.name}: {len(keys)} probes") as bar:
            trained = train_probes(
                training, keys, self.request.recipe, self.probed.device, work / "training.safetensors", passed=bar.moved
            )
        coded = None
        if any(config.codes for config, _ in runs):
            chosen = [key for config, found in runs if config.codes for key in found]
            with ProgressBar(f"{task.name}: online code") as bar:
                coded = online_codes(training, chosen, self.request.recipe, self.probed.device, work, bar.moved)
        names = label_names(data)
        given = Answered(data, arrays, states, self.probed, trained, coded, names, counted_mask(task, names))
        files = write_task(task, data, self.target)
        for config, found in runs:
            places = [keys.index(key) for key in found]
            run = self._files(config)
            rows = rows_of_run(config, places, given, run.tables)
            if self._keeps_probes(config):
                self._keep_probes(task, data, trained, places)
            run.write(rows, self.probed)
        shutil.rmtree(work, ignore_errors=True)
        return files

    def _keep_probes(self, task: EdgeTask, data: TaskData, trained: Trained, places: list[int]) -> None:
        """Stores the probes for typed sentences."""
        counts = tuple(task.counts(label) for label in data.labels)
        probes = TaskProbes(
            data.task,
            task.title,
            data.labels,
            counts,
            self.encoder.weights_id,
            self.request.recipe.canonical(),
            tuple(float(one) for one in trained.best[places]),
            trained.shape,
            trained.flat[places],
        )
        write_probes(probes, self._probes(data.task), self.request.probe_bits)

    def _states(self, name: str) -> WordStates:
        """States of the sentences of a task and of all tasks that share them."""
        records = (
            record
            for task in self.groups[name]
            for part in read_cached(task)[1].parts().values()
            for record in part.records
        )
        with ProgressBar(
            f"{self.probed.name}: states of {', '.join(Path(task).name for task in self.groups[name])}", "piece"
        ) as bar:
            return word_states(
                records, self.probed, cache_folder() / "edge-states", self.request.recipe.states_dtype, bar.moved
            )


def _all_parts(task: EdgeTask, data: TaskData, control: TaskData | None, states: WordStates) -> dict[str, PartArrays]:
    others = control.parts() if control else {}
    return {
        name: part_arrays(part, states, data.labels, [others[name]] if control else [], task.counts)
        for name, part in data.parts().items()
    }


@lru_cache(maxsize=8)
def read_cached(name: str) -> tuple[EdgeTask, TaskData]:
    """A task and its data, read once."""
    return read_task(name, cache_folder() / "downloads")


def _begin(folder: Path, task: str, runs: Sequence[str]) -> Path:
    """The folder of a training, named after the runs that are trained together."""
    listed = json.dumps(sorted(runs))
    work = folder / f"{task}-{hashlib.sha256(listed.encode()).hexdigest()[:16]}"
    atomic_text(work / _RUNS, listed)
    return work


def _begun_together(folder: Path, task: str, missing: set[str], wanted: set[str]) -> set[str]:
    """The runs to train together: the missing ones, with all that a killed call had started with them.

    Rounding depends on how many probes are trained at a time, so a call that was killed between two runs' rows must
    resume both.
    """
    for path in sorted(folder.glob(f"{task}-*/{_RUNS}")):
        with contextlib.suppress(OSError, ValueError):
            begun = set(json.loads(path.read_text(encoding="utf-8")))
            if missing <= begun <= wanted:
                return begun
    return missing


def train_edges(request: EdgesRequest, say: Say = print) -> Path:
    """Trains probes of every task and stores their predictions; returns the folder of the results.

    A killed call resumes where it stopped, under any executor, and gives the same bytes except for ``created``.
    """
    read_cached.cache_clear()  # Files may have changed since an earlier call.
    set_threads(request.threads)
    entry = find_entry(request.model, request.base, request.name, request.revision)
    origin = base_entry(entry)
    names = full_names(request.tasks, ALL, EDGE_TASKS)
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
