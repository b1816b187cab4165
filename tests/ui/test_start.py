"""The command that starts the app: Streamlit's options reach Streamlit, and the pages' modules are loaded meanwhile."""

import ast
import sys

import pytest
from streamlit.web import cli

from probing.core.registry import REPOSITORY
from probing.ui import __main__ as start


def test_options_are_handed_to_streamlit(monkeypatch):
    run = []
    monkeypatch.setattr(cli, "main", lambda words, **_: run.append(words))
    monkeypatch.setattr(start, "load", lambda: None)
    monkeypatch.setattr(sys, "argv", ["probing.ui", "--server.port", "8600"])
    with pytest.raises(SystemExit):
        start.main()
    assert run == [["run", str(REPOSITORY / "app.py"), "--server.port", "8600"]]


def test_what_the_pages_import_is_loaded(monkeypatch):
    pages = [REPOSITORY / "app.py", *(REPOSITORY / "pages").glob("*.py")]
    imported = [node for path in pages for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    needed = {node.module for node in imported} | {f"{node.module}.{name.name}" for node in imported for name in node.names}
    asked = set()
    monkeypatch.setattr(start, "import_module", asked.add)
    start.load()
    modules = {name for name in needed if name.startswith("probing.ui.") and name in sys.modules | dict.fromkeys(asked)}
    assert len(modules) > len(pages) and modules <= asked and not any(name.endswith("__main__") for name in asked)
