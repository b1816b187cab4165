"""The command that starts the app, what its pages load, and what they show of the server's folders."""

import ast
import asyncio
import os
import socket
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.web.server.starlette import starlette_websocket

from probing import ui as start
from probing.kernel.app import frame as visits
from probing.kernel.app import guard
from probing.kernel.app.texts import without_server_folders
from probing.kernel.registry import REPOSITORY


@pytest.mark.skipif(sys.platform != "linux", reason="only GNU's OpenMP names its settings")
def test_torchs_threads_sleep_while_they_wait():
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"} | {
        "OMP_DISPLAY_ENV": "TRUE"
    }
    words = [sys.executable, "-c", "import probing.ui, torch; torch.ones(1)"]
    done = subprocess.run(words, env=environment, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True, check=True)
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr


def test_the_command_serves_with_its_options_or_says_in_one_line_what_the_pages_need(monkeypatch, run):
    monkeypatch.setattr(start, "main", lambda *options: print(options))
    assert run("ui", "--", "--server.port", "8502").stdout.strip() == "('--server.port', '8502')"
    monkeypatch.undo()
    needs = [("find_spec", lambda _: None, "needs Streamlit"), ("REPOSITORY", Path("/none"), "REPOSITORY")]
    for name, value, said in needs:
        monkeypatch.setattr(start, name, value)
        with pytest.raises(SystemExit, match=rf"^error: .*{said}.*bertnesia-explorer\[app\]"):
            start.main()


def test_what_the_pages_import_is_loaded(monkeypatch):
    pages = [REPOSITORY / "app.py", *(REPOSITORY / "pages").glob("*.py")]
    imported = [
        node
        for path in pages
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
    ]
    needed = {node.module for node in imported} | {
        f"{node.module}.{name.name}" for node in imported for name in node.names
    }
    asked = set()
    monkeypatch.setattr(start, "import_module", asked.add)
    start.load()
    modules = {name for name in needed if ".page_" in name or name.startswith("probing.kernel.app.")}
    modules &= set(sys.modules) | asked
    assert len(modules) > len(pages) and modules <= asked


@pytest.fixture
def prepared(monkeypatch):
    """Runs the visits of a server without a server: the visited pages, and what a visit does."""
    visited: list[str] = []
    monkeypatch.setattr(start, "load", lambda: None)
    monkeypatch.setattr(start, "_started", lambda: "ws://here")
    monkeypatch.setattr(visits, "VISITS", visits.Visits())
    monkeypatch.setattr(start, "addresses", lambda: ["", "Facts", "Live"])

    def run(during) -> list[str]:
        def visit(server: str, address: str) -> None:
            visited.append(address)
            visits.VISITS.note()
            during(address)

        monkeypatch.setattr(start, "visit", visit)
        start.prepare()
        return visited

    return run


def test_the_visits_wait_while_somebody_else_opens_pages(prepared, monkeypatch):
    waited = []
    monkeypatch.setattr(visits.Visits, "seconds", property(lambda self: len(waited)))
    monkeypatch.setattr(start.time, "sleep", waited.append)
    assert prepared(lambda address: None) == ["", "Facts", "Live"] and not waited, (
        "its own visits are no reason to wait"
    )
    assert prepared(lambda address: visits.VISITS.note() if address == "Facts" else None)[3:] == ["", "Facts", "Live"]
    assert len(waited) == start.PAUSE, "another visitor came during the second"


def test_a_server_that_refuses_its_own_visits_serves_others(prepared):
    def refuse(address: str) -> None:
        raise OSError("refused")

    assert prepared(refuse) == [""]


def test_a_page_that_was_visited_is_drawn_for_a_visitor(tmp_path):
    """A real server visits a page; what it sends is what a browser gets."""
    script = tmp_path / "app.py"
    script.write_text("import streamlit as st\nst.title('Drawn')\nopen('drawn', 'a').write('x')\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.port",
        str(port),
        "--server.headless",
        "true",
    ]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(600):
                try:
                    start.visit(f"ws://127.0.0.1:{port}", "")
                    break
                except OSError:
                    time.sleep(0.1)
        finally:
            server.terminate()
    assert (tmp_path / "drawn").read_text() == "x"


