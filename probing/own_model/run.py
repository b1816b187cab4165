"""Runs of own models, and of BERT, in the background: what is asked, by which commands; they survive the server."""

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from pydantic import SerializeAsAny

from probing.facts.requests import CARRIED, INDEPENDENT
from probing.kernel.errors import JobError, LockError
from probing.kernel.fact import PHRASES
from probing.kernel.files import absolute_environment, atomic_text, cache_folder, runs_folder
from probing.kernel.locks import exclusive_lock, is_held
from probing.kernel.models.names import BERT, LOGIT_LENS, find_entry, own_model_folders
from probing.kernel.options import spelled
from probing.kernel.provenance import Frozen, canonical_json, fingerprint_of
from probing.kernel.registry import REPOSITORY

TREX = "trex"


class Step(NamedTuple):
    """A command of a run: what it does, and its words after ``python -m probing``."""

    title: str
    words: tuple[str, ...]

    @property
    def line(self) -> str:
        """The command, ready to be typed."""
        return shlex.join(("python", "-m", "probing", *self.words))


class Wish(Frozen):
    """A model (folder, hub id or name), its base, if any, and the file of own facts.

    All are read by their pre-trained heads: heads that are trained for one of the models only could not be compared.
    """

    model: str
    base: str = ""
    facts: str
    #: Probe set.
    called: str
    #: Of the model in results; empty: its folder's.
    name: str = ""
    trex: bool = False
    recover: bool = False
    #: Whether means of base and model are asked; it is added to a run that is done, and no part of its id.
    line: bool = False
    #: Further models with the same base that are asked the same.
    others: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The commands in their order; each skips what it finds done."""
        of_base = self._option("--base", self.base)
        base, tuned = ("--model", self.base), ("--model", self.model, *of_base, *self._option("--name", self.name))
        models = [(tuned, "the model"), *((("--model", other, *of_base), Path(other).name) for other in self.others)]
        own, head = ("--facts", self.facts, "--as", self.called), ("--head", LOGIT_LENS)
        among = (*head, "--measure", INDEPENDENT)
        sets = [
            (own, head, "your facts"),
            (own, among, "your facts, ranked among their answers"),
            *([(("--facts", TREX), head, "T-REx")] if self.trex else []),
        ]
        steps = []
        for facts, how, title in sets:
            if self.base:
                steps.append(Step(f"Ask the base: {title}", ("probe", *base, *facts, *how)))
            steps += [Step(f"Ask {called}: {title}", ("probe", *model, *facts, *how)) for model, called in models]
        if self.recover and self.base:
            steps += [
                Step(
                    f"Look for ways back to the lost facts: {called}",
                    ("forgetting", "recover", *model, *own, "--savings"),
                )
                for model, called in models
            ]
        if self.line and self.base:
            steps += [
                Step(f"Average the weights of base and {called}", ("line", *model, *own)) for model, called in models
            ]
        return tuple(steps)

    @staticmethod
    def _option(name: str, value: str) -> Sequence[str]:
        return (name, value) if value else ()

    def key(self, content: bytes) -> str:
        """The same for the same wish: 12 hex digits of sha256 over it and the content of the file of facts."""
        # A wish without further models has the id that it had before there could be any.
        wish = {
            **self.model_dump(exclude={"line"} if self.others else {"line", "others"}),
            "facts": hashlib.sha256(content).hexdigest(),
        }
        return hashlib.sha256(canonical_json(wish).encode()).hexdigest()[:12]

    def with_facts(self, path: Path) -> "Wish":
        """The same with another file of facts."""
        return self.model_copy(update={"facts": str(path)})

    def command(self, run_id: str) -> tuple[str, ...]:
        """The words after ``python -m probing`` that carry it out."""
        return "own", "--resume", run_id


#: Facts of each group of the sample.
SAMPLE = 250
#: What of BERT the pages show: title, and the words of ``probe``. Three best tokens, as of the shipped models.
SHOWN_OF_BERT = (
    ("the facts with an answer of one word", ("--facts", "all", "--head", LOGIT_LENS, "--top", "3")),
    ("the facts with longer answers", ("--facts", PHRASES, "--head", LOGIT_LENS, "--measure", INDEPENDENT)),
    ("a sample: does it go by what a layer shows?", ("--facts", TREX, "--measure", CARRIED, "--sample", str(SAMPLE))),
)


def bert_folder() -> Path:
    """Where its runs on the shipped facts are, apart from those on facts of the user's, which are not shared."""
    return runs_folder() / BERT


