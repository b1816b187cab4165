"""Commands that are killed, run out of disk or meet damage, called again, end as if nothing had happened."""

import random
from pathlib import Path

import pytest

from probing.kernel.store.check import check_store
from tests.faults.trials import (
    COMMANDS,
    Trial,
    begin,
    differing,
    done_already,
    finish,
    half_files,
    kill_and_resume,
    undisturbed,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", COMMANDS)
def test_every_long_command_is_killed_again_and_again(name, inputs, warm):
    wanted = undisturbed(COMMANDS[name], inputs, warm)
    trial = kill_and_resume(COMMANDS[name], inputs, warm, wanted, random.Random(f"1 {name}"))
    assert trial.losses == [] and trial.faults


PAGE = 4096
#: Shares of the bytes that an undisturbed run needs.
SHARES = (0.3, 0.8)


@pytest.mark.parametrize("name", ["probe", "pull predictions"])
def test_a_file_that_may_not_grow_is_named_and_the_command_goes_on_when_it_may(name, inputs, warm):
    command = COMMANDS[name]
    wanted = undisturbed(command, inputs, warm)
    place, trial = begin(command, inputs, warm), Trial()
    done = warm.run(command.call(inputs, place, largest_file=2000))
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
def test_every_long_command_meets_a_full_disk(name, inputs, warm_with_mounts):
    command, warm = COMMANDS[name], warm_with_mounts
    place, wanted = done_already(command, inputs, warm)
    size, begun = room_of(place), room_of(begin(command, inputs, warm))
    for share in SHARES:
        trial = Trial()
        room = int(begun + share * (size - begun))
        begin(command, inputs, warm)
        keep = place.with_name("kept")
        mount = f"mount -t tmpfs -o size={room} tmpfs {place}"
        warm.shell("sh", "-c", f"rm -rf {keep} && cp -a {place} {keep} && {mount} && cp -a {keep}/. {place}/")
        try:
            done = warm.run(command.call(inputs, place))
            if done.code != 0 and (done.code != 1 or "error: " not in done.said or "Traceback" in done.said):
                trial.losses.append(f"room for {share:.0%}: exit code {done.code}, no named error: {done.said[-800:]}")
            # Others cannot look into the small disk, so what is on it is copied out.
            out = f"rm -rf {keep} && cp -a {place} {keep}"
            warm.shell("sh", "-c", out)
            warm.shell("mount", "-o", f"remount,size={10 * size + 50_000_000}", str(place))
            trial.losses += half_files(keep, wanted)
            done = warm.run(command.call(inputs, place))
            if done.code != 0:
                trial.losses.append(f"cannot go on: exit code {done.code}: {done.said[-800:]}")
            warm.shell("sh", "-c", out)
        finally:
            warm.shell("umount", str(place))
        trial.losses += differing(keep, wanted)
        assert trial.losses == []


@pytest.mark.parametrize("keep", [0, 0.6], ids=["empty", "cut short"])
@pytest.mark.parametrize("table", ["predictions", "runs", "facts", "vocabulary", "layer_counts"])
def test_a_damaged_file_of_a_run_is_named_by_check_and_made_again_by_probe(table, keep, inputs, warm):
    place, wanted = done_already(COMMANDS["probe"], inputs, warm)
    (path,) = (place / "cache" / "runs").glob(f"{table}-*.parquet")
    path.write_bytes((content := path.read_bytes())[: int(keep * len(content))])
    assert any(path.name in problem for problem in check_store([path.parent]))
    assert finish(COMMANDS["probe"], inputs, place, warm, wanted, Trial(1)).losses == []


@pytest.mark.parametrize("name", COMMANDS)
def test_two_processes_that_start_the_same_end_as_one(name, inputs, warm):
    command = COMMANDS[name]
    wanted = undisturbed(command, inputs, warm)
    place = begin(command, inputs, warm)
    done = warm.together([command.call(inputs, place)] * 2)
    assert [outcome.code for outcome in done] == [0, 0], [outcome.said[-800:] for outcome in done]
    trial = finish(command, inputs, place, warm, wanted, Trial(1))
    assert trial.losses == []
