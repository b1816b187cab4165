"""A stranger's first hour with BERT: from an empty cache, with a stand-in of the hub, by clicks and by commands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from probing.kernel.models.names import BERT, find_entry
from tests.browser.conftest import ROOT, served, settle
from tests.hub.contents import of_folder
from tests.hub.server import Hub
from tests.shipped import SNAPSHOT
from tests.tiny_models import save

pytestmark = pytest.mark.slow


def typed(line: str, cache: Path, folder: Path) -> str:
    """What a command prints that is typed with another cache in a folder."""
    words = [sys.executable, "-m", *line.split()[1:]]
    environment = {**os.environ, "PROBING_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_from_home_to_berts_results_and_on_to_somebody_else(browser, tmp_path, monkeypatch):
    hub, entry = Hub(), find_entry(BERT)
    files = of_folder(save("bert", tmp_path / "tiny"))
    hub.add(entry.hub_id, files).commit({}, entry.revision)
    hub.fails("GET /large", broken_after=1000)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    for name, value in {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_CACHE": ""}.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
    cache = tmp_path / "cache"
    cache.mkdir()
    with served(cache, SNAPSHOT) as url:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(180_000)
        page.goto(url)
        page.get_by_role("button", name="With BERT").click()
        page.get_by_role("button", name="Download BERT-base").click()
        page.get_by_text(re.compile("failed: .*connection")).wait_for()
        hub.faults.clear()
        page.get_by_role("button", name="Resume").click()
        page.get_by_text(f"{BERT} says").first.wait_for()
        page.get_by_role("button", name="With BERT").click()
        page.get_by_role("button", name="Ask it all facts").click()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("The run was cancelled").wait_for()
        page.get_by_role("button", name="Resume").click()
        page.get_by_role("button", name="Cancel").wait_for()
        page.get_by_role("button", name="Cancel").wait_for(state="detached")
        for path in ("/", "/Ask"):
            page.goto(url + path)
            settle(page)
            assert page.get_by_role("button", name="With BERT").count() == 0
            assert f"{BERT} says" in page.inner_text("body")
        page.goto(f"{url}/Layers")
        settle(page)
        assert BERT in page.inner_text(".st-key-answer")
        page.close()
    hub.close()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "empty"))
    typed("python probing bert --share given", cache, tmp_path)
    assert sum(path.stat().st_size for path in (tmp_path / "given").rglob("*")) < 12e6
    other = tmp_path / "other"
    assert f"predictions of {BERT}" in typed("python probing pull --from-folder given", other, tmp_path)
    with served(other, SNAPSHOT) as url:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        settle(page)
        assert f"{BERT} says" in page.inner_text("body")
        page.goto(f"{url}/Ask")
        settle(page)
        assert "nesia-mini says" in page.inner_text("body")
        page.close()