class OfBert(Wish):
    """The download of BERT and, if ``ask``, all questions whose answers the pages show."""

    model: str = BERT
    facts: str = ""
    called: str = ""
    ask: bool

    @property
    def steps(self) -> tuple[Step, ...]:
        """The commands in their order; each skips what it finds done."""
        probe = ("probe", "--model", self.model, "--out", str(bert_folder()))
        asked = [Step(f"Ask it {title}", (*probe, *words)) for title, words in SHOWN_OF_BERT if self.ask]
        return Step(f"Download {self.model}", ("fetch", self.model)), *asked

    def command(self, run_id: str) -> tuple[str, ...]:
        """The words after ``python -m probing`` that carry it out."""
        return "bert", *(() if self.ask else ("--download",))


def placed(model: str) -> str:
    """A model as commands name it in any folder: a folder by its absolute path, other names unchanged."""
    location = find_entry(model).location
    folder = next(
        (path for path in (Path(model).expanduser(), *own_model_folders()) if str(path.resolve()) == location), None
    )
    return str(folder.absolute()) if folder else model


DONE, FAILED, CANCELLED = "done", "failed", "cancelled"
_STATE, _LOG, _LOCK = "run.json", "log.txt", "run.lock"
#: Seconds that a process gets to end before it is killed.
_GRACE = 10.0
#: Characters of the log that are looked at for the progress.
_TAIL = 4000
_BAR = re.compile(r"(\d{1,3})%\|")


class State(Frozen):
    """What is known of a run; ``created`` is in UTC, ``expected`` and ``seconds`` are of its commands."""

    wish: SerializeAsAny[OfBert | Wish]
    created: str
    #: Of the process that runs it, or ran it last; 0 before.
    pid: int = 0
    #: Of that process and its command; 0 where there are no groups.
    group: int = 0
    step: int = 0
    #: Of all commands; 0 if that is unknown.
    expected: float = 0.0
    #: Of each finished command.
    seconds: tuple[float, ...] = ()
    #: ``done``, ``failed`` or ``cancelled``; empty before its end.
    outcome: str = ""
    error: str = ""


