"""What a host reads: the workflow and the forms of ``.github``, the addresses of the project, and the Dockerfile."""

import os
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from huggingface_hub import constants
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from streamlit import config

from probing.kernel.registry import published_at, where_data_are
from probing.main import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Instruction and its arguments, one per line of the Dockerfile.
DOCKER = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()
    if line and not line.startswith("#")
]


def given(instruction: str) -> list[str]:
    return [rest for name, rest in DOCKER if name == instruction]


def read(name: str) -> dict:
    return yaml.safe_load((ROOT / ".github" / name).read_text(encoding="utf-8"))


def test_the_workflow_runs_what_contributors_run_on_the_oldest_and_the_newest_python():
    workflow = read("workflows/ci.yml")
    assert workflow["permissions"] == {"contents": "read"} and workflow["concurrency"]["cancel-in-progress"]
    checks, ranges = workflow["jobs"]["checks"], workflow["jobs"]["ranges"]["strategy"]["matrix"]["include"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    ends = [versions[0], versions[-1]]
    assert checks["strategy"]["matrix"]["python"] == ends
    assert [(one["resolution"], one["python"]) for one in ranges] == list(
        zip(["lowest-direct", "highest"], ends, strict=True)
    )
    assert ".ci/run" in [step.get("run") for step in checks["steps"]]
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", name) for name in used)
    for extra in re.findall(r'"\.\[(.*)\]"', str(workflow))[0].split(","):
        assert extra in PROJECT["optional-dependencies"]


def test_a_tag_is_published_without_a_password_after_the_checks_and_the_trial_of_its_wheel():
    workflow = read("workflows/release.yml")
    jobs = workflow["jobs"]
    # YAML reads the key "on" as true.
    assert workflow[True] == {"push": {"tags": ["v*"]}} and workflow["permissions"] == {"contents": "read"}
    assert jobs["ci"] == {"uses": "./.github/workflows/ci.yml"} and "workflow_call" in read("workflows/ci.yml")[True]
    assert jobs["publish"]["needs"] == ["ci", "build"] and jobs["announce"]["needs"] == "publish"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    steps = [step for job in jobs.values() for step in job.get("steps", ())]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", step["uses"]) for step in steps if "uses" in step)
    commands = re.findall(r"\.ci/\w+", " ".join(step.get("run", "") for step in steps))
    assert set(commands) == {".ci/release", ".ci/notes"} and all(os.access(ROOT / name, os.X_OK) for name in commands)
    tried = re.findall(r"bin/probing (\w+)", (ROOT / ".ci" / "release").read_text(encoding="utf-8"))
    assert tried and set(tried) <= set(COMMANDS)


@pytest.mark.parametrize("name", ["", "probing/kernel/version.py", "CITATION.cff", "CHANGELOG.md"])
def test_the_notes_of_a_release_are_its_part_of_the_changelog_if_all_name_the_tag(tmp_path, name):
    files = {
        ".ci/notes": (ROOT / ".ci" / "notes").read_text(encoding="utf-8"),
        "probing/kernel/version.py": '"""The version."""\n\n__version__ = "1.2.0"\n',
        "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.0\ndate-released: 2026-12-24\n",
        "CHANGELOG.md": "# Changelog\n\n## 1.2.0 (2026-12-24)\n\nNew.\n\n## 1.1.0 (2026-11-28)\n\nOld.\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text.replace("1.2.0", "1.1.9") if path == name else text)
    done = subprocess.run(["bash", tmp_path / ".ci" / "notes", "v1.2.0"], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == (("", 1) if name else ("New.", 0))
    assert done.stderr.startswith(f"{name} says 1.1.9" if name else "")


def test_the_project_names_its_address_in_one_place_or_nowhere(tmp_path, monkeypatch):
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited.get("repository-code", "") == PROJECT["urls"].get("Source", "")
    (tmp_path / "bertnesia_explorer-1.dist-info").mkdir()
    (tmp_path / "bertnesia_explorer-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: bertnesia-explorer\nVersion: 1\nProject-URL: Source, https://example.org/clone\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert published_at() == "https://example.org/clone"
    assert "clone the repository https://example.org/clone and set" in where_data_are("trex")


def test_the_image_has_a_python_that_the_project_supports_and_the_pinned_packages():
    (image,) = given("FROM")
    assert SpecifierSet(PROJECT["requires-python"]).contains(image.removeprefix("python:").removesuffix("-slim"))
    copied = [source for line in given("COPY") for source in line.split()[:-1]]
    installs = [line for line in given("RUN") if "pip install" in line]
    assert installs and all(name in copied for line in installs for name in re.findall(r"[\w-]+\.txt", line))
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert [Requirement(line).name for line in pins if re.match("torch==", line)] == ["torch"]


def test_what_the_image_copies_is_tracked_and_not_ignored():
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for source in (name for line in given("COPY") for name in line.split()[:-1]):
        tracked = subprocess.run(["git", "ls-files", source], cwd=ROOT, capture_output=True, text=True, check=True)
        assert tracked.stdout, source
        ignored = [not rule.startswith("!") for rule in rules if fnmatch(source, rule.removeprefix("!"))]
        assert not ignored[-1], source


def test_the_image_runs_as_a_user_that_it_makes_with_variables_that_are_read():
    (user,) = given("USER")
    assert any(re.search(rf"useradd .*\b{user}$", line) for line in given("RUN"))
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "probing").rglob("*.py"))
    for name in re.findall(r"(\w+)=", " ".join(given("ENV"))):
        assert f'"{name}"' in code or hasattr(constants, name), name


def test_the_image_lists_no_commands_whose_code_it_leaves_out(tmp_path):
    (tmp_path / "data" / "facts").mkdir(parents=True)
    for place, listed in ((tmp_path, False), (ROOT, True)):
        words, environment = [sys.executable, "-m", "probing", "--help"], {"PROBING_REPOSITORY": str(place)}
        shown = subprocess.check_output(words, env={**os.environ, **environment}, cwd=ROOT, text=True)
        assert ("model-card" in shown) == listed


def test_the_image_starts_a_module_with_options_that_streamlit_has_on_the_port_that_it_asks():
    (start,) = given("CMD")
    assert find_spec(re.findall(r"python -m ([\w.]+)", start)[0])
    options = dict(re.findall(r"--([\w.]+) (\S+)", start))
    assert options["server.address"] == "0.0.0.0"
    for name in options:
        config.get_option(name)
    (port,), (health,) = given("EXPOSE"), given("HEALTHCHECK")
    assert options["server.port"] == port and f"localhost:{port}/_stcore/health" in health
