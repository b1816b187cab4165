"""Every feature is documented, and every documented file, link and command exists."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from probing.kernel.registry import read_registry
from probing.main import COMMANDS, MAKERS
from probing.main import command as loaded
from tests import written_docs

ROOT = Path(__file__).resolve().parents[1]
PROSE = (
    [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    + sorted((ROOT / "docs").rglob("*.md"))
    + sorted((ROOT / "data").rglob("*.md"))
)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_for_every_option(name, run):
    shown = run(name, "--help").output
    assert len(loaded(name).help or "") > 20
    assert "Options" in shown


def test_every_data_set_and_model_has_a_licence_and_every_file_an_address():
    registry = read_registry()
    for entry in [*registry.models, *registry.data]:
        assert entry.licence
    for entry in registry.data:
        assert entry.url or entry.made or all(file.url for file in entry.files)


def test_links_and_commands_in_the_prose_exist():
    for path in PROSE:
        text = path.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            if "://" not in link:
                assert (path.parent / link).exists(), f"{path}: {link}"
        for command in re.findall(r"python -m probing ([a-z][a-z-]*)", text):
            assert command in {**COMMANDS, **MAKERS}, f"{path}: {command}"


@pytest.mark.parametrize(
    "path", [path for path in PROSE if path.name != "CHANGELOG.md"], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_files_named_in_the_prose_exist(path):
    named = set(re.findall(r"`((?:probing|tests|pages|docs)/[\w./-]*)`", path.read_text(encoding="utf-8")))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_table_of_architectures_is_what_tiny_models_of_them_show():
    text = written_docs.DOCS.read_text(encoding="utf-8")
    assert written_docs.HEADER in text and written_docs.with_architectures(text) == text, "make docs writes it again"


def test_the_prose_speaks_of_the_project_only():
    for path in [*PROSE, *ROOT.glob("probing/**/*.py"), *ROOT.glob("pages/*.py"), ROOT / "app.py"]:
        text = path.read_text(encoding="utf-8")
        for word in ("/work/", "../shared", "session's", "TODO", "FIXME"):
            assert word not in text, f"{path}: {word}"


def test_make_clean_keeps_what_a_user_made_or_fetched(tmp_path, repo_root):
    shutil.copyfile(repo_root / "Makefile", tmp_path / "Makefile")
    text = (repo_root / "cache" / "README.md").read_text(encoding="utf-8")
    yours, again = text.split("**Made again")
    kept = [
        name for row in re.findall(r"^\| (`.*?`) \|", yours, re.MULTILINE) for name in re.findall(r"`([\w-]+)/`", row)
    ]
    gone = [
        name for row in re.findall(r"^\| (`.*?`) \|", again, re.MULTILINE) for name in re.findall(r"`([\w-]+)/`", row)
    ]
    assert {"models", "heads", "runs", "downloads"} <= set(kept) and {"states", "shards", "locks"} <= set(gone)
    for name in [*kept, *gone]:
        (tmp_path / "cache" / name / "inside").mkdir(parents=True)
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == sorted(kept)
