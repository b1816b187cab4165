"""Figures that are drawn once: equal numbers drawn in the same way are taken from the cache of all visitors.

Drawing takes longer than counting: Plotly checks every value that it is given. A page that is run again, as after every
click of its visitor, would draw all of its figures anew.
"""

import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from plotly.basedatatypes import BaseFigure

from probing.figures import theme


@dataclass(frozen=True)
class LazyFigure:
    """A figure that is yet to be drawn.

    Attributes:
        draw: a function of ``probing.figures``.
        arguments: what it is called with, table and options.
        options: the same by name.
    """

    draw: Callable[..., go.Figure]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def figure(self) -> go.Figure:
        """Draws it."""
        return self.draw(*self.arguments, **self.options)

    def key(self) -> str:
        """sha256 of everything that the figure depends on; a whole table is part of it, not a sample."""
        parts = (self.draw.__module__, self.draw.__qualname__, self.arguments, self.options)
        return hashlib.sha256(pickle.dumps(parts, protocol=5)).hexdigest()


class Drawn(BaseFigure):
    """A finished figure. ``st.plotly_chart`` takes it as it is, while it would check a plain dictionary again."""

    def __init__(self, content: dict[str, Any]):  # no values are set one by one, which is what takes time
        self._content = content

    def to_dict(self) -> dict[str, Any]:
        """The figure as Plotly's JSON has it; shared by all visitors, so nobody may change it."""
        return self._content


def drawing(draw: Callable[..., go.Figure], *arguments: Any, **options: Any) -> LazyFigure:
    """``drawing(total_bars, table, k=1)`` stands for ``total_bars(table, k=1)``, which is called if it is not drawn yet."""
    return LazyFigure(draw, arguments, options)


def stamped(wanted: go.Figure | LazyFigure, text: str) -> Drawn:
    """The figure with its origin written below it, from the cache if it was drawn before."""
    if isinstance(wanted, LazyFigure):
        return _stamped(wanted.key(), text, wanted)
    return Drawn(theme.finished(theme.stamp(wanted, text)))


def for_file(wanted: go.Figure | LazyFigure, text: str) -> go.Figure:
    """The same as a figure of Plotly's own, to be written to a file."""
    return theme.stamped(wanted.figure(), text) if isinstance(wanted, LazyFigure) else theme.stamp(wanted, text)


@st.cache_resource(max_entries=200, show_spinner=False)
def _stamped(key: str, text: str, _wanted: LazyFigure) -> Drawn:
    return Drawn(theme.finished(theme.stamped(_wanted.figure(), text)))


def forget() -> None:
    """Empties the cache of figures."""
    _stamped.clear()
