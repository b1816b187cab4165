"""What the commands that store runs share: the job, the model that workers elsewhere open again, and a run's files."""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from probing import __version__
from probing.core.errors import JobError, NewerVersionError, OptionError, ProbingError
from probing.core.files.atomic import link_or_copy
from probing.core.paths import pulled_folders, result_folders, runs_folder
from probing.core.provenance import Provenance, stored_configuration
from probing.core.registry import ModelEntry
from probing.jobs.coordinator import run_job
from probing.jobs.job import Job
from probing.jobs.lock import claimed
from probing.jobs.manifest import NAME as MANIFEST
from probing.models.encoders.catalogue import entry_again, open_entry, reopening
from probing.models.encoders.load import Encoder
from probing.models.runtime.torch_settings import number_format, set_threads, thread_count
from probing.store.counts import write_counts
from probing.store.kinds import KINDS, RUNS_OF_FILES
from probing.store.parquet import read_table, write_table
from probing.store.sources import files_of
from probing.workflows.executors import Who, executor, same_path
from probing.workflows.model_records import refuse_taken_name
from probing.workflows.output import Say
from probing.workflows.requests.model import LongWork, StoredRuns

_log = logging.getLogger(__name__)


def do_job(
    request: LongWork,
    job: Job,
    say: Say,
    complete: Callable[[], bool] = lambda: True,
    finish: Callable[[], None] = lambda: None,
) -> None:
    """Does a job while no other process does it, and reports what workers elsewhere did.

    Args:
        request: says where.
        job: the shards; its setup is of ``setup_of``.
        say: called with each line for the user.
        complete: whether all files that the manifest does not list exist; otherwise every shard is checked again.
        finish: called at the end, before another process may start.

    Raises:
        JobError: as ``run_job``, or if the executor's library is not installed.
    """
    workers = executor(request.executor, job.setup["threads"], job.setup["device"])
    with claimed(job.folder, say):
        if not complete():
            (job.folder / MANIFEST).unlink(missing_ok=True)
        outcome = run_job(job, workers)
        finish()
    if workers.name != Who.local:
        say(outcome.summary())


def places_of(request: StoredRuns, encoder: Encoder) -> tuple[Path, list[Path]]:
    """The folder of the results, and all folders whose results are shown with them.

    Raises:
        ModelError: if stored runs call another model by this one's name.
    """
    target = request.out or runs_folder()
    folders = [target] if request.out else result_folders()
    refuse_taken_name(encoder, folders)
    return target, folders


def take_pulled(files: Sequence[Path]) -> None:
    """Links the files of a run from a pulled share into the user's own runs, so that no command computes it again.

    Args:
        files: all files of the run.
    """
    for folder in pulled_folders():
        pulled = [folder / "data" / path.name for path in files]
        if files[0].parent == runs_folder() and all(path.is_file() for path in pulled):
            for source, path in zip(pulled, files, strict=True):
                if not path.is_file():
                    link_or_copy(source, path)


def full_names(tasks: Sequence[str], every: Sequence[str], known: Container[str]) -> tuple[str, ...]:
    """Names of tasks, each once: ``all`` stands for ``every``; files and folders are absolute paths, as workers start
    elsewhere.
    """
    given = [one for name in tasks for one in (every if name == "all" else (name,))]
    # A built-in task is meant even if a file of its name exists here.
    paths = {name: Path(name).expanduser() for name in given if name not in known}
    return tuple(
        dict.fromkeys(str(paths[name].resolve()) if name in paths and paths[name].exists() else name for name in given)
    )


def refuse_taken_tasks(
    kind: str, stamps: Mapping[str, str], folders: Sequence[Path], source: str, protocol: str = ""
) -> None:
    """Raises an ``OptionError`` if stored runs call other data by a task's name: reports could not distinguish the two.

    Args:
        kind: ``edge`` or ``sentence``.
        stamps: task -> fingerprint of its data.
        folders: of the stored runs.
        source: what gives a task its name, a file or a folder.
        protocol: that the runs have, if their kind has several.
    """
    for folder in folders:
        for path in files_of(f"{kind}_runs", folder) if folder.is_dir() else ():
            try:
                rows = read_table(path, f"{kind}_runs").to_pylist()
            except ProbingError:
                continue
            for row in rows:
                task, stored = row["task"], stored_configuration(row["config"]).get("data")
                if row.get("protocol", "") == protocol and task in stamps and stored != stamps[task]:
                    files = f"*-{row['run_id']}.parquet and {kind}_*-{task}{protocol and f'-{protocol}'}.parquet"
                    raise OptionError(
                        f"run {row['run_id']} in {folder} has other data for a task also called {task}; rename the"
                        f" {source} of this task, or delete the other's files, such as {files}"
                    )


