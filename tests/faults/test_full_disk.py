"""A disk that is full: a named error, nothing lost, and the same end once there is room."""

from pathlib import Path

import pytest

from tests.faults.commands import COMMANDS, begin, call
from tests.faults.trials import Trial, differing, done_already, finish, half_files, undisturbed

pytestmark = pytest.mark.slow
PAGE = 4096
#: Shares of the bytes that an undisturbed run needs.
SHARES = (0.3, 0.8)


@pytest.mark.parametrize("name", ["probe", "pull predictions"])
def test_a_file_that_may_not_grow_is_named_and_the_command_goes_on_when_it_may(name, inputs, warm):
    command = COMMANDS[name]
    wanted = undisturbed(command, inputs, warm)
    place, trial = begin(command, inputs, warm), Trial()
    done = warm.run(call(command, inputs, place, largest_file=2000))
    assert done.code == 1 and "error: " in done.said and "Traceback" not in done.said, done.said
    assert "no room" in done.said
    trial.losses += half_files(place, wanted)
    assert finish(command, inputs, place, warm, wanted, trial).losses == []


def room_of(folder: Path) -> int:
    """Bytes that a folder takes on a small disk in memory, which counts whole pages of files and nothing for
    folders.
    """
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_long_command_meets_a_full_disk(name, inputs, warm_with_mounts, report):
    command, warm = COMMANDS[name], warm_with_mounts
    place, wanted = done_already(command, inputs, warm)
    size, begun = room_of(place), room_of(begin(command, inputs, warm))
    trials = report.setdefault((name, "full disk"), [])
    for share in SHARES:
        trial = Trial()
        room = int(begun + share * (size - begun))
        begin(command, inputs, warm)
        keep = place.with_name("kept")
        mount = f"mount -t tmpfs -o size={room} tmpfs {place}"
        warm.shell("sh", "-c", f"rm -rf {keep} && cp -a {place} {keep} && {mount} && cp -a {keep}/. {place}/")
        try:
            done = warm.run(call(command, inputs, place))
            trial.faults = int(done.code != 0)
            if done.code != 0 and (done.code != 1 or "error: " not in done.said or "Traceback" in done.said):
                trial.losses.append(f"room for {share:.0%}: exit code {done.code}, no named error: {done.said[-800:]}")
            # Others cannot look into the small disk, so what is on it is copied out.
            out = f"rm -rf {keep} && cp -a {place} {keep}"
            warm.shell("sh", "-c", out)
            warm.shell("mount", "-o", f"remount,size={10 * size + 50_000_000}", str(place))
            trial.losses += half_files(keep, wanted)
            done = warm.run(call(command, inputs, place))
            if done.code != 0:
                trial.losses.append(f"cannot go on: exit code {done.code}: {done.said[-800:]}")
            warm.shell("sh", "-c", out)
        finally:
            warm.shell("umount", str(place))
        trial.losses += differing(keep, wanted)
        trials.append(trial)
    assert [loss for trial in trials for loss in trial.losses] == []
