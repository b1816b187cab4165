"""What is installed: ranges that hold the app's versions, and a wheel that works outside a clone."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.planted_store import ONE_MODEL, plant_runs

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]


def ranges() -> dict[str, Requirement]:
    """Package -> what pyproject.toml allows, with the extras that `make setup` installs, too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return {one.name: one for one in map(Requirement, [*project["dependencies"], *extras["app"], *extras["train"]])}


def pins() -> dict[str, Requirement]:
    """Package -> what the app runs on."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return {one.name: one for one in (Requirement(line) for line in lines if line and not line.startswith("#"))}


def test_the_app_runs_on_the_packages_and_inside_the_ranges_that_are_declared():
    assert set(ranges()) == set(pins())
    for name, pinned in pins().items():
        (version,) = [one.version for one in pinned.specifier if one.operator in ("==", ">=")]
        assert ranges()[name].specifier.contains(version), name


def test_a_range_ends_before_the_next_major_version_and_begins_somewhere():
    for name, allowed in ranges().items():
        assert {one.operator for one in allowed.specifier} == {">=", "<"}, name


def test_torch_is_pinned_exactly_and_make_installs_the_pins():
    assert [one.operator for one in pins()["torch"].specifier] == ["=="]
    installs = [line for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines() if "pip install" in line]
    assert len(installs) == 4
    assert all("-r requirements.txt" in line or "--no-deps" in line for line in installs)


def test_a_notebook_needs_neither_streamlit_nor_accelerate_and_training_names_its_extra(tmp_path):
    code = """
import sys
sys.modules.update(streamlit=None, accelerate=None, peft=None)  # PEFT needs accelerate, too.
import probing
with probing.results(sys.argv[1]) as results:
    precision = results.report("facts", "precision")
    print(len(precision.table), len(precision.figure().data))
from probing.finetuning.trainer import require_accelerate
try:
    require_accelerate()
except probing.ProbingError as error:
    print(error)
"""
    command = [sys.executable, "-W", "ignore", "-c", code, str(plant_runs(tmp_path / "runs", ONE_MODEL))]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PROBING_CACHE": str(tmp_path / "cache")}
    )
    assert done.returncode == 0, done.stderr
    counted, error = done.stdout.strip().splitlines()
    assert all(int(number) > 0 for number in counted.split())
    assert "'bertnesia-explorer[train]'" in error and "accelerate" in error


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this tree, built without a network."""
    pytest.importorskip("setuptools", reason="setuptools builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    # A build leaves files in its tree.
    tree = folder / "tree"
    tree.mkdir()
    shutil.copytree(ROOT / "probing", tree / "probing", ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "docs").mkdir()
    for name in ("pyproject.toml", "docs/package.md", "LICENSE"):
        shutil.copyfile(ROOT / name, tree / name)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        str(tree),
    ]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode and "setuptools" in made.stderr and "BackendUnavailable" in made.stderr:
        pytest.skip(f"no setuptools to build a wheel with: {made.stderr.splitlines()[-1]}")
    assert made.returncode == 0, made.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Path:
    """A folder that holds the package as a wheel installs it."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


#: What a user without settings does with the installed package, by name. One process does all of it in this order:
#: those that load least come first.
ALONE = {
    "places": (
        "import probing; from probing.kernel.files import cache_folder; print(probing.__file__); print(cache_folder())"
    ),
    "help": "from probing.main import app; print(app.info.help)",
    "check": ("from probing.check import check; print({title: found for title, found in check(say=str) if found})"),
    "pages": "import probing.ui\ntry:\n    probing.ui.main()\nexcept SystemExit as error:\n    print(error)",
    "missing": (
        """
import probing
from probing.kernel.errors import ProbingError
for wanted in (lambda: probing.load("nesia-mini"), lambda: probing.load("nesia-mini-cola"), lambda: read("trex")):
    try:
        from probing.facts.sources import read_facts
        read = lambda name: read_facts(name, {})
        wanted()
    except ProbingError as error:
        print(error)
"""
    ),
    "own model": (
        """
import probing
model = probing.load("my-bert", head="logit_lens", device="cpu")
print(len(model.ask("Paris is in [MASK].", top=3).table))
row = {"subject": "Paris", "relation": "country", "object": "France", "prompt": "Paris is in [MASK]."}
found = model.probe([row], progress=False)
print(len(found.table), len(found.curve()), found.folder)
"""
    ),
}
#: The same with the clone and a cache named in settings.
WITH_SETTINGS = {
    "places": ALONE["places"],
    "help": ALONE["help"],
    "shipped model": (
        """
