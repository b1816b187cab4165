"""Workers of tests: known bytes, and a death at a known place. Worker processes import this module by name."""

import os
import signal
from pathlib import Path

from probing.core.errors import FactsError


def squares(setup):
    """Writes the square of each shard's number; dies where the setup says so, as often as it says, with half a file
    written.
    """
    folder = Path(setup["folder"])

    def work(arguments, finished):
        for place, given in enumerate(arguments):
            number = given["number"]
            path = folder / f"square-{number}.txt"
            if number == setup.get("refuses"):
                raise FactsError(f"no square of {number}")
            if number == setup.get("breaks"):
                raise ZeroDivisionError("a slip of the program")
            if number == setup.get("dies"):
                deaths = len(list(folder.glob("death-*")))
                if deaths < setup["times"]:
                    (folder / f"death-{deaths}").touch()
                    (folder / f"square-{number}.{os.getpid()}.tmp").write_text("half a")
                    os.kill(os.getpid(), signal.SIGKILL)
            with (folder / "calls.txt").open("a") as calls:
                calls.write(f"{number}\n")
            path.write_text(str(number * number))
            finished(place, [path])

    return work


def die_once():
    """Kills the first process that comes here."""
    try:
        (Path(os.environ["PROBING_SNAPSHOT"]) / "death").touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def mortal_probing(setup):
    """The real worker of ``probe``; the first process that reads the second layer of the last shard is killed there."""
    import probing.models.knowledge.probe as module
    from probing.workflows.knowledge.shard_work import open_probing

    opened, real, calls = open_probing(setup), module.read_out, [0]

    def read_out(*given, **named):
        calls[0] += 1
        if calls[0] % 3 == 2:
            die_once()
        return real(*given, **named)

    module.read_out = read_out
    return opened


def probing_of_another_version(setup):
    """A worker on a machine where an older program is installed."""
    import probing.workflows.stored_runs as module
    from probing.workflows.knowledge.shard_work import open_probing

    module.__version__ = "0.0"
    return open_probing(setup)


def mortal_training(setup):
    """The real worker of ``train-heads``; the first process that takes a head's second step is killed there."""
    import probing.models.heads.training as module
    from probing.workflows.heads.work import open_training

    opened, real = open_training(setup), module.HeadStep.take

    def take(self, number, *given):
        if number == 1:
            die_once()
        return real(self, number, *given)

    module.HeadStep.take = take
    return opened


def mortal_edges(setup):
    """The real worker of ``edges train``; the first process that has kept a training for the second time is killed
    there.
    """
    import probing.models.edges.training as module
    from probing.workflows.edges.work import open_edges

    opened, real, kept = open_edges(setup), module._keep, [0]

    def keep(path, state):
        real(path, state)
        kept[0] += 1
        if kept[0] == 2:
            die_once()

    module._keep = keep
    return opened


def mortal_sentences(setup):
    """The real worker of ``sentences train``; the first process that wrote two tables of a run is killed there."""
    import probing.workflows.stored_runs as module
    from probing.workflows.sentences.work import open_sentences

    opened, real, written = open_sentences(setup), module.write_table, [0]

    def write_table(*given):
        real(*given)
        written[0] += 1
        if written[0] == 2:
            die_once()

    module.write_table = write_table
    return opened
