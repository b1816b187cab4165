"""Files that are cut short or have one wrong bit: computed again where that is possible, else a named error. Never
taken for whole.
"""

import random
import shutil
from pathlib import Path

import pytest

from probing.core.errors import StoreError
from probing.store.check import check_store
from probing.store.parquet import read_table
from tests.faults.commands import COMMANDS, begin, call
from tests.faults.trials import Trial, done_already, finish, undisturbed

pytestmark = pytest.mark.slow


def damage(path: Path, fault: str, rng: random.Random) -> None:
    """Does to a file what disks and copies do."""
    content = bytearray(path.read_bytes())
    if fault == "cut short":
        content = content[: rng.randrange(1, len(content))]
    elif fault == "empty":
        content = bytearray()
    else:
        # Into the numbers, where no format notices: headers stand at the ends of all of ours.
        content[rng.randrange(len(content) // 4, 3 * len(content) // 4)] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


@pytest.mark.parametrize("fault", ["cut short", "empty"])
@pytest.mark.parametrize("table", ["predictions", "runs", "facts", "vocabulary", "layer_counts"])
def test_a_damaged_file_of_a_run_is_named_by_check_and_made_again_by_probe(table, fault, inputs, warm, report):
    place, wanted = done_already(COMMANDS["probe"], inputs, warm)
    (path,) = (place / "cache" / "runs").glob(f"{table}-*.parquet")
    damage(path, fault, random.Random(fault))
    assert any(path.name in problem for problem in check_store([path.parent]))
    trial = finish(COMMANDS["probe"], inputs, place, warm, wanted, Trial(1))
    report.setdefault(("probe", f"{table}: {fault}"), []).append(trial)
    assert trial.losses == []


@pytest.mark.parametrize("table", ["predictions", "runs", "facts", "vocabulary"])
def test_a_run_file_with_one_wrong_bit_is_named_or_has_the_same_rows(table, inputs, warm, tmp_path):
    place, _ = done_already(COMMANDS["probe"], inputs, warm)
    (path,) = (place / "cache" / "runs").glob(f"{table}-*.parquet")
    wanted, rng, named = read_table(path, table), random.Random(table), 0
    for _ in range(60):
        copy = shutil.copy(path, tmp_path / path.name)
        damage(Path(copy), "one bit", rng)
        try:
            assert read_table(Path(copy), table).equals(wanted)
        except StoreError as error:
            assert path.name in str(error)
            named += 1
    assert named > 0


@pytest.mark.parametrize("name", COMMANDS)
def test_two_processes_that_start_the_same_end_as_one(name, inputs, warm, report):
    command = COMMANDS[name]
    wanted = undisturbed(command, inputs, warm)
    place = begin(command, inputs, warm)
    done = warm.together([call(command, inputs, place)] * 2)
    assert [outcome.code for outcome in done] == [0, 0], [outcome.said[-800:] for outcome in done]
    trial = finish(command, inputs, place, warm, wanted, Trial(1))
    report.setdefault((name, "two at once"), []).append(trial)
    assert trial.losses == []
