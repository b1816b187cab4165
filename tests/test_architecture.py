"""A folder is a subject: their order, where each heavy library lives, and how many lines each folder has."""

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "probing"

#: Files without a page that import the pages' frame: the choices of all pages, the server, and ``probing.page_figure``.
OF_PAGES = ("choices.py", "ui.py", "__init__.py")
#: library -> the files that may import it, below ``probing/``.
HEAVY = {
    "torch": "kernel/models/* heads/* finetuning/* */ask.py */states.py edges/training.py edges/probes.py"
    " facts/candidates.py facts/carried.py live/swap.py changes/passes.py changes/perplexity.py forgetting/ranks.py"
    " forgetting/ways_back.py forgetting/callback.py sentences/mlp.py sentences/predictions.py sentences/solver.py"
    " sentences/vectors.py",
    "transformers": "kernel/models/* heads/recipe.py finetuning/* */ask.py */states.py facts/askable.py"
    " changes/measure.py changes/passes.py changes/perplexity.py forgetting/callback.py",
    "duckdb": "kernel/store/* facts/counts.py",
    "plotly": "*figures* kernel/app/* */page_*",
    "streamlit": "kernel/app/* */page_* ui.py",
    "typer": "*commands.py main.py",
    "ray": "kernel/jobs/ray.py",
}
#: Libraries that the list of commands is shown without.
NOT_FOR_HELP = ("torch", "transformers", "streamlit", "duckdb", "plotly", "pandas")
#: Modules of the standard library, and flags of ``os.open``, that tell a Unix from other systems.
UNIX_MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty")
FLAGS_OF_WINDOWS = ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_APPEND", "O_CREAT", "O_EXCL", "O_TRUNC")

#: Folder, or file -> its lines of Python; it may have 2 % more. A number may fall in any commit, and rises only
#: with its reason in the commit's message.
MOST_LINES = {
    "app.py": 174,
    "data/making": 3284,
    "pages": 3067,
    "probing": 2134,
    "probing/api": 2316,
    "probing/changes": 2727,
    "probing/compared": 1430,
    "probing/edges": 8106,
    "probing/facts": 10_298,
    "probing/finetuning": 3015,
    "probing/forgetting": 6106,
    "probing/heads": 2124,
    "probing/kernel": 16_758,
    "probing/live": 3825,
    "probing/own_model": 2802,
    "probing/papers": 3338,
    "probing/sentences": 5493,
    "probing/sharing": 1136,
    "tests": 50_529,
}


