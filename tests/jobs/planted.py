"""Work of tests: known bytes, and a death at a known place. Worker processes import this module by name."""

import os
import pickle
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from probing.changes import measure_run as changes
from probing.changes.measure_run import ChangeWork
from probing.edges import training as edge_training
from probing.edges.train import EdgeWork
from probing.facts import probe as probed_facts
from probing.facts.probe import Probing
from probing.heads.train import HeadStep
from probing.heads.training_run import HeadWork
from probing.kernel.errors import FactsError
from probing.kernel.jobs import stored_runs
from probing.kernel.jobs.shards import Work, noted
from probing.sentences.train import SentenceWork


class Elsewhere:
    """Does shards as another process would: from a pickle alone, with threads that are not the run's until the work
    sets them.
    """

    name = "elsewhere"

    def __init__(self):
        self.threads = []

    def run(self, work, names, token, finished):
        sent = pickle.dumps(work)
        for name in names:
            torch.set_num_threads(2)
            pickle.loads(sent).do([name], noted(work.folder, finished))
            self.threads.append(torch.get_num_threads())


@dataclass(frozen=True)
class Squares(Work):
    """Writes the square of each shard's number; dies at one of them, as often as it should, with half a file
    written.
    """

    folder: Path = Path()
    n: int = 5
    refuses: int | None = None
    breaks: int | None = None
    dies: int | None = None
    times: int = 0

    @property
    def shards(self):
        return {f"square-{number}": number for number in range(self.n)}

    def do(self, names, finished):
        for name in names:
            number, path = self.shards[name], self.folder / f"{name}.txt"
            if number == self.refuses:
                raise FactsError(f"no square of {number}")
            if number == self.breaks:
                raise ZeroDivisionError("a slip of the program")
            if number == self.dies and (deaths := len(list(self.folder.glob("death-*")))) < self.times:
                (self.folder / f"death-{deaths}").touch()
                (self.folder / f"{name}.{os.getpid()}.tmp").write_text("half a")
                os.kill(os.getpid(), signal.SIGKILL)
            with (self.folder / "calls.txt").open("a") as calls:
                calls.write(f"{number}\n")
            path.write_text(str(number * number))
            finished(name, [path])


@contextmanager
def killed_once(owner, name, calls, note):
    """Kills the first process that has called a function so often."""
    real, count = getattr(owner, name), [0]

    def mortal(*given, **named):
        result = real(*given, **named)
        count[0] += 1
        if count[0] == calls and not note.exists():
            note.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, mortal)
        yield


class Mortal:
    """The first process that has called a function so often while it does shards is killed."""

    def do(self, *given):
        with killed_once(*self.after, self.folder.parent.parent / "death"):
            super().do(*given)


class MortalProbing(Mortal, Probing):
    after = probed_facts, "read_out", 2


class MortalHeadWork(Mortal, HeadWork):
    after = HeadStep, "take", 2


class MortalEdgeWork(Mortal, EdgeWork):
    after = edge_training, "_keep", 2


class MortalSentenceWork(Mortal, SentenceWork):
    after = stored_runs, "write_table", 2


class MortalChangeWork(Mortal, ChangeWork):
    after = changes, "write_table", 1
