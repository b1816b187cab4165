"""Imports point one way, and each heavy library lives in one room."""

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "probing"

#: room -> rooms that it may import.
ALLOWED = {
    "core": set(),
    "models": {"core"},
    "store": {"core"},
    "figures": {"core"},
    "reports": {"core", "store"},
    "jobs": {"core"},
    "ui": {"core", "models", "store", "figures", "reports"},
    "workflows": {"core", "models", "store", "reports", "jobs"},
    "api": {"core", "models", "store", "figures", "reports", "jobs", "workflows"},
    "commands": {"core", "models", "store", "figures", "reports", "jobs", "workflows"},
}
#: library -> rooms that may import it.
HEAVY = {
    "torch": {"models"},
    "transformers": {"models"},
    "duckdb": {"store"},
    "plotly": {"figures", "ui"},
    "streamlit": {"ui"},
    "typer": {"commands"},
    "ray": {"jobs"},
}
#: Libraries that the list of commands is shown without.
NOT_FOR_HELP = ("torch", "transformers", "streamlit", "duckdb", "plotly", "pandas")

#: Modules of the standard library, and flags of ``os.open``, that tell a Unix from other systems.
UNIX_MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty")
FLAGS_OF_WINDOWS = ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_APPEND", "O_CREAT", "O_EXCL", "O_TRUNC")

#: Folder, or file -> the most lines of Python that it may have. A number may fall in any commit, and rises only with
#: its reason in the commit's message.
MOST_LINES = {
    "app.py": 184,
    "data/making": 2368,
    "pages": 2939,
    "probing": 111,
    "probing/api": 3281,
    "probing/commands": 1403,
    "probing/core": 13_919,
    "probing/figures": 6476,
    "probing/jobs": 603,
    "probing/models": 11_692,
    "probing/reports": 8687,
    "probing/store": 5804,
    "probing/ui": 8680,
    "probing/workflows": 8430,
    "tests": 45_688,
}


