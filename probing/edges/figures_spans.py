"""How single targets are decided layer by layer (Figure 3 of Tenney et al. 2019)."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal_panels, readable
from probing.kernel.figures.theme import Shape, add, vertical

#: The right label, and the wrong one with the greatest mean over the layers (Figure 3's blue and orange).
RIGHT, WRONG = "#0072B2", "#E69F00"
_PANEL, _GAP, _FRAME = 74, 34, 150


def trace_bars(traces: pd.DataFrame) -> go.Figure:
    """One panel per target and right label: its share upwards, the best wrong label's downwards, layer by layer.

    A line marks the layer from which the right label stays the most probable one. Columns: ``panel`` (a key), ``title,
    gold, wrong`` (names), ``layer, p_gold, p_wrong`` (shares of all labels' probabilities), ``sigmoid_gold,
    sigmoid_wrong`` (as the probe gives them), ``right``, ``settled`` (a layer, empty if the last layer is wrong).
    """
    if traces.empty:
        return theme.empty("No trace is stored for this sentence.")
    panels = list(dict.fromkeys(traces["panel"]))
    first = traces.drop_duplicates("panel").set_index("panel")
    height = _FRAME + (_PANEL + _GAP) * len(panels)
    figure = make_subplots(
        rows=len(panels),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=_GAP / (height - _FRAME) if len(panels) > 1 else 0,
        subplot_titles=[_heading(first.loc[panel]) for panel in panels],
    )
    figure.update_annotations(font_size=12, x=0, xanchor="left")
    lines = [
        line
        for row, panel in enumerate(panels, start=1)
        for line in _add_panel(figure, traces[traces["panel"] == panel].sort_values("layer"), row)
    ]
    add(figure, lines)
    theme.apply(figure, height=height)
    figure.update_layout(barmode="relative", bargap=0.2, margin_t=76, legend_y=1 + 40 / (height - _FRAME))
    horizontal_panels(figure, int(traces["layer"].max()), [(row, 1) for row in range(1, len(panels) + 1)])
    for row in range(1, len(panels)):
        figure.update_xaxes(title_text="", showticklabels=False, row=row, col=1)
    figure.update_yaxes(
        range=[-1.05, 1.05],
        tickmode="array",
        tickvals=[-1, 0, 1],
        ticktext=["1", "0", "1"],
        zeroline=True,
        zerolinecolor=theme.NEUTRAL,
        zerolinewidth=1,
        showgrid=False,
    )
    return figure


def _heading(row: pd.Series) -> str:
    """The question, and both labels in their colours; short enough for a phone."""
    right, wrong = (
        f'<span style="color:{readable(colour)}">{theme.plain(theme.shorten(str(row[name]), 18))}</span>'
        for name, colour in (("gold", RIGHT), ("wrong", WRONG))
    )
    return f"{theme.plain(theme.shorten(str(row['title']), 40))} · <b>{right}</b> or {wrong}"


def _add_panel(figure: go.Figure, layers: pd.DataFrame, row: int) -> list[Shape]:
    """Draws the bars; returns the line before the layer from which the answer stays right, if there is one."""
    first = layers.iloc[0]
    bars = (
        ("p_gold", "sigmoid_gold", "right label", first["gold"], RIGHT, 1),
        ("p_wrong", "sigmoid_wrong", "best wrong label", first["wrong"], WRONG, -1),
    )
    for column, raw, name, label, colour, sign in bars:
        plain_name = theme.plain(str(label))
        figure.add_bar(
            x=layers["layer"],
            y=sign * layers[column],
            name=name,
            legendgroup=name,
            showlegend=row == 1,
            marker={"color": colour},
            customdata=list(zip(layers[column], layers[raw], strict=True)),
            row=row,
            col=1,
            hovertemplate=(
                f"layer %{{x}}: {plain_name} (%{{fullData.name}})<br>share %{{customdata[0]:.2f}}, sigmoid"
                " %{customdata[1]:.2f}<extra></extra>"
            ),
        )
    if pd.isna(first["settled"]):
        return []
    return [
        vertical(
            figure, float(first["settled"]) - 0.5, row, 1, line={"color": theme.NEUTRAL, "width": 1.6, "dash": "dot"}
        )
    ]
