"""What the command line prints, says after Ctrl-C, and says of impossible words, names and values."""

import inspect
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from probing import main
from probing.kernel.commands import command
from probing.kernel.errors import HubError
from probing.kernel.files import cache_folder, snapshot_folder
from probing.kernel.report import as_csv
from probing.kernel.requests import ExecutorChoice, Who
from probing.sentences.requests import SentencesRequest
from probing.sharing.share import refuse_name

#: What a command is doing when Ctrl-C comes: DuckDB raises a ``RuntimeError``, other code its own errors.
BUSY = {
    "in the database": (
        "duckdb.sql('SELECT a.i, count(*) FROM many a JOIN many b ON a.j = b.j GROUP BY 1 ORDER BY 2').fetchall()"
    ),
    "in Python": "time.sleep(60)",
    "in code that replaces the error": (
        "try: time.sleep(60)\n    except BaseException: raise ProbingError('cannot go on')"
    ),
}


@pytest.mark.parametrize("work", BUSY.values(), ids=BUSY)
def test_ctrl_c_is_one_line_and_exit_code_130(work, repo_root):
    code = f"""
import os, signal, threading, time
from probing import main
from probing.kernel.errors import ProbingError
import duckdb

signal.signal(signal.SIGINT, signal.default_int_handler)
duckdb.sql("CREATE TABLE many AS SELECT i, i % 1000 AS j FROM range(3000000) t(i)")

def work() -> None:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    {work}

main.app = main._alone("work", work)
main.main()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=repo_root, timeout=50)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted; the same command goes on\n")


def test_no_character_of_a_file_steers_the_terminal(monkeypatch, capsys):
    hostile = "a\x1b[2J\x1b]0;owned\x07b\rc\u202ed\x9be"

    def app() -> None:
        print(f"naïve \u4e2d\t{hostile}\n")
        sys.stderr.write("\rbar 10%\x1b[A")
        raise HubError(f"is of {hostile}")

    monkeypatch.setattr(main, "app", app)
    with pytest.raises(SystemExit):
        main.main()
    printed = capsys.readouterr()
    harmless = r"a\u001b[2J\u001b]0;owned\u0007b\u000dc\u202ed\u009be"
    assert printed.out == f"naïve \u4e2d\t{harmless}\n\n"
    assert printed.err == f"\rbar 10%\x1b[Aerror: is of {harmless}\n"
    monkeypatch.setattr(main.sys, "stdout", None)
    monkeypatch.setattr(main, "app", lambda: print("nothing is shown where standard output is closed"))
    main.main()


@pytest.mark.parametrize(
    "name", ["a;rm b", "`b`", "$(b)", "a\nb", "../b", "/b", "-b", "", "a|b", "a'b", "a\x1b[2J", "a" * 300]
)
def test_a_shared_model_has_a_name_that_can_stand_in_a_command(name):
    with pytest.raises(HubError, match=r"got the model .* expected up to 200 letters") as refused:
        refuse_name(name)
    assert len(str(refused.value)) < 220 and "\x1b" not in str(refused.value)
    for honest in ("nesia-mini", "owner/bert", "my-run/step-500", "bert@1.0", "größe 2", "_x"):
        refuse_name(honest)


def test_a_spreadsheet_runs_no_cell_of_a_table():
    cells = ["=HYPERLINK(1)", "+1", "-1", "@a", "\ta", "\ra", "＝1", "a=1", ""]
    written = as_csv(pd.DataFrame({"subject": cells, "value": [-1.5, -2, 0, 1, 2, 3, 4, 5, 6], "rank": range(-4, 5)}))
    lines = written.split("\n")
    assert lines[1] == "'=HYPERLINK(1),-1.5,-4" and lines[3] == "'-1,0.0,-2" and "\n'＝1,4.0,2\na=1,5.0,3\n" in written
    assert written.count("'") == 7


def test_the_home_is_expanded_in_the_names_of_both_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PROBING_CACHE", "~")
    monkeypatch.setenv("PROBING_SNAPSHOT", "~/results")
    assert (cache_folder(), snapshot_folder()) == (tmp_path, tmp_path / "results")


def test_what_is_typed_reaches_the_request():
    given = []

    @command(SentencesRequest)
    def train(request: SentencesRequest, loud: bool = False) -> None:
        given.append((request, loud))

    alone = typer.Typer()
    alone.command()(train)
    words = "--model m --tasks a, b --portions 1,4 --readings own --no-codes --out here --loud"
    typed = ["--tasks=a, b" if word == "--tasks" else word for word in words.split() if word not in ("a,", "b")]
    assert CliRunner().invoke(alone, [*typed, "--executor", "ray", "--workers", "3"]).exit_code == 0
    executor = ExecutorChoice(Who.ray, 3)
    expected = SentencesRequest(
        "m", ("a", "b"), readings=("own",), portions=(1, 4), codes=False, out=Path("here"), executor=executor
    )
    assert given == [(expected, True)]
    assert list(inspect.signature(train).parameters)[-1] == "loud"
    found = CliRunner().invoke(alone, ["--model", "m", "--portions", "1,x"])
    assert found.exit_code == 2 and "got --portions 1,x; expected numbers separated by commas" in found.output
