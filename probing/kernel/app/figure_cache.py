"""Cache of drawn figures, shared by all users: pages pass figures lazily, and equal arguments are drawn once.

Drawing takes longer than counting, because Plotly validates every value. Streamlit runs a page again after every click,
which would draw all of its figures again.
"""

import hashlib
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from plotly.basedatatypes import BaseFigure

from probing.kernel.figures import theme


@dataclass(frozen=True)
class LazyFigure:
    """A figure that is not drawn yet: a function of ``probing.figures`` with its arguments."""

    draw: Callable[..., go.Figure]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def figure(self) -> go.Figure:
        return self.draw(*self.arguments, **self.options)

    def key(self) -> str:
        """sha256 of everything that the figure depends on, including whole tables, not samples of them."""
        content = io.BytesIO()
        pickler = pickle.Pickler(content, protocol=5)
        # Without references to what was written before: equal tables share fewer objects once they come from a cache.
        pickler.fast = True
        pickler.dump((self.draw.__module__, self.draw.__qualname__, self.arguments, self.options))
        return hashlib.sha256(content.getvalue()).hexdigest()


class Drawn(BaseFigure):
    """A finished figure. ``st.plotly_chart`` does not validate it again, as it would a plain dictionary."""

    def __init__(self, content: dict[str, Any]):  # skips Plotly's slow validation of each value
        self._content = content

    def to_dict(self) -> dict[str, Any]:
        """The figure as a dictionary in Plotly's JSON format; shared by all users, so it must not be changed."""
        return self._content


def drawing(draw: Callable[..., go.Figure], *arguments: Any, **options: Any) -> LazyFigure:
    """A lazy call: ``drawing(total_bars, table, k=1)`` calls ``total_bars(table, k=1)`` unless it is cached."""
    return LazyFigure(draw, arguments, options)


def on_page(figure: go.Figure | LazyFigure) -> Drawn:
    """The figure as a page shows it, from the cache if possible."""
    return _on_page(figure.key(), figure) if isinstance(figure, LazyFigure) else Drawn(theme.finished(figure))


def for_file(figure: go.Figure | LazyFigure, text: str) -> go.Figure:
    """The figure with its origin written below it, for a file."""
    return theme.stamped(figure.figure(), text) if isinstance(figure, LazyFigure) else theme.stamp(figure, text)


def for_paper(figure: go.Figure | LazyFigure) -> go.Figure:
    """The figure without a stamp, in the colours of a light page."""
    if not isinstance(figure, LazyFigure):
        return figure
    light = {"dark": False} if "dark" in figure.options else {}
    return LazyFigure(figure.draw, figure.arguments, figure.options | light).figure()


@st.cache_resource(max_entries=200, show_spinner=False)
def _on_page(key: str, _wanted: LazyFigure) -> Drawn:
    return Drawn(theme.finished(_wanted.figure()))


def forget() -> None:
    _on_page.clear()
