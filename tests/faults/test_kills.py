"""Commands that are killed with SIGKILL, called again, and end as if nothing had happened."""

import os
import random

import pytest

from tests.faults.commands import COMMANDS, begin, call
from tests.faults.trials import Trial, finish, half_files, kill_and_resume, undisturbed

#: How many trials are made of each command, and with which seed.
TRIALS = int(os.environ.get("PROBING_STRESS_TRIALS", "1"))
SEED = int(os.environ.get("PROBING_STRESS_SEED", "1"))
pytestmark = pytest.mark.slow


def test_a_pull_is_killed_before_every_third_of_its_steps(inputs, warm):
    command = COMMANDS["pull heads"]
    wanted = undisturbed(command, inputs, warm)
    assert wanted.steps > 20
    for step in range(1, wanted.steps + 1, 3):
        place, trial = begin(command, inputs, warm), Trial()
        assert warm.run(call(command, inputs, place, kill_at_step=step)).code == -9
        trial.losses += half_files(place, wanted)
        assert finish(command, inputs, place, warm, wanted, trial).losses == [], f"killed before step {step}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_long_command_is_killed_again_and_again(name, inputs, warm, report):
    wanted = undisturbed(COMMANDS[name], inputs, warm)
    rng = random.Random(f"{SEED} {name}")
    trials = [kill_and_resume(COMMANDS[name], inputs, warm, wanted, rng) for _ in range(TRIALS)]
    report[name, "kill -9, up to three times"] = trials
    assert [loss for trial in trials for loss in trial.losses] == []
    assert all(trial.faults for trial in trials)
