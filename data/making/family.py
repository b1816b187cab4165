"""Makes all that ships of nesia-mini's family after the base; can be killed and called again."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Condition

import pyarrow as pa

from data.making import edges, facts, forgetting, layer_drop, sentences
from data.making.models import MODEL, SHIPPED
from data.making.plan import Step, steps
from probing.kernel.errors import ModelError, ProbingError, Say
from probing.kernel.files import atomic_copy, atomic_text, cache_folder, snapshot_folder
from probing.kernel.models.hub import weights_id_of
from probing.kernel.registry import REPOSITORY
from probing.kernel.store.columns import KEYS, TABLES
from probing.kernel.store.parquet import read_table, table_of, write_table

#: Next to the base: weights of the base, and seconds of one processor of each step that the family was made by.
RECORD = "family.json"


def family(jobs: int = 2, only_plan: bool = False, say: Say = print) -> bool:
    """Runs every step that is not done, each in another process with one thread, and stores the results.

    Whether everything is made; a ProbingError if steps failed, with which the next call goes on.
    """
    base = weights_of_base()
    plan = steps()
    shipped = recorded(SHIPPED / MODEL / RECORD, base)
    if all(step.name in shipped for step in plan):
        say(
            f"everything is made: {len(plan)} steps, {_hours(sum(shipped.values()) / 60)} of one processor;"
            f" {SHIPPED / MODEL / RECORD}"
        )
        return True
    if not _done(plan, shipped | _noted(plan, base), base, jobs, only_plan, say):
        return False
    gather(base, say)
    return True


def small_bases(jobs: int = 2, only_plan: bool = False, say: Say = print) -> bool:
    """As ``family``, of the bases with and without LayerDrop; the findings of each are stored next to the shipped base
    as soon as it is done.
    """
    gather_them = partial(layer_drop.gather, say)
    if not only_plan:
        gather_them()
    base, plan = weights_of_base(), layer_drop.steps()
    return _done(plan, _noted(plan, base), base, jobs, only_plan, say, gather_them)


def _done(
    plan: Sequence[Step],
    done: dict[str, float],
    base: str,
    jobs: int,
    only_plan: bool,
    say: Say,
    each: Callable[[], object] = lambda: None,
) -> bool:
    """Does what is left of a plan, and ``each`` after every step; False if only its lines were asked for."""
    for line in estimate(plan, done, jobs):
        say(line)
    if only_plan:
        return False
    failed = _run(plan, done, base, jobs, say, each)
    if failed:
        logs = ", ".join(str(_log(name)) for name in failed)
        raise ProbingError(
            f"{len(failed)} steps failed or wait for one that failed: {', '.join(failed)}; see {logs}; then call this"
            " again"
        )
    return True


def gather(base: str, say: Say = print) -> None:
    """Adds the results of the steps that are done to those in ``data``, and records which are.

    What ships of another base is replaced. Results of steps that are recorded, but not in the cache, are kept. After an
    error, what shipped is in the folder next to the snapshot, and the next call finds it.
    """
    shipped = recorded(SHIPPED / MODEL / RECORD, base)
    snapshot = snapshot_folder()
    snapshot.mkdir(parents=True, exist_ok=True)
    old = snapshot.with_name(f"{snapshot.name}.old")
    # Left by a call that was killed: what shipped before it.
    if not old.is_dir():
        old.mkdir()
        for path in snapshot.glob("*.parquet"):
            path.rename(old / path.name)
    files = facts.gather(say) + edges.gather(say) + sentences.gather(say) + forgetting.gather(say)
    kept = _keep(old, snapshot) if shipped else []
    shutil.rmtree(old)
    seconds = {name: round(spent) for name, spent in (shipped | _noted(steps(), base)).items()}
    atomic_text(SHIPPED / MODEL / RECORD, json.dumps({"base_weights": base, "seconds": seconds}, indent=1) + "\n")
    size = sum(path.stat().st_size for path in snapshot.iterdir())
    say(f"wrote {len(files)} files and kept {len(kept)}; {snapshot} has {size:,} bytes")


def _keep(old: Path, new: Path) -> list[Path]:
    """Adds to a folder of tables what another has besides, made by another machine or from an earlier cache.

    A run that ``new`` has is not taken from ``old``, nor one of an earlier version with the same configuration. Gives
    the files that were added or became longer.
    """
    changed = []
    replacing = set(_configurations(new))
    remade = {
        run_id
        for configuration, run_ids in _configurations(old).items()
        if configuration in replacing
        for run_id in run_ids
    }
    for path in sorted(old.glob("*.parquet")):
        target, table = new / path.name, table_of(path)
        if table is None:
            changed.append(atomic_copy(path, target))
            continue
        every = read_table(path, table)
        rows = every
        if "run_id" in every.column_names:
            rows = every.filter(
                pa.array([run_id not in remade for run_id in every.column("run_id").to_pylist()], pa.bool_())
            )
        if not target.is_file():
            # A file that had no rows says that there are none.
            if len(rows) == len(every):
                changed.append(atomic_copy(path, target))
            elif len(rows):
                changed.append(write_table(table, rows, target))
        elif len(further := _besides(table, rows, target)):
            changed.append(write_table(table, pa.concat_tables([further, read_table(target, table)]), target))
    return changed


def _configurations(folder: Path) -> dict[str, list[str]]:
    """Configuration without the program's version -> ids of its runs, of all runs in a folder."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.parquet")):
        table = table_of(path)
        if table is not None and {"run_id", "config"} <= {column.name for column in TABLES[table].columns}:
            rows = read_table(path, table, ["run_id", "config"]).to_pylist()
            for row in rows:
                configuration = {
                    name: value for name, value in json.loads(row["config"]).items() if name != "code_version"
                }
                found.setdefault(f"{table} {json.dumps(configuration, sort_keys=True)}", []).append(row["run_id"])
    return found


