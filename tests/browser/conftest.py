"""The app on the shipped snapshot, served to a real browser."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALL = "sudo apt-get install chromium"


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """Where the app answers; a database of its own is built in an empty cache."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    cache = tmp_path_factory.mktemp("cache")
    log = (cache / "server.log").open("w")
    environment = {**os.environ, "PROBING_CACHE": str(cache), "PROBING_SNAPSHOT": str(ROOT / "data" / "snapshot")}
    words = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), "--server.address", "127.0.0.1"]
    server = subprocess.Popen(words, cwd=ROOT, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            if server.poll() is not None:
                pytest.fail(f"the app ended by itself: {(cache / 'server.log').read_text()}")
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=2)
                break
            except OSError:
                time.sleep(0.5)
        yield url
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium under Playwright; tests are skipped if there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip(f"no chromium on PATH; to run the browser tests: {INSTALL}")
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield opened
        opened.close()


@pytest.fixture()
def visit(browser, address):
    """Opens a path in a fresh window and waits until the page is at rest; errors of the page fail the test."""
    contexts, errors = [], []

    def call(path: str = "/", width: int = 1280, dark: bool = False, height: int = 900):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(90_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address + path)
        settle(page)
        return page

    yield call
    for context in contexts:
        context.close()
    assert not errors


BUSY = ('[data-testid="stApp"][data-test-script-state="running"]', '[data-testid="stSkeleton"]', '[data-testid="stSpinner"]')


def settle(page, seconds: float = 90) -> None:
    """Waits until the app has run: nothing runs, no placeholder is left and the text has stood still for a second."""
    page.wait_for_selector("h1")
    still, before, until = 0, "", time.monotonic() + seconds
    while still < 4 and time.monotonic() < until:
        page.wait_for_timeout(250)
        running = page.locator(
            '[data-testid="stApp"][data-test-script-state="running"], [data-testid="stSkeleton"], [data-testid="stSpinner"]'
        )
        now = page.inner_text('[data-testid="stMain"]')
        still = still + 1 if now == before and running.count() == 0 else 0
        before = now
