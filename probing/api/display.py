"""Display of figures and tables in a notebook."""

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pandas as pd

from probing.core.questions import Answer, EveryToken
from probing.figures import theme

if TYPE_CHECKING:
    from probing.figures.theme import go

#: The predictions that are shown.
Asked = TypeVar("Asked", Answer, EveryToken)
#: Rows of a table that a notebook shows below a figure.
_MAX_ROWS = 200
#: The MIME type that JupyterLab and VS Code draw as a figure.
PLOTLY_MIME = "application/vnd.plotly.v1+json"
_CONFIG = {"displaylogo": False}
#: Opens the table before this script if Plotly's script did not arrive within some seconds.
_OPEN_THE_NUMBERS = (
    "<script>((numbers) => setTimeout(() => { if (!window.Plotly && numbers) numbers.open = true }, 3000))"
    "(document.currentScript && document.currentScript.previousElementSibling)</script>"
)


def for_notebook(figure: "go.Figure", dark: bool = False) -> "go.Figure":
    """The figure with its own background and text colours, which come from the theme on a page."""
    return theme.ink(figure, dark=dark)


class Shown(ABC):
    """An answer that a notebook shows as its figure.

    JupyterLab and VS Code draw Plotly's own format by themselves, so they need no network. Other programs take the
    HTML.
    """

    @abstractmethod
    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        """The figure and its numbers."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {PLOTLY_MIME: as_plotly(self._drawn()[0])}

    def _repr_html_(self) -> str:
        return as_html(*self._drawn())


class SentenceShown(Shown, Generic[Asked]):
    """What the heads of one model predict for one sentence."""

    def __init__(self, answer: Asked):
        self._answer: Asked = answer

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._answer.model

    @property
    def head(self) -> str:
        """Kind of the decoding heads."""
        return self._answer.head

    @property
    def pieces(self) -> list[str]:
        """The word pieces of the sentence, including special tokens."""
        return list(self._answer.pieces)


def as_plotly(figure: "go.Figure") -> dict[str, Any]:
    """A figure in Plotly's format for notebooks, made of plain JSON values."""
    return json.loads(figure.to_json()) | {"config": _CONFIG}


def as_html(figure: "go.Figure", table: pd.DataFrame) -> str:
    """A figure with its numbers below it, collapsed. Plotly's script comes from the network; without it, the numbers
    are opened.
    """
    drawn = figure.to_html(full_html=False, include_plotlyjs="cdn", config=_CONFIG)
    numbers = table.to_html(index=False, max_rows=_MAX_ROWS, border=0)
    return f"{drawn}<details><summary>{len(table):,} rows</summary>{numbers}</details>{_OPEN_THE_NUMBERS}"
