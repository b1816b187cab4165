"""Seconds from a click to a still page in a real browser, against a bare Streamlit page with one Plotly figure in the
same run.
"""

import logging
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any, NamedTuple

from probing.kernel.app.selection import ADDRESSES, PAGES
from probing.kernel.errors import ProbingError
from probing.kernel.files import cache_folder
from probing.kernel.registry import REPOSITORY
from tests.browser.conftest import BUSY, INSTALL
from tests.speed.measurement import Measurement

#: Milliseconds without a change after which a page is still; no time that is measured contains them.
QUIET = 400
BARE = "a bare Streamlit page with one Plotly figure"
WHAT = ("first page of a new server", "first page of a later visit", "new view", "view shown before")
#: Clicks an element, if one is given, and resolves to the milliseconds until the last change of the page.
_STILL = """(element, [busy, quiet]) => new Promise(done => {
    const begun = performance.now();
    let last = begun;
    const seen = new MutationObserver(() => { last = performance.now(); });
    seen.observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true});
    const look = () => {
        const now = performance.now();
        if (document.querySelector(busy)) last = now;
        if (now - last < quiet && now - begun < 90_000) return setTimeout(look, 20);
        seen.disconnect();
        done(last - begun);
    };
    if (element) element.click();
    setTimeout(look, 20);
})"""
_SCRIPT = """
import plotly.graph_objects as go
import streamlit as st

st.title("Bare")
power = st.segmented_control("Power", ["one", "two"], default="one", required=True)
heights = [layer ** (1 + (power == "two")) for layer in range(13)]
st.plotly_chart(go.Figure(go.Scatter(x=list(range(13)), y=heights, mode="lines+markers")))
"""


class Turned(NamedTuple):
    """A page and two of its views, each one click away from the other; the page opens with the first.

    Attributes:
        path: the page's link.
        clicked: selector of what opens the views: its first element the first, its second the other.
        shows: selector of what the page has in both views.
    """

    path: str
    clicked: str = '[data-testid="stMain"] [role="tab"]'
    shows: str = "h1"


_FIGURE = ".js-plotly-plot .main-svg"
OURS = {PAGES[file][1]: Turned(f"/{address}") for address, file in ADDRESSES.items()}
OURS["Home"] = Turned("/", '[data-testid="stMain"] [data-testid="stButtonGroup"] button', ".grids-of-words td")
_BARE = Turned("/", '[data-testid="stButtonGroup"] button', _FIGURE)


def measure(quick: bool = False) -> list[Measurement]:
    """The first pages after the server answers, a view for the first time, and the view that was shown before."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        logging.warning("no chromium on PATH, so no clicks are measured; to measure them: %s", INSTALL)
        return []
    from playwright.sync_api import sync_playwright

    rounds, folder = (1 if quick else 5), cache_folder() / "bench" / "clicks"
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "bare.py"
    script.write_text(_SCRIPT, encoding="utf-8")
    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        with _served(("streamlit", "run", str(script)), {}) as bare:
            theirs = _times(browser, bare, _BARE, rounds)
        for page, turned in OURS.items():
            with _served(("probing.ui",), {"PROBING_CACHE": str(folder)}) as ours:
                mine = _times(browser, ours, turned, rounds)
                for what in WHAT:
                    a, b = median(mine[what]), median(theirs[what])
                    words = ", ".join(f"{seconds:.2f}" for seconds in mine[what])
                    name, note = (
                        f"{page}, click to still page, {what}: ours by bare",
                        f"same browser, in turn; {words} s",
                    )
                    rows.append(Measurement(name, a, BARE, b, a / b, None, True, "nothing to compare", note))
        browser.close()
    return rows


def _times(browser: Any, address: str, turned: Turned, rounds: int) -> dict[str, list[float]]:
    """Seconds of each kind of click; every round is a session of its own, and the first opens the first page of a new
    server.
    """
    found: dict[str, list[float]] = {what: [] for what in WHAT}
    for number in range(rounds + 1):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(90_000)
        began = time.perf_counter()
        page.goto(address + turned.path)
        page.wait_for_selector(turned.shows)
        waited = time.perf_counter() - began
        found[WHAT[min(number, 1)]].append(waited + _still(page, None))
        first, second = (page.locator(turned.clicked).nth(number) for number in (0, 1))
        found["new view"].append(_still(page, second))
        found["view shown before"].append(_still(page, first))
        context.close()
    return found


def _still(page: Any, element: Any) -> float:
    """Seconds until the page is still, after a click on an element if there is one."""
    handle = element.element_handle() if element else None
    return page.evaluate(f"([element, more]) => ({_STILL})(element, more)", [handle, [BUSY, QUIET]]) / 1000


@contextmanager
def _served(module: Sequence[str], environment: dict[str, str]) -> Iterator[str]:
    """The address of a Streamlit server, once it answers; ``module`` is run with its words."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", *module, "--server.port", str(port), "--server.address", "127.0.0.1"]
    # Users' Python keeps compiled modules; a server that compiles them again takes twice as long to start.
    kept = {"PYTHONDONTWRITEBYTECODE": ""}
    server = subprocess.Popen(
        words,
        cwd=REPOSITORY,
        env={**os.environ, **kept, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(480):
            if server.poll() is not None:
                raise ProbingError(f"the server {' '.join(module)} ended by itself")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2)
                break
            except OSError:
                time.sleep(0.25)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)