@cache
def tree_of(path: Path) -> ast.Module:
    """A file, parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """The trees of all files take more memory than the tests that follow should have to spare."""
    yield
    tree_of.cache_clear()


@cache
def imported(path: Path, when_loaded: bool = False) -> frozenset[str]:
    """Every module that a file imports, or only those that are imported with it."""
    return frozenset(_names(tree_of(path).body if when_loaded else ast.walk(tree_of(path))))


def _names(nodes) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def ours(path: Path, when_loaded: bool = False) -> list[str]:
    """The files of the package that a file imports, below ``probing/``."""
    names = (name.split(".")[1:] for name in imported(path, when_loaded) if name.startswith("probing."))
    places = (PACKAGE.joinpath(*parts).with_suffix(".py") for parts in names)
    return sorted({str(place.relative_to(PACKAGE)) for place in places if place.is_file()})


@cache
def files() -> list[Path]:
    """The files of the package."""
    return sorted(PACKAGE.rglob("*.py"))


@cache
def loaded_with(path: Path) -> frozenset[str]:
    """The libraries that are imported with a file and with those of ours that it imports."""
    own = {name.split(".")[0] for name in imported(path, when_loaded=True)}
    return frozenset(own.union(*(loaded_with(PACKAGE / other) for other in ours(path, when_loaded=True))))


def within(path: Path) -> str:
    """A file below ``probing/``."""
    return str(path.relative_to(PACKAGE))


def part(path: str) -> str:
    """The folder of a file below ``probing/``: a subject, the kernel or the api; a file above them is its own part."""
    return path.split("/")[0]


def test_subjects_have_an_order_and_the_kernel_comes_first():
    found: dict[str, set[str]] = {}
    for path in files():
        # Tabs read what can be chosen on their page, which is declared above the subjects.
        others = {part(other) for other in ours(path) if not (path.stem.startswith("page_") and other == "choices.py")}
        found.setdefault(part(within(path)), set()).update(others - {part(within(path))})
    assert not found["kernel"]
    try:
        list(TopologicalSorter(found).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_numbers_know_no_page():
    for path in files():
        if path.parent.name != "app" and not path.stem.startswith("page_") and within(path) not in OF_PAGES:
            pages = [other for other in ours(path) if "/page_" in other or other.startswith("kernel/app/")]
            assert not pages, f"{within(path)} imports {pages}"


def test_files_do_not_import_each_other_in_a_circle():
    try:
        list(TopologicalSorter({within(path): ours(path, when_loaded=True) for path in files()}).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_what_makes_the_shipped_data_uses_the_package_and_is_not_used_by_it():
    for path in files():
        assert not {name for name in imported(path) if name.split(".")[0] in ("data", "tests")}, path


@pytest.mark.parametrize("library", HEAVY)
def test_a_heavy_library_is_imported_where_it_belongs(library):
    for path in files():
        if library in {name.split(".")[0] for name in imported(path)}:
            assert any(fnmatch(within(path), place) for place in HEAVY[library].split()), (
                f"{within(path)} imports {library}"
            )


def test_sql_stands_where_results_are_read():
    for path in files():
        if "SELECT " in path.read_text(encoding="utf-8"):
            assert (
                path.match("kernel/store/*.py") or path.stem in ("kind", "counts") or path.stem.startswith("store")
            ), path


def test_pages_compute_nothing_that_needs_a_model():
    for path in [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]:
        assert not {"torch", "transformers", "duckdb", "typer"} & {name.split(".")[0] for name in imported(path)}, path


def test_imports_name_files_so_that_the_rules_above_see_them():
    for path in files():
        tree = tree_of(path)
        relative = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
        assert not relative, f"{within(path)} imports relatively"


def test_options_of_every_command_are_known_without_pages_clusters_and_torch():
    code = (
        "import sys; from probing.main import COMMANDS, command; [command(name) for name in COMMANDS]; "
        "print([name for name in sys.modules if name in ('streamlit', 'ray', 'torch', 'transformers')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip().splitlines()[-1] == "[]"


def test_numbers_and_figures_do_not_load_torch():
    code = "import sys, probing.kernel.app.frame, probing.facts.figures, probing.choices; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip().splitlines()[-1] == "False"


def test_what_outlives_the_program_holds_no_heavy_library():
    assert not loaded_with(PACKAGE / "kernel" / "text.py") & set(HEAVY)


#: What the list of commands is asked.
WORDS = (["--help"], ["--version"], ["runs", "--help"])


@pytest.fixture(scope="module")
def answered() -> dict[str, tuple[str, int, list[str]]]:
    """Words -> what the program prints for them, its exit code, and which heavy libraries are loaded by then."""
    code = (
        "import contextlib, io, json, runpy, sys\nfound = {}\n"
        f"for words in {WORDS!r}:\n"
        "    sys.argv, printed, code = ['probing', *words], io.StringIO(), 0\n"
        "    with contextlib.redirect_stdout(printed):\n"
        "        try:\n"
        "            runpy.run_module('probing', run_name='__main__')\n"
        "        except SystemExit as ended:\n"
        "            code = ended.code or 0\n"
        f"    found[' '.join(words)] = printed.getvalue(), code, sorted(set(sys.modules) & {set(NOT_FOR_HELP)!r})\n"
        "print(json.dumps(found))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("words", map(" ".join, WORDS))
def test_help_loads_no_heavy_library(answered, words):
    shown, code, loaded = answered[words]
    assert shown.strip() and (code, loaded) == (0, [])


def test_what_needs_no_page_and_no_torch_is_imported_where_there_is_no_unix():
    free = [path for path in files() if not loaded_with(path) & {"torch", "transformers", "streamlit", "ray"}]
    assert len(free) > 100
    modules = [".".join(("probing", *path.relative_to(PACKAGE).with_suffix("").parts)) for path in free]
    names = [name.removesuffix(".__init__") for name in modules if not name.endswith("__main__")]
    code = (
        f"import os, sys, traceback\nsys.modules.update(dict.fromkeys({UNIX_MODULES!r}))\n"
        f"[delattr(os, name) for name in dir(os) if name.startswith('O_') and name not in {FLAGS_OF_WINDOWS!r}]\n"
        f"from importlib import import_module\nfor name in {names!r}:\n"
        "    try:\n        import_module(name)\n"
        "    except BaseException:\n        print('FAILED', name, traceback.format_exc())\n"
    )
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0 and "FAILED" not in run.stdout, run.stdout + run.stderr


def tracked(*names: str) -> list[Path]:
    """The files that git knows below these places, as they lie in this checkout."""
    listed = subprocess.run(["git", "ls-files", "-z", *names], cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_folder_grows_unless_its_number_is_raised_with_a_reason():
    counted = Counter()
    for path in tracked("probing", "pages", "app.py", "tests", "data/making"):
        place = path.relative_to(ROOT)
        part = next((part for part in (place, *place.parents) if str(part) in MOST_LINES), None)
        if path.suffix == ".py" and part:
            counted[str(part)] += len(path.read_text(encoding="utf-8").splitlines())
    for folder, most in MOST_LINES.items():
        assert counted[folder] <= 1.02 * most, (
            f"{folder} has {counted[folder]} lines, and may have {most}: delete something, or raise its number in"
            " MOST_LINES and give the reason in the commit's message"
        )
    folders = {
        str(path.relative_to(ROOT)) for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert folders <= set(MOST_LINES), "every folder has its number"
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in files()) <= 800


def test_a_checkout_is_within_the_budget():
    found = tracked()
    assert len(found) > 500
    assert sum(path.stat().st_size for path in found) < 112_000_000
    assert not [path for path in found if path.suffix == ".duckdb"]