@dataclass(frozen=True)
class OwnRun:
    """A run: its folder and the state that was last written."""

    folder: Path
    state: State

    @property
    def id(self) -> str:
        """Its id, the name of the folder."""
        return self.folder.name

    @property
    def running(self) -> bool:
        """Whether a process works on it, or its command goes on without that."""
        return is_held(self.folder / _LOCK)

    @property
    def status(self) -> str:
        """``running``, ``done``, ``failed``, ``cancelled``, or ``interrupted`` if its process ended without a word."""
        return "running" if self.running else self.state.outcome or "interrupted"

    @property
    def whole(self) -> bool:
        """Whether all commands are done; one that ended before the program had all of them lacks some."""
        return self.status == DONE and len(self.state.seconds) == len(self.state.wish.steps)

    @property
    def at(self) -> Step:
        """The command that it is at."""
        return self.state.wish.steps[min(self.state.step, len(self.state.wish.steps) - 1)]

    @property
    def progress(self) -> float:
        """Share of the command that is done, by its progress bar; 0 if there is none."""
        percents = _BAR.findall(self.log().rsplit("\n$ ", 1)[-1])
        return min(100, int(percents[-1])) / 100 if percents else 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long it still takes if its next commands take as long as its longest one; None if nothing is known yet.

        Before the command shows progress, it is taken to last as long as the longest one, or as was expected.
        """
        steps = len(self.state.wish.steps)
        # The state is written when a command begins.
        passed = time.time() - (self.folder / _STATE).stat().st_mtime
        done, usual = self.progress, max(self.state.expected / steps, *self.state.seconds, 0.0)
        whole = passed / done if done else usual
        if not whole:
            return None
        return max(0.0, whole - passed) + max(whole, usual) * (steps - self.state.step - 1)

    def log(self) -> str:
        """The end of its log; each bar of progress as it stood last."""
        try:
            with (self.folder / _LOG).open("rb") as stream:
                stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL))
                text = stream.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))


def own_runs_folder() -> Path:
    """Where the runs are."""
    return cache_folder() / "own-runs"


def find_clash(called: str, content: bytes) -> OwnRun | None:
    """A run that asked other facts under this name of a probe set; the results of both would be mixed."""
    for run in own_runs():
        if run.state.wish.called == called:
            with suppress(OSError):
                if Path(run.state.wish.facts).read_bytes() != content:
                    return run
    return None


def free_name(called: str, content: bytes) -> str:
    """The name itself, or with a number if other facts were asked under it."""
    names = chain([called], (f"{called}-{number}" for number in count(2)))
    return next(name for name in names if find_clash(name, content) is None)


def prepare(wish: Wish, content: bytes, suffix: str, expected: float = 0.0) -> OwnRun:
    """The run of a wish, made if it is new; other facts under the name of these are refused. ``expected``: seconds."""
    if other := find_clash(wish.called, content):
        raise JobError(
            f"the run {other.id} asked other facts under the name {wish.called!r}; expected another name for these,"
            f" such as {spelled('called', free_name(wish.called, content), ('--as',))}"
        )
    folder = own_runs_folder() / wish.key(content)
    facts = folder / f"{wish.called}{suffix}"
    if not (folder / _STATE).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        facts.write_bytes(content)
    return _made(folder, wish.with_facts(facts), expected)


def prepare_bert(*, ask: bool, expected: float = 0.0) -> OwnRun:
    """The run that downloads BERT and, if ``ask``, asks it; made if it is new. ``expected``: seconds."""
    wish = OfBert(ask=ask)
    return _made(own_runs_folder() / wish.key(b""), wish, expected)


def _made(folder: Path, wish: Wish, expected: float) -> OwnRun:
    if not (folder / _STATE).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        _save(folder, State(wish=wish, created=created, expected=expected))
    return find_run(folder.name)


def find_run(run_id: str) -> OwnRun:
    """A run by its id."""
    folder = own_runs_folder() / run_id
    known = re.fullmatch(r"[0-9a-f]{12}", run_id) is not None
    try:
        if not known:
            raise FileNotFoundError(run_id)
        return OwnRun(folder, _read(folder / _STATE))
    except FileNotFoundError as error:
        listed = ", ".join(run.id for run in own_runs()) if known else "12 hex digits"
        raise JobError(
            f"no run {run_id!r} of an own model in {own_runs_folder()}; expected one of: {listed or 'none yet'}"
        ) from error
    except (OSError, ValueError) as error:
        raise JobError(
            f"{folder / _STATE} cannot be read ({error}); delete the folder and start the run again"
        ) from error


def own_runs() -> list[OwnRun]:
    """The runs of own models whose state can be read, newest first."""
    return [run for run in all_runs() if not isinstance(run.state.wish, OfBert)]


def bert_run() -> OwnRun | None:
    """The run of BERT that was begun last, if any; one at work before others."""
    runs = [run for run in all_runs() if isinstance(run.state.wish, OfBert)]
    return next((run for run in runs if run.running), runs[0] if runs else None)


def all_runs() -> list[OwnRun]:
    """All runs whose state can be read, newest first."""
    runs = []
    for path in own_runs_folder().glob(f"*/{_STATE}"):
        with suppress(OSError, ValueError):
            runs.append(OwnRun(path.parent, _read(path)))
    return sorted(runs, key=lambda run: (run.state.created, run.id), reverse=True)


def start(run: OwnRun) -> None:
    """Starts a run, or resumes it, as a process that outlives this one; refused while a run is at work."""
    if busy := [other.id for other in all_runs() if other.running]:
        raise JobError(f"the run {busy[0]} is at work; one run works at a time: wait until it ends, or cancel it")
    _save(run.folder, run.state.model_copy(update={"outcome": "", "error": ""}))
    with (run.folder / _LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "probing", *run.state.wish.command(run.id)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=REPOSITORY,
            env={**os.environ, **absolute_environment()},
            start_new_session=True,
        )
    # Until it holds its lock, or has ended before: a page that is drawn at once shall see it at work.
    limit = time.monotonic() + 3 * _GRACE
    while time.monotonic() < limit and process.poll() is None and not find_run(run.id).running:
        time.sleep(0.1)


def start_line(run: OwnRun) -> None:
    """Starts a run that is done once more, with the means of the weights of base and model."""
    wish = run.state.wish.model_copy(update={"line": True})
    start(OwnRun(run.folder, run.state.model_copy(update={"wish": wish})))


def cancel(run: OwnRun) -> None:
    """Ends the processes of a run; what its commands have stored stays, and the run can be resumed."""
    for sign in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if not run.running:
            break
        _end(find_run(run.id).state, sign)
        limit = time.monotonic() + _GRACE
        while run.running and time.monotonic() < limit:
            time.sleep(0.1)
    now = find_run(run.id).state
    if not now.outcome and not run.running:
        _save(run.folder, now.model_copy(update={"outcome": CANCELLED}))


def forget(run: OwnRun) -> None:
    """Deletes the folder of a run that is not at work; its results stay."""
    if run.running:
        raise JobError(f"the run {run.id} is at work; cancel it first")
    shutil.rmtree(run.folder, ignore_errors=True)


def carry_out(run_id: str, say: Callable[[str], None]) -> State:
    """Calls the commands of a run one after the other, in this process's session; each skips what is done."""
    run = find_run(run_id)
    try:
        with (
            exclusive_lock(own_runs_folder() / "one.lock", say, limit=1.0) as all_runs_lock,
            exclusive_lock(run.folder / _LOCK, say, limit=1.0) as run_lock,
        ):
            # Windows has no descriptors for children.
            return _carried_out(run, say, () if os.name == "nt" else (all_runs_lock, run_lock))
    except LockError as error:
        raise JobError(f"another run of an own model is at work; one works at a time ({error})") from error