def _besides(table: str, rows: pa.Table, new: Path) -> pa.Table:
    """The rows of runs that a file lacks; of a table without runs, those with other keys."""
    replacing = read_table(new, table)
    keys = ["run_id"] if "run_id" in rows.column_names else list(KEYS[table])
    known = set(_keys(replacing, keys))
    return rows.filter(pa.array([key not in known for key in _keys(rows, keys)], pa.bool_()))


def _keys(rows: pa.Table, names: list[str]) -> list[tuple[object, ...]]:
    return list(zip(*(rows.column(name).to_pylist() for name in names), strict=True))


def run_step(name: str, say: Say = print) -> None:
    """Does one step and notes its seconds."""
    found = {step.name: step for step in (*steps(), *layer_drop.steps())}
    if name not in found:
        raise ProbingError(f"got the step {name!r}; expected one of those that `family --plan` lists")
    found[name].run(say)
    spent = os.times()
    note = {
        "base_weights": weights_of_base(),
        "seconds": spent.user + spent.system + spent.children_user + spent.children_system,
    }
    atomic_text(_note(name), json.dumps(note))


def weights_of_base() -> str:
    """The identity of the base's weights."""
    if not (SHIPPED / MODEL / "model.safetensors").is_file():
        raise ModelError(
            f"no base in {SHIPPED / MODEL}; data/models/{MODEL}/README.md has the `pretrain` command that makes it"
        )
    return weights_id_of(SHIPPED / MODEL)


def recorded(record: Path, base: str) -> dict[str, float]:
    """Step -> its seconds, of a record about this base; empty if there is none."""
    if not record.is_file():
        return {}
    found = json.loads(record.read_text(encoding="utf-8"))
    return dict(found["seconds"]) if found["base_weights"] == base else {}


