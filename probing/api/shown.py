"""How figures and tables are shown in a notebook, which has no page around them."""

from typing import TYPE_CHECKING

import pandas as pd

from probing.figures import theme

if TYPE_CHECKING:
    from probing.figures.theme import go

#: Rows of a table that a notebook shows below a figure.
_MAX_ROWS = 200


def for_notebook(figure: "go.Figure", dark: bool = False) -> "go.Figure":
    """The figure with its own background and text colours, which the theme sets on a page."""
    return theme.ink(figure, dark=dark)


def as_html(figure: "go.Figure", table: pd.DataFrame) -> str:
    """A figure with its numbers below it, folded up. Plotly's script comes from the network; without a network the numbers remain."""
    drawn = figure.to_html(full_html=False, include_plotlyjs="cdn", config={"displaylogo": False})
    return f"{drawn}<details><summary>{len(table):,} rows</summary>{table.to_html(index=False, max_rows=_MAX_ROWS, border=0)}</details>"
