"""Seconds from a click to a still page in a real browser, against a bare Streamlit page with one Plotly figure in the
same run.
"""

import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
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
NEW_SERVER, LATER_VISIT, NEW_VIEW, SHOWN = (
    "first page of a new server after its own visits",
    "first page of a later visit",
    "new",
    "again",
)
#: What is measured -> at most so many times as long as on a bare page.
BOUNDS = {NEW_SERVER: 1.5, LATER_VISIT: 1.2, NEW_VIEW: 7.0, SHOWN: 4.0}
#: Clicks an element, if one is given, and resolves to the milliseconds until the last change of the page.
_STILL = """(element, [busy, quiet]) => new Promise(done => {
    const begun = performance.now();
    let last = begun;
    // What a canvas holds for screen readers is not seen.
    const holder = node => node.nodeType === 1 ? node : node.parentElement;
    const drawn = change => !holder(change.target)?.closest("canvas");
    const seen = new MutationObserver(changes => { if (changes.some(drawn)) last = performance.now(); });
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
#: As many figures and tables as its address says.
_SCRIPT = """
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

st.title("Bare")
power = st.segmented_control("Power", ["one", "two"], default="one", required=True)
heights = [layer ** (1 + (power == "two")) for layer in range(13)]
for number in range(int(st.query_params.get("figures", 1))):
    figure = go.Figure(go.Scatter(x=list(range(13)), y=[number + height for height in heights], mode="lines+markers"))
    st.plotly_chart(figure, key=str(number))
for number in range(int(st.query_params.get("tables", 0))):
    st.dataframe(pd.DataFrame({"layer": range(13), "height": [number + height for height in heights]}))