def _carried_out(run: OwnRun, say: Callable[[str], None], locks: tuple[int, ...]) -> State:
    steps, group = run.state.wish.steps, os.getpgid(0) if hasattr(os, "getpgid") else 0
    state = run.state.model_copy(
        update={"pid": os.getpid(), "group": group, "step": 0, "seconds": (), "outcome": "", "error": ""}
    )
    with _ended_by_signal():
        try:
            for number, step in enumerate(steps):
                state = _save(run.folder, state.model_copy(update={"step": number}))
                say(f"step {number + 1} of {len(steps)}: {step.title}")
                began = time.monotonic()
                if error := _called(run.folder / _LOG, step, locks, say):
                    state = _save(run.folder, state.model_copy(update={"outcome": FAILED, "error": error}))
                    raise JobError(f"{step.line}: {error}")
                state = state.model_copy(update={"seconds": (*state.seconds, round(time.monotonic() - began, 1))})
        except (KeyboardInterrupt, SystemExit):
            _save(run.folder, state.model_copy(update={"outcome": CANCELLED}))
            raise
    return _save(run.folder, state.model_copy(update={"outcome": DONE}))


def _called(log: Path, step: Step, locks: tuple[int, ...], say: Callable[[str], None]) -> str:
    """Calls a command, which holds the locks with this process; its last line if it failed. Warnings are said."""
    with log.open("ab") as stream:
        stream.write(f"\n$ {step.line}\n".encode())
        stream.flush()
        begin = stream.tell()
        # A bar that is written ten times per second would fill the log.
        settings = {**os.environ, **absolute_environment(), "TQDM_MININTERVAL": "2", "PYTHONUNBUFFERED": "1"}
        words = [sys.executable, "-m", "probing", *step.words]
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            cwd=REPOSITORY,
            env=settings,
            pass_fds=locks,
        )
        try:
            code = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE / 2)
                process.kill()
    with log.open("rb") as read:
        read.seek(begin)
        lines = [line.strip() for line in re.split(r"[\r\n]", read.read().decode("utf-8", "replace")) if line.strip()]
    for line in dict.fromkeys(line for line in lines if line.startswith(("warning: ", "note: "))):
        say(line)
    if not code:
        return ""
    named = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (named or lines or [f"ended with code {code}"])[-1]


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """The signal that asks a process to end raises ``SystemExit`` here, so that the called command ends, too."""

    def leave(*_: object) -> None:
        raise SystemExit(1)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(state: State, sign: int) -> None:
    """Sends a signal to the process of a run at work, and to its group if it leads one."""
    with suppress(ProcessLookupError, PermissionError):
        if state.group and state.group == state.pid:
            # One of the group holds the lock, so its number is not given to another, even if its first process has
            # ended.
            os.killpg(state.group, sign)
        elif state.pid and (not state.group or os.getpgid(state.pid) == state.group):
            os.kill(state.pid, sign)


def _save(folder: Path, state: State) -> State:
    content = state.model_dump(mode="json")
    checksum = fingerprint_of(canonical_json(content))
    atomic_text(folder / _STATE, json.dumps(content | {"checksum": checksum}, indent=1))
    return state


def _read(path: Path) -> State:
    """A state as it was written; a ``ValueError`` if it is none or has other bytes."""
    content = json.loads(path.read_text(encoding="utf-8"))
    # What an earlier version wrote has no checksum.
    if isinstance(content, dict) and content.pop("checksum", None) not in (
        None,
        fingerprint_of(canonical_json(content)),
    ):
        raise ValueError("other bytes than were written")
    return State.model_validate(content)
