"""Imports point one way, and each heavy library lives in one room."""

import ast
import subprocess
import sys
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
    "bench": {"core", "models", "store", "figures", "reports", "ui"},
    "commands": {"core", "models", "store", "figures", "reports", "jobs", "bench"},
}
#: library -> rooms that may import it.
HEAVY = {
    "torch": {"models", "bench", "commands"},
    "transformers": {"models", "bench", "commands"},
    "duckdb": {"store", "bench"},
    "plotly": {"figures", "ui"},
    "streamlit": {"ui", "bench"},
    "typer": {"commands"},
    "ray": {"jobs"},
    "submitit": {"jobs"},
}


def imported(path: Path) -> set[str]:
    """Every module that a file imports, at the top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def modules(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py"))


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_the_rooms_below_it(room):
    for path in modules(room):
        rooms = {name.split(".")[1] for name in imported(path) if name.startswith("probing.") and (PACKAGE / name.split(".")[1]).is_dir()}
        assert rooms <= ALLOWED[room] | {room}, f"{path} imports {sorted(rooms)}"


@pytest.mark.parametrize("library", HEAVY)
def test_a_heavy_library_stays_in_its_room(library):
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        if library in {name.split(".")[0] for name in imported(path)}:
            assert room in HEAVY[library], f"{path} imports {library}"


def test_measuring_is_reached_through_its_command_only_and_not_before_it_runs():
    for path in [*PACKAGE.rglob("*.py"), ROOT / "app.py", *(ROOT / "pages").glob("*.py")]:
        if "bench" not in path.relative_to(ROOT).parts:
            ours = {name for name in imported(path) if name == "tests.speed" or name.startswith("tests.speed.")}
            assert not ours or path == PACKAGE / "commands" / "bench.py", f"{path} imports {sorted(ours)}"
    code = "import sys, probing.commands.main; print([name for name in sys.modules if name in ('streamlit', 'ray', 'tests.speed')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip().splitlines()[-1] == "[]"


def test_pages_import_only_streamlit_ui_and_figures():
    for path in [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]:
        ours = {name for name in imported(path) if name.startswith("probing.")}
        assert all(name.split(".")[1] in {"ui", "figures", "core"} for name in ours), f"{path} imports {sorted(ours)}"
        assert not {"torch", "transformers", "duckdb", "typer"} & {name.split(".")[0] for name in imported(path)}


def test_sql_stands_in_the_store_only():
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] != "store":
            text = path.read_text(encoding="utf-8")
            assert "SELECT " not in text, f"{path} holds SQL"


def test_the_command_line_and_the_results_do_not_load_torch():
    code = (
        "import sys, probing.commands.main, probing.ui.frame.results, probing.figures.knowledge.layer_curve; print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip().splitlines()[-1] == "False"


def test_files_are_short_and_none_is_called_utils_or_base():
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "pages").glob("*.py")]:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 400, f"{path} has {lines} lines"
        assert path.stem not in {"utils", "base", "helpers", "misc"}


def test_committed_binaries_are_within_the_budget():
    sizes = {
        path: path.stat().st_size
        for path in ROOT.rglob("*")
        if path.suffix in {".safetensors", ".parquet", ".png", ".duckdb"}
        and not {".venv", "cache", ".git"} & set(path.relative_to(ROOT).parts)
    }
    assert sum(sizes.values()) < 100_000_000
    assert not [path for path in sizes if path.suffix == ".duckdb"]


def test_results_are_renamed_by_whole_files_only():
    """``Path.replace`` and ``Path.rename`` without fsync leave an empty file after a power cut; one place calls both."""
    # What is damaged is put aside, and what times the program writes results of nobody.
    allowed = {"core/whole_files.py", "jobs/manifest.py", "bench/measurement.py"}
    found = set()
    for path in (ROOT / "probing").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1 and not node.keywords):
                continue
            # Of texts the first has two arguments, of frames the second a keyword or a name.
            if node.func.attr in ("replace", "rename") and not isinstance(node.args[0], ast.Constant):
                found.add(path.relative_to(ROOT / "probing").as_posix())
    assert found <= allowed
