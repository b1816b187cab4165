"""Figures of the layers' predictions for single spans (Tenney et al. 2019, Figure 3)."""

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal_panels, readable
from probing.kernel.figures.theme import Shape, add, vertical

#: The last layer's label, then the two next most probable ones.
COLOURS = ("#0072B2", "#E69F00", "#808890")
_PANEL, _GAP, _FRAME = 36, 38, 130


def span_bars(answers: pd.DataFrame) -> go.Figure:
    """One row per task, one column per layer, and in each cell the shares of the labels that lead to the answer.

    A dotted line marks the layer from which the answer no longer changes. Columns: ``panel`` (a key), ``title`` (the
    question), ``place`` (of the label, from 1), ``label, layer, share`` (of all labels' probabilities), ``p`` (as the
    probe gives it), ``best`` (the layer's best labels in words), ``settled`` (a layer).
    """
    if answers.empty:
        return theme.empty("No task fits the chosen words.")
    panels = list(dict.fromkeys(answers["panel"]))
    height = _FRAME + (_PANEL + _GAP) * len(panels) - _GAP
    titles = [_heading(answers[answers["panel"] == panel]) for panel in panels]
    figure = theme.stacked(len(panels), titles, _GAP / (height - _FRAME), shared_xaxes=True)
    figure.update_annotations(font_size=12, x=0, xanchor="left", align="left")
    last = int(answers["layer"].max())
    lines = [
        line
        for row, panel in enumerate(panels, start=1)
        for line in _add_panel(figure, answers[answers["panel"] == panel], row)
    ]
    add(figure, lines)
    theme.apply(figure, height=height)
    figure.update_layout(barmode="group", bargap=0.16, bargroupgap=0, showlegend=False, margin_t=48)
    horizontal_panels(figure, last, [(row, 1) for row in range(1, len(panels) + 1)])
    for row in range(1, len(panels)):
        figure.update_xaxes(title_text="", showticklabels=False, row=row, col=1)
    figure.update_yaxes(range=[0, 1.02], tickmode="array", tickvals=[0, 1], zeroline=False, showgrid=True)
    return figure


def _heading(panel: pd.DataFrame) -> str:
    """The question, and below it the labels in their colours; each line is short enough for a phone."""
    names = panel.drop_duplicates("place").sort_values("place")
    labels = " · ".join(
        f'<span style="color:{readable(COLOURS[place - 1])}">{theme.plain(theme.shorten(str(label), 20))}</span>'
        for place, label in zip(names["place"], names["label"], strict=True)
    )
    return f"<b>{theme.plain(theme.shorten(str(panel['title'].iloc[0]), 46))}</b><br>{labels}"


def _add_panel(figure: go.Figure, panel: pd.DataFrame, row: int) -> list[Shape]:
    """Draws the bars; returns the line before the layer from which the best label stays, if there is one."""
    for place, of_place in panel.groupby("place"):
        ordered = of_place.sort_values("layer")
        label = theme.plain(str(ordered["label"].iloc[0]))
        figure.add_bar(
            x=ordered["layer"],
            y=ordered["share"],
            name=label,
            marker={"color": COLOURS[int(str(place)) - 1]},
            row=row,
            col=1,
            customdata=[(p, theme.plain(best)) for p, best in zip(ordered["p"], ordered["best"], strict=True)],
            hovertemplate=(
                f"layer %{{x}}: {label}<br>share %{{y:.2f}}, sigmoid %{{customdata[0]:.2f}}<br>best here:"
                " %{customdata[1]}<extra></extra>"
            ),
        )
    settled = int(panel["settled"].iloc[0])
    look = {"color": theme.NEUTRAL, "width": 1.6, "dash": "dot"}
    return [vertical(figure, settled - 0.5, row, 1, line=look)] if settled else []


#: The right label, and the wrong one with the greatest mean over the layers (Figure 3's blue and orange).
RIGHT, WRONG = "#0072B2", "#E69F00"
_TRACES_PANEL, _TRACES_GAP, _TRACES_FRAME = 74, 34, 150


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
    height = _TRACES_FRAME + (_TRACES_PANEL + _TRACES_GAP) * len(panels)
    titles = [_trace_heading(first.loc[panel]) for panel in panels]
    figure = theme.stacked(len(panels), titles, _TRACES_GAP / (height - _TRACES_FRAME), shared_xaxes=True)
    figure.update_annotations(font_size=12, x=0, xanchor="left")
    lines = [
        line
        for row, panel in enumerate(panels, start=1)
        for line in _add_trace(figure, traces[traces["panel"] == panel].sort_values("layer"), row)
    ]
    add(figure, lines)
    theme.apply(figure, height=height)
    figure.update_layout(barmode="relative", bargap=0.2, margin_t=76, legend_y=1 + 40 / (height - _TRACES_FRAME))
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


def _trace_heading(row: pd.Series) -> str:
    """The question, and both labels in their colours; short enough for a phone."""
    right, wrong = (
        f'<span style="color:{readable(colour)}">{theme.plain(theme.shorten(str(row[name]), 18))}</span>'
        for name, colour in (("gold", RIGHT), ("wrong", WRONG))
    )
    return f"{theme.plain(theme.shorten(str(row['title']), 40))} · <b>{right}</b> or {wrong}"


def _add_trace(figure: go.Figure, layers: pd.DataFrame, row: int) -> list[Shape]:
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
