"""A figure as PDF, which the package kaleido makes with a browser of this machine."""

import importlib.util

import plotly.graph_objects as go
import plotly.io as pio

from probing.kernel.errors import FigureError
from probing.kernel.figures.paper import Columns, sized

INSTALL_KALEIDO = 'pip install "kaleido>=1.3,<2"'
INSTALL_BROWSER = "plotly_get_chrome"


def missing() -> str:
    """The command that installs what is missing here for PDF; empty if nothing is."""
    if importlib.util.find_spec("kaleido") is None:
        return INSTALL_KALEIDO
    from choreographer.browsers.chromium import Chromium

    return "" if Chromium.find_browser(skip_local=False) else INSTALL_BROWSER


def pdf(figure: go.Figure, columns: Columns) -> bytes:
    """The figure as PDF; FigureError if kaleido or a browser is missing, or the browser fails."""
    if command := missing():
        raise FigureError(
            "PDF needs the package kaleido and a Chrome browser on the server; this command installs what is missing:"
            f" {command}"
        )
    drawn = sized(figure, columns)
    try:
        return pio.to_image(drawn, format="pdf", width=drawn.layout.width, height=drawn.layout.height, scale=1)
    except (RuntimeError, ValueError, OSError) as error:
        raise FigureError(f"the server's browser made no PDF: {error}. Save the figure as SVG") from error
