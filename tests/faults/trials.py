"""One trial: a command that is disturbed at random moments and called again until it is done."""

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.commands import Command, begin, call
from tests.faults.results import digests
from tests.faults.warm import WarmParent

#: A killed command is killed again at most this often before it is left alone.
MAX_KILLS = 3


@dataclass(frozen=True)
class Undisturbed:
    """What a command leaves behind when nothing happens to it, how long it takes, and in how many steps on the file
    system.
    """

    digests: dict[str, str]
    seconds: float
    steps: int


@dataclass
class Trial:
    """What happened.

    Attributes:
        faults: how often the command was disturbed while it worked.
        losses: what was wrong, in words; none when all is well.
    """

    faults: int = 0
    losses: list[str] = field(default_factory=list)


_KNOWN: dict[tuple[str, Path], Undisturbed] = {}


def undisturbed(command: Command, inputs: Path, warm: WarmParent) -> Undisturbed:
    """Runs the command twice, so that the measured time is that of warm files, and checks that both left the same; once
    a session.
    """
    key = command.name, inputs
    if key not in _KNOWN:
        found = []
        for _ in range(2):
            place = begin(command, inputs, warm)
            done = warm.run(call(command, inputs, place))
            assert done.code == 0, done.said
            found.append(Undisturbed(digests(place), done.seconds, done.steps))
        assert found[0].digests == found[1].digests and found[0].digests, "two undisturbed runs leave the same"
        shutil.copytree(place, _finished(command, inputs))
        _KNOWN[key] = found[1]
    return _KNOWN[key]


def done_already(command: Command, inputs: Path, warm: WarmParent) -> tuple[Path, Undisturbed]:
    """A place in which the command is done, and what it left there."""
    wanted = undisturbed(command, inputs, warm)
    place = begin(command, inputs, warm)
    shutil.rmtree(place)
    shutil.copytree(_finished(command, inputs), place)
    return place, wanted


def _finished(command: Command, inputs: Path) -> Path:
    return inputs.parent / "finished" / command.name


def kill_and_resume(command: Command, inputs: Path, warm: WarmParent, wanted: Undisturbed, rng: random.Random) -> Trial:
    """Kills the command one to three times and then lets it finish.

    Each kill comes before a step uniform over its steps on the file system, or at a moment uniform over the command's
    duration: the moments between two steps are those that can go wrong, and most of the time is spent on computing. The
    first comes before a step, which always meets the command at work.
    """
    place, trial = begin(command, inputs, warm), Trial()
    for number in range(rng.randint(1, MAX_KILLS)):
        at_step = number == 0 or rng.random() < 0.5
        how = (
            {"kill_at_step": rng.randint(1, wanted.steps)}
            if at_step
            else {"kill_after": rng.uniform(0, wanted.seconds)}
        )
        done = warm.run(call(command, inputs, place, **how))
        trial.faults += done.code == -9
        if done.code not in (0, -9):
            trial.losses.append(f"after a kill: exit code {done.code}: {done.said[-500:]}")
        trial.losses += half_files(place, wanted)
    return finish(command, inputs, place, warm, wanted, trial)


def finish(command: Command, inputs: Path, place: Path, warm: WarmParent, wanted: Undisturbed, trial: Trial) -> Trial:
    """Lets the command finish and compares what it leaves with the undisturbed run."""
    done = warm.run(call(command, inputs, place))
    if done.code != 0:
        trial.losses.append(f"cannot go on: exit code {done.code}: {done.said[-500:]}")
    trial.losses += differing(place, wanted)
    return trial


def differing(place: Path, wanted: Undisturbed) -> list[str]:
    """Results that are not those of the undisturbed run, too many or too few."""
    found = digests(place)
    names = sorted(name for name in found | wanted.digests if found.get(name) != wanted.digests.get(name))
    return [f"{name} is not what an undisturbed run leaves" for name in names]


def half_files(place: Path, wanted: Undisturbed) -> list[str]:
    """Files that have a final name and are not whole."""
    return [
        f"{name} has its name and is not whole"
        for name, digest in digests(place).items()
        if digest != wanted.digests.get(name)
    ]