import probing
print(probing.load("nesia-mini", device="cpu").ask("Rocky Balboa was born in [MASK].", top=1).table["token"].iloc[-1])
"""
    ),
}
#: Runs the parts and prints, in JSON, what each prints and the traceback of one that fails.
_EACH = """
import contextlib, io, json, sys, traceback
found = {}
for name, code in json.loads(sys.argv[1]).items():
    printed, failed = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, {})
    except BaseException:
        failed = traceback.format_exc()
    found[name] = [printed.getvalue(), failed]
print(json.dumps(found))
"""


class Outside:
    """Code run with the installed package, outside the clone, by another process.

    Attributes:
        folder: its working folder, which is its user's home, too.
    """

    def __init__(self, parts: dict[str, str], installed: Path, folder: Path, **more: str):
        own = {name: value for name, value in os.environ.items() if not name.startswith("PROBING_")}
        here = own | {"PYTHONPATH": str(installed), "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "xdg")} | more
        command = [sys.executable, "-c", _EACH, json.dumps(parts)]
        run = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=here, check=False)
        assert run.returncode == 0, run.stderr
        self.folder = folder
        self._found = json.loads(run.stdout.splitlines()[-1])

    def __call__(self, name: str) -> str:
        """What a part printed."""
        printed, failed = self._found[name]
        assert not failed, failed
        return printed


@pytest.fixture(scope="module")
def alone(installed, tmp_path_factory) -> Outside:
    """A user without settings, who has a model."""
    from tests import tiny_models

    folder = tmp_path_factory.mktemp("alone")
    tiny_models.save("bert", folder / "my-bert")
    return Outside(ALONE, installed, folder)


@pytest.fixture(scope="module")
def with_settings(installed, tmp_path_factory) -> Outside:
    """A user who names the clone and a cache."""
    folder = tmp_path_factory.mktemp("with-settings")
    return Outside(WITH_SETTINGS, installed, folder, PROBING_REPOSITORY=str(ROOT), PROBING_CACHE=str(folder / "mine"))


def test_the_wheel_has_every_file_of_the_package_and_names_the_ranges(wheel):
    tracked = subprocess.run(
        ["git", "ls-files", "probing"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = [name for name in names if name.endswith("METADATA")]
        text = archive.read(metadata).decode()
    assert {one for one in tracked if (ROOT / one).exists()} <= names
    assert {Path(name).suffix for name in names} >= {".toml", ".js", ".css", ".svg", ".py", ".typed"}
    needed = [line.removeprefix("Requires-Dist: ") for line in text.splitlines() if line.startswith("Requires-Dist: ")]
    extras = [one for one in needed if one.endswith(('"app"', '"train"'))]
    assert {Requirement(one).name for one in needed if "extra ==" not in one} == set(ranges()) - {
        Requirement(one).name for one in extras
    }
    assert {Requirement(one).name for one in extras} == {"streamlit", "kaleido", "pillow", "accelerate"}


def test_a_build_leaves_nothing_that_git_would_add():
    for name in ("build/lib/probing/x.py", "dist/x.whl", "bertnesia_explorer.egg-info/PKG-INFO"):
        assert subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT, check=False).returncode == 0, name


def test_check_passes_without_the_repository_and_the_example_of_help_names_a_model_that_can_be_had(
    alone, with_settings
):
    assert alone("check").strip() == "{}"
    assert "--model bert-base-uncased" in alone("help")
    assert "--model" not in with_settings("help")


def test_an_installed_package_is_that_of_the_wheel_and_keeps_its_cache_in_the_users_folder(
    alone, with_settings, installed
):
    package, cache = alone("places").split()
    assert Path(package).is_relative_to(installed)
    assert Path(cache).is_relative_to(alone.folder) and "bertnesia-explorer" in cache
    assert with_settings("places").split()[1] == str(with_settings.folder / "mine")


def test_what_ships_with_the_repository_is_said_to_be_missing_and_where_to_get_it(alone):
    said = alone("missing").splitlines()
    assert [line.split(" ships with the repository")[0] for line in said] == [
        "nesia-mini",
        "nesia-mini-cola",
        "the set of facts trex",
    ]
    said.append(alone("pages"))
    assert all("clone the repository and set the environment variable PROBING_REPOSITORY" in line for line in said)
    assert "error: the dashboard ships" in said[-1] and said[-1].count("\n") == 1


def test_with_the_repository_named_the_installed_package_has_the_shipped_model(with_settings):
    assert with_settings("shipped model").strip() == "philadelphia"


def test_a_model_of_ones_own_is_asked_and_probed_with_the_installed_package_alone(alone):
    asked, probed = alone("own model").splitlines()
    assert asked == "12"
    assert probed == f"4 4 {alone.folder / 'xdg' / 'bertnesia-explorer' / 'runs'}"
