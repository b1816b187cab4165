"""What the commands that store runs share: work on models, and a run's files."""

import hashlib
import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from probing.kernel.errors import NewerVersionError, OptionError, ProbingError, Say
from probing.kernel.files import cache_folder, link_or_copy, pulled_folders, result_folders, runs_folder
from probing.kernel.jobs.shards import MANIFEST, Work, claimed, run_job
from probing.kernel.models.load import Encoder
from probing.kernel.models.records import refuse_taken_name
from probing.kernel.models.torch_settings import set_threads, thread_count
from probing.kernel.provenance import Provenance, stored_configuration
from probing.kernel.requests import LongWork, StoredRuns, Who, executor
from probing.kernel.store.kinds import KINDS, RUNS_OF_FILES
from probing.kernel.store.opening import write_counts
from probing.kernel.store.parquet import files_of, read_table, write_table
from probing.kernel.version import __version__

_log = logging.getLogger(__name__)


class ModelWork(Work):
    """Work on a model. Another process gets its fields, opens the model itself, and computes with as many threads."""

    encoder: Encoder

    def __getstate__(self) -> tuple[int, dict[str, Any]]:
        # Without what was computed from the fields: it may be large.
        return thread_count(), {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: tuple[int, Mapping[str, Any]]) -> None:
        threads, values = state
        set_threads(threads)
        vars(self).update(values)

    @property
    def computed(self) -> tuple[str, int, str]:
        """Program, threads and device, on which the last digits depend."""
        return __version__, thread_count(), self.encoder.device.type

    def place(self, command: str, *decides: object) -> Path:
        """The work's folder, named after the model and all else that decides the results."""
        text = repr((self.encoder.weights_id, self.encoder.configuration, decides))
        return cache_folder() / "jobs" / f"{command}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


class TaskWork(ModelWork):
    """Work that does one shard after the other, and logs which one, with the time that is left."""

    @abstractmethod
    def make(self, shard: str) -> list[Path]:
        """Does one of the values of ``shards``, unless it is stored, and returns its files."""

    def do(self, names: Sequence[str], finished: Callable[[str, Sequence[Path]], None]) -> None:
        """Does the shards in order."""
        began, shards = time.monotonic(), self.shards
        for place, name in enumerate(names):
            left = ""
            if place:
                left = f", about {(time.monotonic() - began) / place * (len(names) - place) / 60:.0f} min left"
            if len(names) > 1:
                _log.info("%d of %d: %s%s", place + 1, len(names), name, left)
            finished(name, self.make(shards[name]))


def do_job(
    request: LongWork,
    work: ModelWork,
    say: Say,
    complete: Callable[[], bool] = lambda: True,
    finish: Callable[[], None] = lambda: None,
) -> None:
    """Does work while no other process does it, and reports what workers elsewhere did.

    ``complete``: whether all files that the manifest does not list exist; otherwise every shard is checked again.
    ``finish`` is called at the end, before another process may start.
    """
    workers, folder = executor(request.executor, thread_count(), work.encoder.device.type), work.folder
    with claimed(folder, say):
        if not complete():
            (folder / MANIFEST).unlink(missing_ok=True)
        outcome = run_job(work, workers)
        finish()
    if workers.name != Who.local:
        say(outcome.summary())


def places_of(request: StoredRuns, encoder: Encoder) -> tuple[Path, list[Path]]:
    """The folder of the results, and all whose results are shown; a ModelError if the model's name is taken there."""
    target = request.out or runs_folder()
    folders = [target] if request.out else result_folders()
    refuse_taken_name(encoder, folders)
    return target, folders


def take_pulled(files: Sequence[Path]) -> None:
    """Links all files of a run from a pulled share into the user's own runs, so that no command computes it again."""
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

    ``stamps``: task -> fingerprint of its data; ``source``: what gives a task its name, a file or a folder.
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


@dataclass(frozen=True)
class RunFiles:
    """The files of a run, one per table."""

    config: Provenance  #: of the run
    #: In the order in which they are written. The row of the run comes last: a run exists when its row does.
    tables: Sequence[str]
    target: Path  #: their folder

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
