"""The app on the shipped snapshot, served to a real browser."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.shipped import SNAPSHOT

ROOT = Path(__file__).resolve().parents[2]
#: Width and whether the theme is dark: each width and each theme once.
VIEWS = pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (390, True)], ids=["wide and light", "narrow and dark"]
)
INSTALL = "sudo apt-get install chromium"


@contextmanager
def served(cache: Path, snapshot: Path):
    """Where the app answers on a snapshot, with its own cache."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (cache / "server.log").open("w")
    environment = {**os.environ, "PROBING_CACHE": str(cache), "PROBING_SNAPSHOT": str(snapshot)}
    words = [sys.executable, "-m", "probing.ui", "--server.port", str(port), "--server.address", "127.0.0.1"]
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
def address(tmp_path_factory):
    """Where the app answers, on the shipped results, with an empty cache."""
    cache = tmp_path_factory.mktemp("cache")
    with served(cache, SNAPSHOT) as url:
        yield url


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium under Playwright; tests are skipped if there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip(f"no chromium on PATH; to run the browser tests: {INSTALL}")
    from playwright.sync_api import sync_playwright

    arguments = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield opened
        opened.close()


class Windows:
    """Windows of the browser that share what was loaded: the app's script has five megabytes."""

    def __init__(self, browser, address: str):
        self._browser, self._address = browser, address
        self._contexts = [browser.new_context()]

    def open(self, path: str, errors: list[str], *, width: int, dark: bool, height: int, fresh: bool):
        """Opens a path and waits until the page is at rest.

        Args:
            path: the page's link.
            errors: what the scripts of the page throw is appended.
            width, height: of the window, in pixels.
            dark: whether the user's system is dark.
            fresh: as a user who was never here.
        """
        if fresh:
            self._contexts.append(self._browser.new_context())
        page = self._contexts[-1 if fresh else 0].new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.set_default_timeout(90_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(self._address + path)
        settle(page)
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture(scope="session")
def windows(browser, address):
    """All windows of the run."""
    found = Windows(browser, address)
    yield found
    found.close()


@pytest.fixture()
def visit(windows):
    """Opens a path in a new window and waits until the page is at rest; errors of the page fail the test."""
    pages, errors = [], []

    def call(path: str = "/", width: int = 1280, dark: bool = False, height: int = 900, fresh: bool = False):
        pages.append(windows.open(path, errors, width=width, dark=dark, height=height, fresh=fresh))
        return pages[-1]

    yield call
    for page in pages:
        page.close()
    assert errors == []


def follow(page, path: str) -> None:
    """Goes to a path in a window without loading the app's script again, as the browser's "back" does, and waits until
    it is at rest.
    """
    page.evaluate("link => { history.pushState(null, '', link); dispatchEvent(new PopStateEvent('popstate')); }", path)
    # An address has no hyphens.
    title = path.partition("?")[0].strip("/").replace("_", " ") or "Home"
    page.wait_for_function("title => document.title.replaceAll('-', ' ').startsWith(title + ' · ')", arg=title)
    settle(page)
    page.evaluate("""() => { document.querySelector('[data-testid="stMain"]').scrollTop = 0; }""")


class Tour:
    """One window per width and theme that goes from link to link.

    The first link is loaded. Every other is followed (``follow``), which takes a third of the time.
    Choices that a link does not name stay as the links before left them.

    Attributes:
        errors: what the scripts of the pages threw.
    """

    def __init__(self, windows: Windows):
        self._windows = windows
        self._pages: dict[tuple[int, bool], Any] = {}
        self.errors: list[str] = []

    def __call__(self, path: str, width: int = 1280, dark: bool = False):
        """Goes to a path and waits until the page is at rest."""
        look = width, dark
        if look not in self._pages:
            self._pages[look] = self._windows.open(path, self.errors, width=width, dark=dark, height=900, fresh=False)
            return self._pages[look]
        follow(self._pages[look], path)
        return self._pages[look]

    def close(self) -> None:
        for page in self._pages.values():
            page.close()


@pytest.fixture(scope="module")
def whole_tour(windows):
    """The windows of a module's tests that need no first visit."""
    found = Tour(windows)
    yield found
    found.close()
    assert found.errors == []


@pytest.fixture()
def tour(whole_tour):
    """Goes to a path, in a window that other tests used; errors of the page fail the test."""
    yield whole_tour
    found, whole_tour.errors[:] = whole_tour.errors[:], []
    assert found == []


BUSY = (
    '[data-test-script-state="running"], [data-test-script-state="rerunRequested"], [data-testid="stSkeleton"],'
    ' [data-testid="stSpinner"]'
)


#: Ends once nothing has changed for a while, or after 90 seconds.
AT_REST = """([busy, milliseconds]) => new Promise(done => {
    const begun = performance.now();
    let before = null, since = begun;
    const look = () => {
        const now = document.querySelector('[data-testid="stMain"]').innerText;
        if (now !== before || document.querySelector(busy)) since = performance.now();
        before = now;
        const past = performance.now();
        if (past - since >= milliseconds || past - begun > 90_000) done(); else setTimeout(look, 100);
    };
    look();
})"""


def settle(page) -> None:
    """Waits until the app has run: nothing runs, no placeholder is left and the text has stood still for 0.4
    seconds.
    """
    page.wait_for_selector("h1")
    page.evaluate(AT_REST, [BUSY, 400])
