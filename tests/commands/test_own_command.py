"""A user's own model from the first command to the report: in the background, cancelled, resumed, and by command."""

import time

import pytest

from probing.core.errors import FactsError, StoreError
from probing.core.own_model import background
from probing.core.own_model.wish import Wish
from probing.store.parquet import read_table
from tests.commands.test_own_models import own as own

#: Seconds that two commands, one of which starts Python with torch, may take on a machine that is busy with other
#: tests.
_LIMIT = 900


def wait_for(condition):
    limit = time.monotonic() + _LIMIT
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.2)


def test_a_run_goes_on_in_the_background_is_cancelled_resumed_and_reported(
    run, cache, own, tiny_model, facts_file, tmp_path
):
    wish = Wish(model=str(tiny_model), facts=str(facts_file), called="capitals")
    started = background.prepare(wish, facts_file.read_bytes(), ".jsonl")
    background.start(started)
    wait_for(lambda: "$ python -m probing probe" in started.log())
    assert background.find_run(started.id).status == "running"
    background.cancel(started)
    cancelled = background.find_run(started.id)
    assert cancelled.status == "cancelled" and not started.running
    background.start(cancelled)
    wait_for(lambda: not started.running)
    done = background.find_run(started.id)
    assert done.status == "done", done.log()
    assert len(done.state.seconds) == len(done.state.wish.steps) == 1
    # The commands of a base and of a model are the same; this one need not start Python again.
    run(
        "probe",
        "--model",
        own("mine", 0.2),
        "--base",
        tiny_model,
        "--facts",
        facts_file,
        "--as",
        "capitals",
        "--head",
        "logit_lens",
    )
    rows = {
        row["model"]: row
        for path in (cache / "runs").glob("runs-*.parquet")
        for row in read_table(path, "runs").to_pylist()
    }
    assert set(rows) == {"tiny-bert", "mine"} and rows["mine"]["base"] == "tiny-bert"
    assert {(row["head"], row["probe_set"], row["n_probed"]) for row in rows.values()} == {
        ("logit_lens", "capitals", 4)
    }
    out = tmp_path / "report.html"
    run("own-report", "--model", "mine", "--facts", "capitals", "--out", out)
    text = out.read_text()
    assert "tiny-bert and mine were asked 4 facts of capitals" in text and "These are 4 facts, fewer than 50" in text
    with pytest.raises(StoreError, match="mine was not probed on others; stored is mine on capitals"):
        run("own-report", "--model", "mine", "--facts", "others", "--out", out)


def test_the_command_prints_what_it_would_do_and_reads_the_facts_first(
    run, cache, own, facts_file, tmp_path, monkeypatch
):
    monkeypatch.chdir(own("mine").parent)
    shown = run(
        "own", "--model", "./mine", "--base", "bert-base-uncased", "--facts", facts_file, "--as", "capitals", "--plan"
    ).output
    lines = shown.strip().splitlines()
    assert [line.split()[3] for line in lines] == ["probe", "probe"] and "--as capitals" in lines[0]
    assert f"--model {tmp_path / 'mine'} --base bert-base-uncased" in lines[1], (
        "the commands work in another folder, too"
    )
    with pytest.raises(FactsError, match=r"cannot read .*absent\.csv"):
        run("own", "--model", "m", "--facts", tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "m"), "expected --model and --facts"),
        (("--resume", "0" * 12, "--model", "m"), "got --resume with --model"),
        (("--model", "m", "--facts", "f.csv", "--recover"), "got --recover without --base"),
    ],
)
def test_options_that_do_not_go_together_are_refused(cache, words, message):
    from typer.testing import CliRunner

    from probing.commands.main import app

    found = CliRunner().invoke(app, ["own", *words])
    assert found.exit_code == 2 and message in " ".join(found.output.replace("│", " ").split())
