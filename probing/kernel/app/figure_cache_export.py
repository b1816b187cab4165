"""Downloads: tables and figures that state their origin."""

import html
import re
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.report_table_text import as_csv


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
    body = figure.to_html(include_plotlyjs=True if whole else "cdn", full_html=True, config={"displaylogo": False})
    # "--" would end a comment early.
    comment = html.escape(f"{stamp.text} · {stamp.data_version} {' '.join(stamp.run_ids)}").replace("--", "&#45;&#45;")
    head = f"<head>\n<!-- {comment} -->\n<title>{html.escape(title or stamp.text)}</title>"
    return body.replace("<html>", '<html lang="en">', 1).replace("<head>", head, 1).encode("utf-8")


def file_name(name: str, stamp: Stamp, ending: str = "") -> str:
    """ "layer-curves-1a2b3c4d.csv"."""
    parts = [name, re.sub(r"[^\w.]+", "-", stamp.panel), stamp.data_version[:8]]
    return "-".join(part for part in parts if part) + ending
