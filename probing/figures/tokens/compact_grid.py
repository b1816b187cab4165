"""The token grid with lower rows, for a page on which it is the first of several figures."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.figures.tokens.token_grid import token_grid

#: Pixels that a row is lower by; a token and its probability still have a line each.
_SAVED = 12


def compact_grid(tokens: pd.DataFrame, **options: Any) -> go.Figure:
    """The grid that ``token_grid`` draws of the same arguments, so low that twelve layers fit on a screen."""
    figure = token_grid(tokens, **options)
    layers = tokens["layer"].nunique()
    return figure.update_layout(height=figure.layout.height - _SAVED * layers)
