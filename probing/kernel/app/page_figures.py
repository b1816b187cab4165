"""The figures of the pages in a notebook: a link of the app and the name of one of its figures."""

import logging
from urllib.parse import parse_qs, urlsplit

import plotly.graph_objects as go
import streamlit as st

from probing.kernel.app.figure_cache import LazyFigure, for_paper
from probing.kernel.app.selection import ADDRESSES
from probing.kernel.errors import FigureError
from probing.kernel.figures.theme import for_notebook
from probing.kernel.registry import REPOSITORY

#: The figures of a run by name, in the state of the sessions that are asked for them.
_COLLECTED = "page_figures"
_SECONDS = 600


def collect(name: str, drawn: go.Figure | LazyFigure) -> None:
    """Keeps a figure that a page draws, if this session is one of ``page_figure``."""
    if _COLLECTED in st.session_state:
        st.session_state[_COLLECTED][name] = drawn


def page_figure(link: str, name: str, width: str = "") -> go.Figure:
    """Draws a figure of a page as the page's part *Save* has it: light, without a stamp.

    The page is run with the options of the link on the results that the app reads. Files that were uploaded on a page
    are in no link.

    Args:
        link: of the page, with or without the address of a server, such as ``Layers?k=10``.
        name: of the figure, as the page's Python call has it.
        width: ``column`` (3.25 in) or ``text`` (6.75 in), in which *Save* shows it; without, it is as wide as a page.

    Raises:
        FigureError: if there is no such page, it cannot be drawn, or it draws no figure of this name.

    >>> import probing
    >>> probing.page_figure("Layers?k=10", "layer-curves").layout.yaxis.title.text
    'right answers, % (P@10, mean of relations)'
    """
    parts = urlsplit(link)
    title = parts.path.rpartition("/")[2]
    if title not in ADDRESSES:
        known = sorted((name for name in ADDRESSES if name), key=ADDRESSES.__getitem__)
        raise FigureError(f"got a link to {title}; expected one of {', '.join(known)}, or none for Home")
    drawn = _figures(ADDRESSES[title] if title else "", parse_qs(parts.query, keep_blank_values=True))
    if name not in drawn:
        raise FigureError(
            f"got the figure {name}; expected one of {', '.join(drawn) or 'none: the page draws no figure'}"
        )
    figure = for_paper(drawn[name])
    return for_notebook(figure, width=width) if width else figure


def _figures(page: str, options: dict[str, list[str]]) -> dict[str, go.Figure | LazyFigure]:
    """All figures that a page draws, by name."""
    # Only for this: the app itself needs no test runner.
    from streamlit.testing.v1 import AppTest

    # It warns that it has no server.
    log = logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        app = AppTest.from_file(str(REPOSITORY / "app.py"), default_timeout=_SECONDS)
        if page:
            app.switch_page(str(REPOSITORY / page))
        for field, values in options.items():
            app.query_params[field] = values
        app.session_state[_COLLECTED] = {}
        app.run()
    finally:
        log.setLevel(level)
    if app.exception:
        raise FigureError(f"the page {page or 'Home'} cannot be drawn: {app.exception[0].value}")
    collected: dict[str, go.Figure | LazyFigure] = app.session_state[_COLLECTED]
    return collected
