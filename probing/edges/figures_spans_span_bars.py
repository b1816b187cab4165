"""The layers' predictions for a span that was chosen live, task by task (after Figure 3 of Tenney et al. 2019)."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

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
    figure = make_subplots(
        rows=len(panels),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=_GAP / (height - _FRAME) if len(panels) > 1 else 0,
        subplot_titles=[_heading(answers[answers["panel"] == panel]) for panel in panels],
    )
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