def setup_of(request: LongWork, encoder: Encoder, base: Encoder | None = None) -> dict[str, Any]:
    """The part of a job's setup that says which program computes what on which model; see ``opened_again``."""
    return {
        "version": __version__,
        **reopening(encoder, same_path(request.model or encoder.name), request.base and same_path(request.base), base),
        "device": encoder.device.type,
        "threads": thread_count(),
        "weights": encoder.weights_id,
        "configuration": encoder.configuration,
        "base_weights": base.weights_id if base else "",
    }


def opened_again(setup: Mapping[str, Any], dtype: str = "float32") -> tuple[Encoder, ModelEntry]:
    """The model of ``setup_of``, in a worker elsewhere, and its entry at the same commits.

    Raises:
        JobError: if model or program differ here.
        ProbingError: if the model is missing here.
    """
    set_threads(setup["threads"])
    entry = entry_again(setup)
    encoder = open_entry(entry, setup["device"], number_format(dtype))
    here = {"version": __version__, "weights": encoder.weights_id, "configuration": encoder.configuration}
    refuse_differing({name: (value, setup[name]) for name, value in here.items()})
    return encoder, entry


def refuse_differing(here: Mapping[str, tuple[str, str]]) -> None:
    """Raises a ``JobError`` if a worker has something else than the coordinator; ``here`` is name -> both values."""
    for what, (got, expected) in here.items():
        if got != expected:
            raise JobError(
                f"a worker's {what}: got {got[:60]}, expected {expected[:60]}, the coordinator's; install and share the"
                " same"
            )


def provenance_of(
    encoder: Encoder, base: Encoder | str | None, objective: str, recipe: str, seed: int, threads: int
) -> dict[str, Any]:
    """The fields of ``Provenance`` of a run of this program, computed in float32; ``base`` may be its name alone."""
    name, source = (base, "") if isinstance(base, str) else (base.name, base.at_commit) if base else ("", "")
    return {
        **encoder.provenance,
        "base_source": encoder.base_source or source,
        "base": name,
        "objective": objective,
        "head_recipe": recipe,
        "seed": seed,
        "dtype": "float32",
        "threads": threads,
        "code_version": __version__,
    }


class Tasks(ABC):
    """A ``Worker`` that does one shard after the other, and logs which one, with the time that is left."""

    @abstractmethod
    def do(self, name: str) -> list[Path]:
        """Does the shard of that name, unless it is stored, and returns its files."""

    def __call__(self, arguments: Sequence[Mapping[str, Any]], finished: Callable[[int, list[Path]], None]) -> None:
        """Does the shards in order."""
        began, all_of_them = time.monotonic(), len(arguments)
        for place, given in enumerate(arguments):
            (kind, name), left = next(iter(given.items())), ""
            if place:
                left = f", about {(time.monotonic() - began) / place * (all_of_them - place) / 60:.0f} min left"
            if all_of_them > 1:
                _log.info("%s %d of %d: %s%s", kind, place + 1, all_of_them, Path(name).name, left)
            finished(place, self.do(name))


@dataclass(frozen=True)
class RunFiles:
    """The files of a run, one per table.

    Attributes:
        config: of the run.
        tables: in the order in which they are written. The row of the run comes last: a run exists when its row does.
        target: their folder.
    """

    config: Provenance
    tables: Sequence[str]
    target: Path

    def file(self, table: str) -> Path:
        """The file of a table."""
        return self.target / f"{table}-{self.config.fingerprint}.parquet"

    @property
    def all(self) -> list[Path]:
        """All files."""
        return [self.file(table) for table in self.tables]

    def whole(self) -> bool:
        """Whether all files exist and can be read; if so, what is counted of them is written if it is missing or
        differs.
        """
        take_pulled(self.all)
        try:
            for table in self.tables:
                rows = read_table(self.file(table), table)
            self._count(rows.to_pylist()[0])
        except NewerVersionError:
            raise
        except ProbingError:
            return False
        return True

    def write(self, rows: Mapping[str, Any], encoder: Encoder) -> None:
        """Writes the tables of ``rows``, and the run's row with device and date."""
        now = {"device": str(encoder.device), "created": datetime.now(UTC).isoformat(timespec="seconds")}
        *others, runs = self.tables
        for table in (table for table in others if table in rows):
            write_table(table, rows[table], self.file(table))
        row = rows[runs][0] | now
        self._count(row)
        write_table(runs, [row], self.file(runs))

    def _count(self, row: Mapping[str, Any]) -> None:
        write_counts(KINDS[RUNS_OF_FILES[self.tables[-1]]], row, self.target, ())


def fields_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass from JSON, in which tuples are lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