@cache
def text_of(path: Path) -> str:
    """A file, read once."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """A file, parsed once."""
    return ast.parse(text_of(path))


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """The trees of all files take more memory than the tests that follow should have to spare."""
    yield
    tree_of.cache_clear()


@cache
def imported(path: Path) -> frozenset[str]:
    """Every module that a file imports, at the top or inside functions."""
    return frozenset(_names(ast.walk(tree_of(path))))


def _names(nodes) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def ours(path: Path) -> list[Path]:
    """The files of the package that a file imports, below ``probing/``."""
    places = (
        PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py")
        for name in imported(path)
        if name.startswith("probing.")
    )
    return sorted({place.relative_to(PACKAGE) for place in places if place.is_file()})


@cache
def files(room: str = ".") -> list[Path]:
    """Files of a room, below ``probing/``."""
    return sorted(path.relative_to(PACKAGE) for path in (PACKAGE / room).rglob("*.py"))


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_the_rooms_below_it(room):
    for path in files(room):
        rooms = {place.parts[0] for place in ours(PACKAGE / path) if len(place.parts) > 1}
        assert rooms <= ALLOWED[room] | {room}, f"{path} imports {sorted(rooms)}"


def test_what_makes_the_shipped_data_uses_the_package_and_is_not_used_by_it():
    for path in files():
        assert not {name for name in imported(PACKAGE / path) if name.split(".")[0] == "data"}, path
    making = ROOT / "data" / "making"
    for path in making.rglob("*.py"):
        rooms = {place.parts[0] for place in ours(path) if len(place.parts) > 1}
        assert not rooms & {"ui", "api", "figures", "commands"}, f"{path} imports {sorted(rooms)}"


def test_every_room_has_its_place_in_the_order():
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(ALLOWED)


@pytest.mark.parametrize("room", ALLOWED)
def test_folders_of_a_room_do_not_import_each_other_in_a_circle(room):
    below_it: dict[str, set[str]] = {}
    for path in files(room):
        if len(path.parts) > 2:
            others = {
                place.parts[1] for place in ours(PACKAGE / path) if place.parts[0] == room and len(place.parts) > 2
            }
            below_it.setdefault(path.parts[1], set()).update(others - {path.parts[1]})
    try:
        list(TopologicalSorter(below_it).static_order())
    except CycleError as error:
        pytest.fail(f"{room}: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("library", HEAVY)
def test_a_heavy_library_stays_in_its_room(library):
    for path in files():
        if library in {name.split(".")[0] for name in imported(PACKAGE / path)}:
            assert path.parts[0] in HEAVY[library], f"{path} imports {library}"


def test_the_package_does_without_tests_and_the_options_of_every_command_without_pages_clusters_and_torch():
    for path in [*PACKAGE.rglob("*.py"), ROOT / "app.py", *(ROOT / "pages").glob("*.py")]:
        assert "tests" not in {name.split(".")[0] for name in imported(path)}, path
    code = (
        "import sys; from probing.main import COMMANDS, command; [command(name) for name in COMMANDS]; "
        "print([name for name in sys.modules if name in ('streamlit', 'ray', 'torch', 'transformers')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip().splitlines()[-1] == "[]"


#: What the list of commands is asked.
WORDS = (["--help"], ["--version"], ["runs", "--help"])


@pytest.fixture(scope="module")
def answered() -> dict[str, tuple[str, int, list[str]]]:
    """Words -> what the program prints for them, its exit code, and which heavy libraries are loaded by then, in one
    process.
    """
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


#: Rooms that are imported where there is no Unix; one that imports others comes after them.
WITHOUT_UNIX = ("core", "jobs", "store", "figures", "reports", "commands")


@pytest.fixture(scope="module")
def failed_imports() -> dict[str, list[str]]:
    """Room -> errors of its modules, in a process without ``fcntl`` and its like and without the flags that Windows has
    not.
    """
    rooms = {
        room: [".".join(("probing", *path.with_suffix("").parts)).removesuffix(".__init__") for path in files(room)]
        for room in WITHOUT_UNIX
    }
    code = (
        f"import json, os, sys, traceback\nsys.modules.update(dict.fromkeys({UNIX_MODULES!r}))\n"
        f"[delattr(os, name) for name in dir(os) if name.startswith('O_') and name not in {FLAGS_OF_WINDOWS!r}]\n"
        f"from importlib import import_module\nfound = dict.fromkeys({WITHOUT_UNIX!r}, ())\n"
        f"for room, modules in {rooms!r}.items():\n"
        "    for module in modules:\n"
        "        try:\n            import_module(module)\n"
        "        except BaseException:\n            found[room] = [*found[room], traceback.format_exc()]\n"
        "print(json.dumps(found))"
    )
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("room", WITHOUT_UNIX)
def test_a_room_is_imported_where_there_is_no_unix(failed_imports, room):
    assert failed_imports[room] == []


def test_pages_compute_nothing_that_needs_a_model_or_a_workflow():
    for path in [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]:
        names = {name for name in imported(path) if name.startswith("probing.")}
        assert all(name.split(".")[1] in {"ui", "figures", "reports", "store", "core"} for name in names), (
            f"{path} imports {sorted(names)}"
        )
        assert not {"torch", "transformers", "duckdb", "typer"} & {name.split(".")[0] for name in imported(path)}


def test_imports_name_files_so_that_the_rules_above_see_them():
    for path in files():
        tree = tree_of(PACKAGE / path)
        assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level], (
            f"{path} imports relatively"
        )
        if path.name == "__init__.py" and str(path) not in ("__init__.py", "ui/__init__.py"):
            assert all(isinstance(node, ast.Expr) for node in tree.body), (
                f"{path} holds code: give it a file of its own"
            )


def test_sql_stands_in_the_store_only():
    for path in files():
        if path.parts[0] != "store":
            assert "SELECT " not in text_of(PACKAGE / path), f"{path} holds SQL"


def test_the_command_line_and_the_results_do_not_load_torch():
    loaded = "probing.main, probing.kernel.app.frame, probing.facts.figures"
    code = f"import sys, {loaded}; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip().splitlines()[-1] == "False"


def tracked(*names: str) -> list[Path]:
    """The files that git knows below these places, as they lie in this checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *names], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    return [ROOT / name for name in listed if name and (ROOT / name).is_file()]


def test_no_folder_grows_unless_its_number_is_raised_with_a_reason():
    counted = Counter()
    for path in tracked("probing", "pages", "app.py", "tests", "data/making"):
        place = path.relative_to(ROOT)
        if path.suffix == ".py" and (
            part := next((one for one in (place, *place.parents) if str(one) in MOST_LINES), None)
        ):
            counted[str(part)] += len(path.read_text(encoding="utf-8").splitlines())
    for folder, most in MOST_LINES.items():
        assert counted[folder] <= most, (
            f"{folder} has {counted[folder]} lines, and may have {most}: delete something, or raise its number in"
            " MOST_LINES and give the reason in the commit's message"
        )
    rooms = {str(path.relative_to(ROOT)) for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(MOST_LINES), "every room has its number"


def test_a_checkout_is_within_the_budget():
    found = tracked()
    assert len(found) > 500
    assert sum(path.stat().st_size for path in found) < 110_000_000
    assert not [path for path in found if path.suffix == ".duckdb"]