def test_folders_of_the_server_have_short_names(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBING_CACHE", str(tmp_path / "disk" / "cache"))
    monkeypatch.setenv("PROBING_MODELS", f"{tmp_path / 'elsewhere' / 'mine'}")
    monkeypatch.setenv("HOME", str(tmp_path))
    for text, expected in {
        f"cannot read {tmp_path}/disk/cache/edges/a/b.safetensors: gone": (
            "cannot read cache/edges/a/b.safetensors: gone"
        ),
        f"--model {tmp_path}/elsewhere/mine --facts A.csv": "--model mine --facts A.csv",
        f"'{REPOSITORY}/data/x.toml'": "'./data/x.toml'",
        f"{tmp_path}/notes": "~/notes",
        f"{tmp_path}/disk/cache-2": "~/disk/cache-2",
        "/usr/share and nothing of ours": "/usr/share and nothing of ours",
    }.items():
        assert without_server_folders(text) == expected


def asked(path: str, host: str = "localhost:8501", method: str = "GET", size: int | None = None) -> tuple[int, str]:
    """Status and text that a guarded server answers; 0 if the guard lets the request through."""
    said: list[dict] = []

    async def served(scope, receive, send):
        said.append({"status": 0})

    async def send(message):
        said.append(message)

    headers = [(b"host", host.encode()), *([] if size is None else [(b"content-length", str(size).encode())])]
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    # A loop may run in this thread, as after tests in the browser.
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, guard.Guard(served)(scope, None, send)).result()
    return said[0]["status"], said[-1].get("body", b"").decode()


@pytest.mark.parametrize("path", ["/", "/layers", "/_stcore/metrics", "/_stcore/host-config", "/static/x.js"])
def test_the_server_answers_no_other_host_by_http(path, repo_root: Path, monkeypatch):
    server = tomllib.loads((repo_root / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
    monkeypatch.setattr(starlette_websocket.config, "get_option", lambda name: server[name.removeprefix("server.")])
    assert asked(path)[0] == asked(path, "[::1]:8501")[0] == asked("/_stcore/health", "evil.example")[0] == 0
    for host in ("evil.example", "localhost.evil.example", "evil.example:8501", ""):
        assert asked(path, host)[0] == 403


def test_the_files_of_one_visitor_are_bounded_together(monkeypatch):
    files = {"mine": {"a": SimpleNamespace(data=b"x" * 15_000_000)}}
    held = SimpleNamespace(uploaded_file_mgr=SimpleNamespace(file_storage=files))
    monkeypatch.setattr(guard.runtime, "get_instance", lambda: held)
    put = partial(asked, method="PUT")
    assert put("/_stcore/upload_file/mine/b", size=5_000_000)[0] == 0
    status, said = put("/_stcore/upload_file/mine/b", size=5_000_001)
    assert status == 413 and "20,000,000 bytes together, and 15,000,000 are there" in said
    # Another visitor, the same file again, and one that does not say how long it is.
    assert (
        put("/_stcore/upload_file/other/b", size=5_000_001)[0]
        == put("/_stcore/upload_file/mine/a", size=9_000_000)[0]
        == 0
    )
    assert put("/app/_stcore/upload_file/mine/b")[0] == 413 and asked("/_stcore/upload_file/mine/b")[0] == 0


@pytest.mark.parametrize(
    ("host", "allowed"),
    [("localhost:8501", True), ("127.0.0.1:8501", True), ("[::1]:8501", True), ("evil.example", False)],
)
def test_a_local_app_answers_no_other_host(host, allowed, repo_root: Path, monkeypatch):
    server = tomllib.loads((repo_root / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
    monkeypatch.setattr(starlette_websocket.config, "get_option", lambda name: server[name.removeprefix("server.")])
    assert starlette_websocket.is_host_allowed(host) is allowed
