"""Visits every page of the app in a separate process and prints the time of each page and the memory of all.

A program: ``python -m tests.speed.page_visits ROUNDS`` with ``PROBING_SNAPSHOT`` and ``PROBING_CACHE`` set prints one
    JSON object.
The pages run in Streamlit's own test harness, which runs the same scripts in the same runtime as the server, without a
browser.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from probing.kernel.app import selection as navigation
from probing.kernel.registry import REPOSITORY

#: Page -> its file; Ask last: it loads a model, which stays.
PAGES = dict(
    sorted(((words, file) for file, (_, words, _) in navigation.PAGES.items()), key=lambda page: page[0] == "Ask")
)
_TUNED = [f"bert-base-uncased-{name}" for name in ("qa-squad-2", "mlm-squad", "rank-msmarco", "mlm-msmarco")]
#: Page -> kind and key of the widget that its reader turns most, and values that it does not have at first.
TURNED: dict[str, tuple[str, str, list[Any]]] = {
    "Home": ("button_group", "home.example", [2, 3]),
    "Layers": ("selectbox", "layers.model", _TUNED),
    "Compare models": ("selectbox", "compare.tuned", _TUNED),
    "Facts": ("selectbox", "facts.relation", ["P19", "P36", "P103", "P37"]),
    "Papers": ("selectbox", "papers.paper", ["edge-probing", "interplay", "forgetting"]),
}
_WARM_UPS = 2


def visit(page: str, rounds: int) -> dict[str, Any]:
    """Seconds of a page: first, the same view again, another view for the first time, and with every cache of numbers
    emptied.

    Raises:
        RuntimeError: if the page shows an error, or shows something else without its caches.
    """
    app = AppTest.from_file(str(REPOSITORY / "app.py"), default_timeout=300)
    if PAGES[page] != "app.py":
        app.switch_page(PAGES[page])
    if page == "Ask":
        # The models of the made-up store cannot be asked.
        app.query_params["live_model"] = "nesia-mini"
    first = _seconds(app, page)
    for _ in range(_WARM_UPS - 1):
        _seconds(app, page)
    again = [_seconds(app, page) for _ in range(rounds)]
    shown = _shown(app)
    anew = []
    # Ask says how long its model took, which is another number each time; `bench live` measures that page.
    for _ in range(2 if page != "Ask" else 0):
        _empty_caches()
        anew.append(_seconds(app, page))
        if _shown(app) != shown:
            raise RuntimeError(f"{page} from its caches differs from {page} without caches")
    other = []
    if page in TURNED:
        kind, key, values = TURNED[page]
        for value in values[: max(1, rounds)]:
            getattr(app, kind)(key=key).set_value(value)
            other.append(_seconds(app, page))
    figures = len(app.get("plotly_chart"))
    return {
        "page": page,
        "first": first,
        "again": again,
        "other": other,
        "anew": min(anew, default=None),
        "figures": figures,
    }


def _seconds(app: AppTest, page: str) -> float:
    start = time.perf_counter()
    app.run()
    taken = time.perf_counter() - start
    if app.exception:
        raise RuntimeError(f"{page} shows an error: {app.exception[0].value}")
    return taken


def _shown(app: AppTest) -> list[str]:
    """What a reader sees: words and figures."""
    words = [
        str(one.value) for kind in ("title", "markdown", "caption", "info", "warning") for one in getattr(app, kind)
    ]
    return words + [chart.proto.spec for chart in app.get("plotly_chart")]


def _empty_caches() -> None:
    """All counted numbers and drawn figures; the open database and loaded models stay."""
    import streamlit as st

    from probing.kernel.app import figure_cache

    st.cache_data.clear()
    figure_cache.forget()


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def main() -> None:
    """Prints ``{"visits": [...], "bytes": most memory with every page but Ask, "bytes_with_ask": with all}``."""
    visits = [visit(page, int(sys.argv[1])) for page in PAGES if page != "Ask"]
    without_model = peak_bytes()
    visits.append(visit("Ask", int(sys.argv[1])))
    print(json.dumps({"visits": visits, "bytes": without_model, "bytes_with_ask": peak_bytes()}))
    sys.stdout.flush()
    # Nothing is left to be tidied, and threads of the harness need not be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