def estimate(plan: Sequence[Step], done: Mapping[str, float], jobs: int) -> list[str]:
    """Lines on what is left: by kind of step, and hours."""
    kinds: dict[str, list[float]] = {}
    for step in plan:
        if step.name not in done:
            kinds.setdefault(_kind(step.name), []).append(step.minutes)
    lines = [f"  {kind}: {len(minutes)} steps, {_hours(sum(minutes))}" for kind, minutes in kinds.items()]
    left = sum(sum(minutes) for minutes in kinds.values())
    longest = f"about {_hours(left / jobs)} with {jobs} quiet processors"
    return [f"{len(done)} of {len(plan)} steps are done; left: {_hours(left)} of one processor, {longest}", *lines]


def _kind(name: str) -> str:
    kinds = ("fine-tune", "facts", "candidates", "edge probes", "sentence probes", "changes", "lost facts", "states")
    return next((kind for kind in kinds if name.startswith(kind)), "heads" if "heads" in name else "other")


def _run(
    plan: Sequence[Step], done: dict[str, float], base: str, jobs: int, say: Say, each: Callable[[], object]
) -> list[str]:
    """Runs the steps that are left; a step begins when those that it needs are done. Returns those that were not
    done.
    """
    waiting = [step for step in plan if step.name not in done]
    failed: list[str] = []
    running: set[str] = set()
    changed = Condition()

    def take() -> Step | None:
        """The first step that can begin; None if none ever will."""
        with changed:
            while True:
                for step in waiting:
                    if any(name in failed for name in step.after):
                        waiting.remove(step)
                        failed.append(step.name)
                        break
                    if all(name in done for name in step.after):
                        waiting.remove(step)
                        running.add(step.name)
                        return step
                else:
                    if not waiting or not running:
                        return None
                    changed.wait()

    def work() -> None:
        while step := take():
            say(f"{time.strftime('%H:%M')} {step.name}: begins ({len(done)} of {len(plan)} steps are done)")
            right = _own_process(step.name)
            with changed:
                running.discard(step.name)
                seconds = _noted([step], base).get(step.name) if right else None
                if seconds is None:
                    failed.append(step.name)
                else:
                    done[step.name] = seconds
                changed.notify_all()
                each()
            outcome = "failed" if seconds is None else f"done in {_hours(seconds / 60)} of one processor"
            say(f"{time.strftime('%H:%M')} {step.name}: {outcome}")

    with ThreadPoolExecutor(jobs) as pool:
        for worker in [pool.submit(work) for _ in range(jobs)]:
            worker.result()
    return failed


def _own_process(name: str) -> bool:
    """Whether a step ended well."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    log = _log(name)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as said:
        call = [sys.executable, "-m", "probing", "family", "--step", name]
        return (
            subprocess.run(
                call, stdout=said, stderr=said, env=os.environ | threads, cwd=REPOSITORY, check=False
            ).returncode
            == 0
        )


def _folder() -> Path:
    return cache_folder() / "nesia-family"


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter == "-" else "_" for letter in name)


def _log(name: str) -> Path:
    return _folder() / f"{_slug(name)}.log"


def _note(name: str) -> Path:
    return _folder() / f"{_slug(name)}.json"


def _noted(plan: Iterable[Step], base: str) -> dict[str, float]:
    """Step -> its seconds, of those that this cache notes as done for this base."""
    found = {
        step.name: json.loads(_note(step.name).read_text(encoding="utf-8"))
        for step in plan
        if _note(step.name).is_file()
    }
    return {name: float(note["seconds"]) for name, note in found.items() if note["base_weights"] == base}


def _hours(minutes: float) -> str:
    return f"{minutes / 60:.1f} hours" if minutes >= 60 else f"{minutes:.0f} minutes"


def names(plan: Iterable[Step]) -> list[str]:
    """Each step with what it waits for, for the list of the plan."""
    return [
        f"{step.name} ({_hours(step.minutes)})" + (f" after {', '.join(step.after)}" if step.after else "")
        for step in plan
    ]
