"""Which of two tasks (or models) has the earlier expected layer, pair by pair."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme

_CELL = 38
#: Verdict on the row against the column -> (sign, place on the colour scale).
SIGNS = {"earlier": ("earlier", -1.0), "later": ("later", 1.0), "order not resolved": ("?", 0.0)}
_SCALE = [[0.0, "#56B4E9"], [0.5, "rgba(128,136,144,0.12)"], [1.0, "#E69F00"]]


def order_matrix(pairs: pd.DataFrame, *, titles: Mapping[str, str] | None = None) -> go.Figure:
    """A square: is the row's expected layer earlier or later than the column's, or is the order not resolved?

    Columns: ``first, second, verdict, difference, low, high``: of ``first`` against ``second``, in expected layers.
    """
    if pairs.empty:
        return theme.empty("Fewer than two expected layers: there is no pair to compare.")
    names = list(dict.fromkeys([*pairs["first"], *pairs["second"]]))
    cells = {}
    for pair in pairs.to_dict("records"):
        cells[pair["first"], pair["second"]] = (pair["verdict"], pair["difference"], pair["low"], pair["high"])
        turned = {"earlier": "later", "later": "earlier"}.get(pair["verdict"], pair["verdict"])
        cells[pair["second"], pair["first"]] = (turned, -pair["difference"], -pair["high"], -pair["low"])
    called = {name: theme.plain((titles or {}).get(name, name)) for name in names}
    signs = [
        [SIGNS[cells[row, column][0]] if (row, column) in cells else ("", None) for column in names] for row in names
    ]
    hover = [[_hover(called[row], called[column], cells.get((row, column))) for column in names] for row in names]
    figure = go.Figure()
    figure.add_heatmap(
        z=[[sign[1] for sign in line] for line in signs],
        x=list(range(len(names))),
        y=list(range(len(names))),
        zmin=-1,
        zmax=1,
        colorscale=_SCALE,
        showscale=False,
        xgap=2,
        ygap=2,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        text=[[{"earlier": "◀", "later": "▶"}.get(sign[0], "") for sign in line] for line in signs],
        texttemplate="%{text}",
    )
    # Their cells are transparent, so Plotly's choice of black or white for the text would be wrong on a dark page.
    unknown = [(x, y) for y, line in enumerate(signs) for x, sign in enumerate(line) if sign[0] == "?"]
    figure.add_scatter(
        x=[x for x, _ in unknown],
        y=[y for _, y in unknown],
        mode="text",
        text=["?"] * len(unknown),
        textfont={"color": theme.NEUTRAL},
        hoverinfo="skip",
        showlegend=False,
    )
    theme.apply(figure, height=170 + _CELL * len(names))
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "showgrid": False}
    figure.update_xaxes(
        ticktext=[called[name] for name in names], side="top", tickangle=-40, ticklabeloverflow="allow", **ticks
    )
    figure.update_yaxes(ticktext=[called[name] for name in names], range=[len(names) - 0.5, -0.5], **ticks)
    # The last name leans over the right end.
    figure.update_layout(margin_t=90, margin_r=60)
    return figure


def _hover(row: str, column: str, cell: tuple | None) -> str:
    if cell is None:
        return f"{row} and {column}: not compared" if row != column else row
    verdict, difference, low, high = cell
    words = f"{row} is {verdict} than {column}" if verdict in ("earlier", "later") else f"{row} and {column}: {verdict}"
    if pd.isna(difference):
        return words
    interval = "interval unknown: too few seeds" if pd.isna(low) else f"interval {low:+.2f} to {high:+.2f}"
    return f"{words}<br>difference {difference:+.2f} layers<br>{interval}"