"""
_MAIN = '[data-testid="stMain"]'


class Click(NamedTuple):
    """Two views, one click away from each other: ``choices`` finds what is clicked, after ``opens`` if it is given."""

    name: str
    choices: str
    opens: str = ""


class Turned(NamedTuple):
    """A page and what is clicked on it.

    Attributes:
        path: the page's link.
        shows: selector of what the page has in all views.
        clicks: what is clicked.
    """

    path: str
    shows: str
    clicks: tuple[Click, ...]


class Spent(NamedTuple):
    """One click: seconds until the page was still; of these until the server's last message, of which there were
    ``messages`` with ``kilobytes``, and those in which the browser's main thread was busy, in scripts and in all.
    """

    still: float
    server: float
    messages: int
    kilobytes: float
    scripts: float
    busy: float


def _tab() -> Click:
    return Click("tab", f'{_MAIN} [role="tab"]')


def _buttons(name: str, key: str) -> Click:
    return Click(name, f"{_MAIN} .st-key-{key} button")


def _list(name: str, key: str) -> Click:
    return Click(name, '[role="option"]', f"{_MAIN} .st-key-{key} input")


#: Page -> what is clicked: its tab, a filter and the model, as far as it has them.
_CLICKS = {
    "Home": (_buttons("example", "home-example"),),
    "Ask": (_tab(), _list("model", "ask-live_model")),
    "Layers": (_tab(), _buttons("k", "layers-k"), _list("model", "layers-model")),
    "Compare models": (_tab(), _list("model", "compare-tuned")),
    "Grammar": (_tab(),),
    "Facts": (_tab(), _list("model", "facts-model")),
    "Your model": (_tab(), _buttons("measure", "own_model-my_measure"), _buttons("k", "own_model-my_k")),
    "Papers": (_list("paper", "papers-paper"),),
    "Methods": (_tab(),),
}
OURS = {PAGES[file][1]: Turned(f"/{address}", "h1", _CLICKS[PAGES[file][1]]) for address, file in ADDRESSES.items()}
OURS["Home"] = Turned("/", ".grids-of-words td", _CLICKS["Home"])
#: The number of the choice that is taken, of several elements; -1 if it is not said.
_CHOSEN = "all => all.findIndex(one => one.matches('[aria-selected=true], [aria-checked=true]'))"
_FIGURE, _TABLE = ".js-plotly-plot", '[data-testid="stDataFrame"]'
_BARE = Turned("/", _FIGURE, (Click("button", '[data-testid="stButtonGroup"] button'),))


def measure(quick: bool = False) -> list[Measurement]:
    """The first pages of a server, views that are new for it, and views that were shown before; by page and click."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        logging.warning("no chromium on PATH, so no clicks are measured; to measure them: %s", INSTALL)
        return []
    from playwright.sync_api import sync_playwright

    rounds, rows, folder = 1 if quick else 5, list[Measurement](), cache_folder() / "bench" / "clicks"
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "bare.py"
    script.write_text(_SCRIPT, encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        bare = ("streamlit", "run", str(script))
        theirs, _ = _times(browser, bare, _BARE, rounds, folder)
        for page, turned in OURS.items():
            mine, (figures, tables) = _times(browser, ("probing.ui",), turned, rounds, folder)
            alike = _BARE._replace(path=f"/?figures={figures}&tables={tables}", shows=_FIGURE if figures else "h1")
            same, _ = _times(browser, bare, alike, rounds, folder)
            for (name, what), spent in mine.items():
                key = ("button" if name else "", what)
                rows.append(_row(", ".join(filter(None, (page, name, what))), what, spent, theirs[key], same[key]))
        browser.close()
    return rows


def _row(name: str, what: str, ours: Sequence[Spent], bare: Sequence[Spent], alike: Sequence[Spent]) -> Measurement:
    a, b, c = (median(one.still for one in every) for every in (ours, bare, alike))
    server, messages, kilobytes, scripts, busy = (median(of) for of in list(zip(*ours, strict=True))[1:])
    seconds = ", ".join(f"{one.still:.2f}" for one in ours)
    note = (
        f"{a / c:.2g} times a bare page with as many figures and tables; until the last message {server:.2f} s,"
        f" {messages:.0f} messages with {kilobytes:.0f} kB; main thread busy {busy:.2f} s, {scripts:.2f} in scripts;"
        f" all: {seconds} s"
    )
    return Measurement(f"{name}: ours by bare", a, BARE, b, a / b, BOUNDS[what], True, "nothing to compare", note)


def _times(
    browser: Any, module: Sequence[str], turned: Turned, rounds: int, folder: Path
) -> tuple[dict[tuple[str, str], list[Spent]], tuple[int, int]]:
    """Click and kind of view -> what each round spent; and the numbers of figures and tables of the first view.

    Every round has a server with an empty cache, so that no view of another round is known to it.
    """
    found: defaultdict[tuple[str, str], list[Spent]] = defaultdict(list)
    counts = (0, 0)
    for _ in range(rounds):
        with (
            tempfile.TemporaryDirectory(dir=folder) as cache,
            _served(module, {"PROBING_CACHE": cache}) as address,
        ):
            for what in (NEW_SERVER, LATER_VISIT):
                context = browser.new_context(viewport={"width": 1280, "height": 900})
                page = context.new_page()
                page.set_default_timeout(90_000)
                watched = _Watched(context, page)
                began = time.perf_counter()
                page.goto(address + turned.path)
                page.wait_for_selector(turned.shows)
                found["", what].append(watched.until_still(began=began))
                counts = (page.locator(_FIGURE).count(), page.locator(_TABLE).count())
                for click in turned.clicks if what == LATER_VISIT else ():
                    shown = None
                    for kind in (NEW_VIEW, SHOWN):
                        choices = offered(page, click)
                        if shown is None:
                            shown = max(0, choices.evaluate_all(_CHOSEN))
                        number = shown if kind == SHOWN else int(shown == 0)
                        found[click.name, kind].append(watched.until_still(choices.nth(number)))
                context.close()
    return found, counts


def offered(page: Any, click: Click) -> Any:
    """What can be clicked, its list opened; one that is drawn again while it opens is closed, and opened again."""
    choices = page.locator(click.choices)
    for _ in range(30):
        if not click.opens or choices.count():
            break
        page.locator(click.opens).first.click()
        page.wait_for_timeout(QUIET)
    return choices


class _Watched:
    """A page whose messages from the server and whose work are counted."""

    def __init__(self, context: Any, page: Any):
        self.page, self.devtools = page, context.new_cdp_session(page)
        self.received: list[tuple[float, int]] = []
        self.sent: list[float] = []
        self.devtools.on("Network.webSocketFrameReceived", self._receive)
        self.devtools.on("Network.webSocketFrameSent", lambda event: self.sent.append(event["timestamp"]))
        for domain in ("Network", "Performance"):
            self.devtools.send(f"{domain}.enable")

    def _receive(self, event: Any) -> None:
        # Messages are binary, so their text is in base64.
        self.received.append((event["timestamp"], len(event["response"]["payloadData"]) * 3 // 4))

    def _spent(self) -> tuple[float, float]:
        found = {one["name"]: one["value"] for one in self.devtools.send("Performance.getMetrics")["metrics"]}
        return found["ScriptDuration"], found["TaskDuration"]

    def until_still(self, element: Any = None, began: float | None = None) -> Spent:
        """Until the page is still: after a click, or, without an element, since it was asked for, at ``began``."""
        waited = 0.0 if began is None else time.perf_counter() - began
        before = (0.0, 0.0) if began is not None else self._spent()
        if began is None:
            self.received, self.sent = [], []
        handle = element.element_handle() if element else None
        still = self.page.evaluate(f"([element, more]) => ({_STILL})(element, more)", [handle, [BUSY, QUIET]]) / 1000
        scripts, busy = (now - then for now, then in zip(self._spent(), before, strict=True))
        server = self.received[-1][0] - self.sent[0] if self.received and self.sent else 0.0
        return Spent(waited + still, server, len(self.received), sum(n for _, n in self.received) / 1000, scripts, busy)


@contextmanager
def _served(module: Sequence[str], environment: dict[str, str]) -> Iterator[str]:
    """The address of a Streamlit server, once it has visited its own pages; ``module`` is run with its words."""
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
        _wait_for_rest(server.pid)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def _wait_for_rest(process: int) -> None:
    """Returns once a process did next to nothing for two seconds, and after five minutes at the latest."""
    before = 0
    for _ in range(150):
        ticks = sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]))
        if ticks - before < 0.1 * os.sysconf("SC_CLK_TCK"):
            return
        before = ticks
        time.sleep(2)
