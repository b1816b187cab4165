"""Messages and commands on pages do not show the server's folders."""

import tomllib
from pathlib import Path

import pytest
from streamlit.web.server.starlette import starlette_websocket

from probing.core.registry import REPOSITORY
from probing.ui.widgets.places import without_server_folders


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


@pytest.mark.parametrize(
    ("host", "allowed"),
    [("localhost:8501", True), ("127.0.0.1:8501", True), ("[::1]:8501", True), ("evil.example", False)],
)
def test_a_local_app_answers_no_other_host(host, allowed, repo_root: Path, monkeypatch):
    server = tomllib.loads((repo_root / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
    monkeypatch.setattr(starlette_websocket.config, "get_option", lambda name: server[name.removeprefix("server.")])
    assert starlette_websocket.is_host_allowed(host) is allowed
