"""A parent that has everything imported and forks a child for each command line, so that a trial costs no imports.

A real process of its own is killed with a real SIGKILL. Threads and models are made in the children only.
"""

import contextlib
import json
import mmap
import os
import resource
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: One thread, so that results do not depend on what else the machine does, and no network.
SETTINGS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "HF_HUB_OFFLINE"), "1") | {
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
}


#: Events of Python that change the file system, beside files opened to be written.
CHANGES = {
    *(f"os.{name}" for name in ("rename", "remove", "mkdir", "rmdir", "link")),
    "shutil.copyfile",
    "shutil.rmtree",
}


@dataclass(frozen=True)
class Call:
    """A command line, and what happens to it.

    Attributes:
        words: after ``python -m probing``.
        environment: variables beside those of the parent.
        kill_after: seconds after which it is killed, or None.
        kill_at_step: number of the step on the file system before which it is killed, from 1; or None.
        largest_file: bytes that a file may have, the stand-in for a full disk; or None.
    """

    words: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)
    kill_after: float | None = None
    kill_at_step: int | None = None
    largest_file: int | None = None


@dataclass(frozen=True)
class Outcome:
    """How a call ended: exit code (minus the signal, if it was killed), seconds, steps on the file system, and what it
    said.
    """

    code: int
    seconds: float
    steps: int
    said: str


class WarmParent:
    """The parent, seen from the tests."""

    def __init__(self, *prefix: str):
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "tests.faults.warm"],
            cwd=ROOT,
            env=os.environ | SETTINGS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask({"calls": []})

    def run(self, call: Call) -> Outcome:
        """Runs one command line to its end."""
        return self.together([call])[0]

    def together(self, calls: Sequence[Call]) -> list[Outcome]:
        """Runs several at once."""
        return [Outcome(**answer) for answer in self._ask({"calls": [vars(call) for call in calls]})]

    def shell(self, *words: str) -> None:
        """Runs another program where the parent is, which may have file systems of its own.

        Raises:
            RuntimeError: with what it said, if it fails.
        """
        answer = self._ask({"shell": list(words)})
        if answer["code"]:
            raise RuntimeError(f"{words}: {answer['said']}")

    def close(self) -> None:
        """Ends the parent."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, question: dict) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the warm parent ended with {self._process.wait()}")
        return json.loads(answer)


def _serve() -> None:
    _import_everything()
    answers = os.fdopen(os.dup(1), "w")
    # What a library prints must not be taken for an answer.
    os.dup2(2, 1)
    for line in sys.stdin:
        question = json.loads(line)
        if "shell" in question:
            done = subprocess.run(question["shell"], capture_output=True, text=True, check=False)
            answer: Any = {"code": done.returncode, "said": done.stderr}
        else:
            answer = _run_all([Call(**call) for call in question["calls"]])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _import_everything() -> None:
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer, BertForMaskedLM, Trainer  # noqa: F401

    import probing.facts.probe
    import probing.finetuning.trainer
    import probing.heads.train
    import probing.kernel.models.catalogue
    import probing.kernel.store.check  # noqa: F401
    from probing.main import COMMANDS, MAKERS, command

    for name in {**COMMANDS, **MAKERS}:
        command(name)


def _run_all(calls: Sequence[Call]) -> list[dict]:
    started: dict[int, tuple[int, float, int]] = {}
    counters = [mmap.mmap(-1, 8) for _ in calls]
    for number, call in enumerate(calls):
        said = os.memfd_create(f"call-{number}")
        child = os.fork()
        if child == 0:
            _be_the_command(call, said, counters[number])
        with contextlib.suppress(PermissionError, ProcessLookupError):
            # Here too: whoever comes first, a kill finds the group.
            os.setpgid(child, child)
        started[child] = (number, time.monotonic(), said)
    answers: list[dict] = [{}] * len(calls)
    while started:
        child, status = os.waitpid(-1, os.WNOHANG)
        now = time.monotonic()
        if child in started:
            number, begun, said = started.pop(child)
            os.lseek(said, 0, os.SEEK_SET)
            with os.fdopen(said, "rb") as stream:
                words = stream.read().decode(errors="replace")
            (steps,) = struct.unpack("q", counters[number][:])
            answers[number] = {
                "code": os.waitstatus_to_exitcode(status),
                "seconds": now - begun,
                "steps": steps,
                "said": words,
            }
            continue
        for pid, (number, begun, _) in started.items():
            limit = calls[number].kill_after
            if limit is not None and now - begun >= limit:
                # Its group: whatever it started dies with it.
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.001)
    return answers


def _count_steps(counter: mmap.mmap, last: int | None) -> None:
    """Counts what changes the file system, as far as Python does it, and dies before the step of that number."""
    me = os.getpid()

    def hook(event: str, arguments: tuple) -> None:
        if event == "open":
            _, mode, flags = arguments
            changes = (
                any(letter in mode for letter in "wax+")
                if isinstance(mode, str)
                else bool((flags or 0) & (os.O_WRONLY | os.O_RDWR))
            )
        else:
            changes = event in CHANGES
        if changes:
            (steps,) = struct.unpack("q", counter[:])
            counter[:] = struct.pack("q", steps + 1)
            if steps + 1 == last:
                os.kill(me, signal.SIGKILL)

    sys.addaudithook(hook)


def _be_the_command(call: Call, said: int, counter: mmap.mmap) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        for stream in (1, 2):
            os.dup2(said, stream)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.environ.update(call.environment)
        if call.largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (call.largest_file, call.largest_file))
        sys.argv = ["probing", *call.words]
        import torch

        torch.set_num_threads(1)
        _count_steps(counter, call.kill_at_step)
        from probing.main import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
