"""A capability that one file declares, and one line registers, has everything that the built-in ones have.

``norms`` has one table of one number per layer, ``tallies`` a table per task, whose text is withheld, and a table per run.
"""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from streamlit.testing.v1 import AppTest

import probing
from probing.core.capabilities.registry import CAPABILITIES
from probing.core.errors import HubError, OptionError, StoreError
from probing.store.check import check_store
from probing.store.kinds import KINDS
from probing.store.parquet import read_table, write_table
from probing.workflows import stored_runs
from tests.capabilities import norms, tallies
from tests.models import tiny_models

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 250
TOYS = {"norms": norms, "tallies": tallies}
#: Toy -> the options of its command, the table of its numbers, its report, and its section of a page.
OPTIONS = {"norms": ("--words", "paris,rome"), "tallies": ("--tasks", "greetings,letters")}
NUMBERS = {"norms": "norm_values", "tallies": "tally_counts"}
COLUMN = {"norms": "value", "tallies": "n"}
SECTION = {"norms": "How long vectors are", "tallies": "Capital letters"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save("bert", tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(params=TOYS)
def toy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """A toy that is registered by one line, and a cache without results."""
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PROBING_SNAPSHOT", str(tmp_path / "snapshot"))
    found = TOYS[request.param]
    monkeypatch.setitem(CAPABILITIES, request.param, found.CAPABILITY)
    return found


@pytest.fixture
def name(toy: ModuleType) -> str:
    return toy.CAPABILITY.name


@pytest.fixture
def measured(run: Callable, name: str, model: Path, tmp_path: Path) -> Path:
    """The folder of the runs that its command made."""
    run(name, "measure", "--model", model, "--device", "cpu", *OPTIONS[name])
    return tmp_path / "cache" / "runs"


def bytes_of(folder: Path) -> dict[str, bytes]:
    """All files but the rows of runs, which have the time."""
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*.parquet")) if "_runs-" not in path.name}


def damage(name: str, path: Path) -> None:
    """Changes a number of a file, so that it breaks a rule."""
    rows = read_table(path, NUMBERS[name]).to_pylist()
    changed = rows[:-1] if name == "norms" else [row | {"n": row["n"] + 1} for row in rows]
    write_table(NUMBERS[name], changed, path)


def test_a_toy_is_declared_in_one_short_file(toy):
    lines = Path(str(toy.__file__)).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES


def test_it_is_built_checked_listed_and_documented(measured, name, run):
    assert check_store([measured], measured.parent / "database") == []
    with probing.results(measured) as results:
        assert set(results.runs["what"]) == {name} and len(results.runs) == len(KINDS[name].runs_in(results.database))
    assert KINDS[name].said({"task": "greetings", "layers": 4, "left_out": "{}", "base": None}) in run("runs").output
    printed = run("tables").output
    assert f"## {name.capitalize()}" in printed and f"### {NUMBERS[name]}" in printed
    assert name in run("--help").output and "measure" in run(name, "--help").output


def test_it_is_reported_in_every_format(measured, name, run):
    words = (name, "report")
    rows = json.loads(run(*words, "--json").stdout)
    found = list(csv.DictReader(io.StringIO(run(*words, "--csv").stdout)))
    assert len(rows) == len(found) and [float(row[COLUMN[name]]) for row in found] == [row[COLUMN[name]] for row in rows]
    assert len(run(*words).stdout.splitlines()) == 1 + len(rows)
    assert run(*words, "--latex").stdout.startswith(r"\begin{tabular}")
    assert json.loads(run(*words, "--model", "tiny", "--json").stdout) == rows
    assert "of the model 'other' are stored" in " ".join(run(*words, "--model", "other", code=2).output.split())


def test_it_is_called_from_a_notebook(measured, name, run):
    expected = json.loads(run(name, "report", "--json").stdout)
    with probing.results(measured) as results:
        method = getattr(results, name)
        assert method().to_dict("records") == method(model=["tiny"]).to_dict("records") == expected
        assert name in dir(results) and "Args:" in method.__doc__
        with pytest.raises(OptionError, match="expected a name or a list of names"):
            method(model=3)
        with pytest.raises(TypeError, match="base"):
            method(base="x")


def test_it_is_drawn_on_a_page(measured, name):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).switch_page("pages/12_What_fine_tuning_changed.py").run()
    assert not app.exception
    assert SECTION[name] in [one.value for one in app.header]


def test_it_is_pushed_and_pulled_and_refused_when_it_is_damaged(measured, name, run, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    licence = () if name == "norms" else ("--licence", "mine")
    run("push", CAPABILITIES[name].shared, "--model", "tiny", "--to-folder", shared, *licence)
    run("pull", "--from-folder", shared, "--out", tmp_path / "pulled")
    pulled, ours = bytes_of(tmp_path / "pulled"), bytes_of(measured)
    withheld = {"tally_sentences-letters.parquet"} & set(ours)
    assert pulled.keys() == ours.keys() and {file for file in ours if pulled[file] != ours[file]} == withheld
    for file in withheld:
        assert {row["text"] for row in read_table(tmp_path / "pulled" / file, "tally_sentences").to_pylist()} == {None}
    assert check_store([tmp_path / "pulled"]) == []

    (path, *_) = sorted(measured.rglob(f"{NUMBERS[name]}-*.parquet"))
    damage(name, path)
    (problem, *_) = check_store([measured])
    assert problem.startswith("run ") and KINDS[name].command in problem
    with pytest.raises(StoreError, match="cannot be shared"):
        run("push", CAPABILITIES[name].shared, "--model", "tiny", "--to-folder", tmp_path / "other", *licence)
    (path, *_) = sorted((shared / "data").glob(f"{NUMBERS[name]}-*.parquet"))
    damage(name, path)
    with pytest.raises(HubError, match="sha256"):
        run("pull", "--from-folder", shared, "--out", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_it_is_killed_and_resumed(toy, name, run, model, tmp_path, monkeypatch):
    words = (name, "measure", "--model", model, "--device", "cpu", *OPTIONS[name])
    with monkeypatch.context() as patch:
        real = stored_runs.RunFiles.write
        done: list[object] = []

        def dies(self, rows, encoder):
            if len(done) == len(OPTIONS[name][1].split(",")) - 1 or name == "norms":
                raise KeyboardInterrupt
            done.append(real(self, rows, encoder))

        patch.setattr(stored_runs.RunFiles, "write", dies)
        run(*words, code=130)
    runs = tmp_path / "cache" / "runs"
    before = {path: path.stat().st_mtime_ns for path in runs.rglob(f"{NUMBERS[name]}-*")}
    assert before and len(list(runs.rglob(f"{KINDS[name].runs[0]}-*"))) == len(done)
    run(*words)
    assert before.items() <= {path: path.stat().st_mtime_ns for path in runs.iterdir()}.items()
    assert len(list(runs.rglob(f"{KINDS[name].runs[0]}-*"))) == len(done) + 1 and check_store([runs]) == []
    assert "already" in run(*words).output
