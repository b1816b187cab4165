"""Drawn figures, shared by all users: pages pass figures lazily, equal arguments are drawn once, and files state
their origin.
"""

import hashlib
import html
import io
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from plotly.basedatatypes import BaseFigure

from probing.kernel.figures import theme
from probing.kernel.report import as_csv


@dataclass(frozen=True)
class LazyFigure:
    """A figure that is not drawn yet: a function of a subject's ``figures`` with its arguments."""

    draw: Callable[..., go.Figure]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def figure(self) -> go.Figure:
        """The figure, drawn."""
        return self.draw(*self.arguments, **self.options)

    def key(self) -> str:
        """sha256 of everything that the figure depends on, including whole tables, not samples of them."""
        content = io.BytesIO()
        pickler = pickle.Pickler(content, protocol=5)
        # Without references to what was written before: equal tables share fewer objects once they come from a cache.
        pickler.fast = True
        pickler.dump((self.draw.__module__, self.draw.__qualname__, self.arguments, self.options))
        return hashlib.sha256(content.getvalue()).hexdigest()


class Drawn(BaseFigure):  # type: ignore[misc]
    """A finished figure. ``st.plotly_chart`` does not validate it again, as it would a plain dictionary."""

    def __init__(self, content: dict[str, Any]):  # skips Plotly's slow validation of each value
        self._content = content

    def to_dict(self) -> dict[str, Any]:
        """The figure as a dictionary in Plotly's JSON format; shared by all users, so it must not be changed."""
        return self._content

    def for_clicks(self) -> "Drawn":
        """A copy whose points can be clicked, as Streamlit sets it later, for which Plotly draws a figure anew."""
        layout = self._content["layout"] | {"clickmode": "event+select", "dragmode": "pan"}
        return Drawn(self._content | {"layout": layout})


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
    content = theme.finished(_wanted.figure())
    # Of one revision Plotly keeps what it drew.
    content["layout"]["datarevision"] = key
    return Drawn(content)


def forget() -> None:
    _on_page.clear()


@dataclass(frozen=True)
class Stamp:
    """Origin of a figure: the selection in words, the runs, and the shown one of several panels, for the names of
    files.

    ``data_version`` is the fingerprint of the database, ``""`` for live predictions.
    """

    filters: str
    data_version: str = ""
    run_ids: tuple[str, ...] = ()
    panel: str = ""

    @property
    def data(self) -> str:
        """Fingerprint in words: data version and runs."""
        runs = ", ".join(run[:8] for run in self.run_ids[:4]) + (", …" if len(self.run_ids) > 4 else "")
        parts = [f"data {self.data_version[:12]}" if self.data_version else "", f"runs {runs}" if runs else ""]
        return " · ".join(part for part in parts if part)

    @property
    def text(self) -> str:
        """Filters and fingerprint on one line."""
        return " · ".join(part for part in ("BERTnesia Explorer", self.filters, self.data) if part)


def csv_bytes(table: pd.DataFrame, stamp: Stamp) -> bytes:
    """The table as CSV in UTF-8; its last two columns are filters and fingerprint.

    Text that a spreadsheet would run as a formula is preceded by an apostrophe.
    """
    runs = f"{stamp.data_version} {' '.join(stamp.run_ids)}".strip()
    return as_csv(table.assign(filters=stamp.filters, data=runs)).encode("utf-8")


def html_bytes(figure: go.Figure, stamp: Stamp, title: str = "", *, whole: bool = True) -> bytes:
    """The figure as one interactive HTML file, with its stamp as a comment, and as title if none is given.

    ``whole`` files have Plotly's script, 4.8 MB, and need no network; others load it.
    """
    figure = theme.ink(go.Figure(figure))
    body: str = figure.to_html(include_plotlyjs=True if whole else "cdn", full_html=True, config={"displaylogo": False})
    # "--" would end a comment early.
    comment = html.escape(f"{stamp.text} · {stamp.data_version} {' '.join(stamp.run_ids)}").replace("--", "&#45;&#45;")
    head = f"<head>\n<!-- {comment} -->\n<title>{html.escape(title or stamp.text)}</title>"
    return body.replace("<html>", '<html lang="en">', 1).replace("<head>", head, 1).encode("utf-8")


def file_name(name: str, stamp: Stamp, ending: str = "") -> str:
    """ "layer-curves-1a2b3c4d.csv"."""
    parts = [name, re.sub(r"[^\w.]+", "-", stamp.panel), stamp.data_version[:8]]
    return "-".join(part for part in parts if part) + ending
