"""A user's own model: where it is found, what its configuration says, and the commands that probe it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probing.kernel.errors import JobError
from probing.kernel.locks import exclusive_lock, is_held
from probing.kernel.models.checkpoint import unlike
from probing.kernel.models.names import find_entry, named_folders, own_model_folders
from probing.own_model import run as background
from probing.own_model.check import check_model_folder, in_bytes, in_minutes
from probing.own_model.run import Wish, placed

BERT = {
    "model_type": "bert",
    "architectures": ["BertForMaskedLM"],
    "num_hidden_layers": 12,
    "hidden_size": 768,
    "intermediate_size": 3072,
    "vocab_size": 30522,
}


def model(folder: Path, **changed) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(BERT | changed))
    (folder / "model.safetensors").write_bytes(b"\2" + bytes(7) + b"{}" + bytes(990))
    return folder


def test_a_parent_folder_gives_the_models_in_it_and_the_checkpoints_of_trainings(tmp_path, monkeypatch):
    for name in (
        "parent/b",
        "parent/a",
        "parent/run/checkpoint-1000",
        "parent/run/checkpoint-200",
        "parent/notes/deep/model",
        "one",
    ):
        model(tmp_path / name)
    (tmp_path / "empty").mkdir()
    named = [tmp_path / name for name in ("parent", "one", "empty", "absent")]
    monkeypatch.setenv("PROBING_MODELS", os.pathsep.join(map(str, named)))
    found = [path.relative_to(tmp_path).as_posix() for path in own_model_folders()]
    assert found == ["parent/a", "parent/b", "parent/run/checkpoint-200", "parent/run/checkpoint-1000", "one"]
    assert [one.said.split(":")[0] for one in named_folders()] == ["4 models", "a model", "no model", "no such folder"]
    assert "run/checkpoint-200" in named_folders()[0].said
    monkeypatch.delenv("PROBING_MODELS")
    assert own_model_folders() == []


def test_a_configuration_says_what_a_model_is(tmp_path):
    found = check_model_folder(model(tmp_path / "mine"))
    assert found.said == "bert, 12 layers of 768, vocabulary of 30,522 tokens"
    assert not found.why_no_head and not found.has_vocabulary and found.file_bytes == 1000
    tuned = check_model_folder(model(tmp_path / "tuned", architectures=["BertForSequenceClassification"]))
    assert tuned.why_no_head and unlike(tuned.shape(), found.shape(), "mine") == ""
    other = check_model_folder(model(tmp_path / "other", vocab_size=100, num_hidden_layers=6))
    assert "number of layers 12 against 6, size of the vocabulary 30522 against 100" in unlike(
        found.shape(), other.shape(), "other"
    )


def test_distilberts_names_of_sizes_are_known(tmp_path):
    sizes = {"num_hidden_layers": None, "hidden_size": None, "intermediate_size": None}
    config = {key: value for key, value in BERT.items() if key not in sizes} | {
        "n_layers": 6,
        "dim": 768,
        "hidden_dim": 3072,
    }
    folder = model(tmp_path / "distil")
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "distilbert"}))
    assert (check_model_folder(folder).depth, check_model_folder(folder).hidden) == (6, 768)


def test_a_larger_model_and_more_facts_take_longer(tmp_path):
    small, large = (check_model_folder(model(tmp_path / str(n), num_hidden_layers=n)) for n in (6, 12))
    assert small.seconds(1000) < large.seconds(1000) < large.seconds(2000)
    assert (in_bytes(440e6), in_bytes(12)) == ("440 MB", "12 bytes")
    assert (in_minutes(5), in_minutes(61), in_minutes(3 * 3600)) == (
        "about a minute",
        "about 2 minutes",
        "about 3 hours",
    )


WISH = Wish(model="./my model", base="base", facts="/facts/mine.csv", called="mine")


def test_the_commands_ask_base_and_model_with_the_same_head_and_facts():
    lines = [step.line for step in WISH.steps]
    same = "--facts /facts/mine.csv --as mine --head logit_lens"
    asked = [f"probe --model base {same}", f"probe --model './my model' --base base {same}"]
    ranked = [f"{words} --measure independent" for words in asked]
    assert lines == [f"python -m probing {words}" for words in (*asked, *ranked)]
    more = [step.line for step in WISH.model_copy(update={"trex": True, "recover": True, "name": "tuned"}).steps]
    assert [line.split()[3] for line in more] == ["probe"] * 6 + ["forgetting"]
    assert ["--measure" in line for line in more] == [False, False, True, True, False, False, False]
    assert (
        more[-1]
        == "python -m probing forgetting recover --model './my model' --base base --name tuned --facts /facts/mine.csv"
        " --as mine --savings"
    )
    alone = Wish(model="m", facts="f.csv", called="f", recover=True).steps
    assert [step.words[0] for step in alone] == ["probe"] * 2


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    return background.prepare(WISH, b"question;answer\nOne is [MASK].;red\n", ".csv")


def test_the_same_wish_is_the_same_run_and_its_facts_are_copied(run):
    assert background.prepare(WISH, b"question;answer\nOne is [MASK].;red\n", ".csv").id == run.id
    assert background.prepare(WISH.model_copy(update={"called": "others"}), b"other", ".csv").id != run.id
    assert Path(run.state.wish.facts).read_bytes().startswith(b"question")
    assert {one.id for one in background.own_runs()} >= {run.id} and run.status == "interrupted"
    background.forget(run)
    assert run.id not in {one.id for one in background.own_runs()}


def test_a_state_with_one_other_bit_is_named_and_one_of_an_earlier_version_is_read(run):
    path = run.folder / "run.json"
    path.write_text(run.state.model_dump_json())
    assert background.find_run(run.id) == run
    content = bytearray(background._save(run.folder, run.state) and path.read_bytes())
    content[content.index(b"2")] ^= 1
    path.write_bytes(content)
    with pytest.raises(JobError, match=r"run\.json cannot be read .other bytes.*delete the folder"):
        background.find_run(run.id)
    assert run.id not in {one.id for one in background.own_runs()}


def test_the_time_left_is_expected_until_the_progress_shows_it(run, monkeypatch):
    steps, state = len(run.state.wish.steps), run.state.model_copy(update={"expected": 60.0})
    begun = (run.folder / "run.json").stat().st_mtime
    monkeypatch.setattr(background.time, "time", lambda: begun + 10)

    def left(**more):
        return background.OwnRun(run.folder, state.model_copy(update=more)).seconds_left

    assert steps == 4 and left() == 5 + 45 and left(step=1, seconds=(40.0,)) == 30 + 80 and left(expected=0.0) is None
    (run.folder / "log.txt").write_text("$ probe\nprobe:  50%|##  | 1/2")
    assert left() == 10 + 60 and left(step=1, seconds=(40.0,)) == 10 + 80


def test_other_facts_need_another_name_because_results_are_kept_by_it(run):
    content = Path(run.state.wish.facts).read_bytes()
    called = run.state.wish.called
    assert background.find_clash(called, content) is None and background.free_name(called, content) == called
    assert background.find_clash(called, b"other").id == run.id
    with pytest.raises(
        JobError, match=rf"the run {run.id} asked other facts under the name '{called}'.* --as {called}-2$"
    ):
        background.prepare(WISH, b"other", ".csv")
    background.prepare(WISH.model_copy(update={"called": f"{called}-2"}), b"other", ".csv")
    assert background.free_name(called, b"third") == f"{called}-3"


def test_a_model_in_a_named_folder_is_found_by_its_name_and_commands_name_its_folder(tmp_path, monkeypatch):
    folder = model(tmp_path / "parent" / "mine")
    monkeypatch.setenv("PROBING_MODELS", str(tmp_path / "parent"))
    assert find_entry("mine").location == str(folder) and placed("mine") == str(folder)
    assert find_entry("another").hub_id == "another" and placed("another") == "another"


def test_the_commands_of_a_run_are_called_in_order_and_a_failed_one_ends_it(run, monkeypatch):
    called = []

    def call(log, step, *_):
        called.append(step.words[0])
        return "no such model" if len(called) == 2 else ""

    monkeypatch.setattr(background, "_called", call)
    said: list[str] = []
    with pytest.raises(JobError, match="no such model"):
        background.carry_out(run.id, said.append)
    failed = background.find_run(run.id)
    assert called == ["probe", "probe"] and failed.status == "failed"
    assert (failed.state.step, failed.state.error, len(failed.state.seconds)) == (1, "no such model", 1)
    background.carry_out(run.id, said.append)
    done = background.find_run(run.id)
    assert done.status == "done" and done.whole and called == ["probe"] * 6


def test_the_commands_of_a_run_work_elsewhere_and_find_what_relative_paths_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("PROBING_CACHE", "PROBING_SNAPSHOT", "PROBING_REGISTRY", "PROBING_MODELS")
    for name in names:
        monkeypatch.setenv(name, "here")
    popen, called = subprocess.Popen, []

    def call(words: list[str], **given) -> subprocess.Popen:
        called.append((words[words.index("--facts") + 1], given["env"]))
        return popen([sys.executable, "-c", ""], **given)

    monkeypatch.setattr(background.subprocess, "Popen", call)
    background.carry_out(background.prepare(WISH, b"facts", ".csv").id, print)
    monkeypatch.chdir("/")
    assert len(called) == 4 and all(Path(facts).read_bytes() == b"facts" for facts, _ in called)
    assert {environment[name] for _, environment in called for name in names} == {str(tmp_path / "here")}


def test_a_run_is_at_work_while_its_lock_is_held_and_can_neither_be_started_twice_nor_deleted(run):
    with exclusive_lock(run.folder / "run.lock"):
        assert is_held(run.folder / "run.lock") and run.status == "running"
        with pytest.raises(JobError, match="is at work; one run works at a time"):
            background.start(run)
        with pytest.raises(JobError, match="cancel it first"):
            background.forget(run)
    assert not run.running


def test_progress_is_read_from_the_last_bar_of_the_command(run):
    (run.folder / "log.txt").write_bytes(
        b"\n$ first\n100%|####| 3/3\n\n$ second\nprobe:  10%|# | 1/10\rprobe:  40%|## | 4/10"
    )
    assert run.progress == 0.4 and "10%" not in run.log().splitlines()[-1]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no groups of processes")
def test_a_command_whose_process_was_killed_is_still_at_work_until_it_is_cancelled(run, tmp_path):
    mark, sleep = (
        tmp_path / "pid",
        "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)",
    )
    script = (
        "import sys\n"
        "from probing.own_model import run as background\n"
        "from probing.own_model.run import Step\n"
        f"Step.words = ('-c', {sleep!r}, sys.argv[2])\n"
        "popen = background.subprocess.Popen\n"
        "background.subprocess.Popen = lambda words, **given: popen([words[0], *words[3:]], **given)\n"
        "background.carry_out(sys.argv[1], print)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, run.id, str(mark)], start_new_session=True)
    for _ in range(300):
        if mark.exists() and mark.read_text():
            break
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait(20)
    command = int(mark.read_text())
    os.kill(command, 0)
    assert background.find_run(run.id).status == "running"
    for refused in (background.start, background.forget, lambda run: background.carry_out(run.id, print)):
        with pytest.raises(JobError, match="at work"):
            refused(run)
    background.cancel(run)
    assert background.find_run(run.id).status == "cancelled"
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(command, 0)
            time.sleep(0.05)
    background.forget(run)
    assert not run.folder.exists()
