"""Entropy, distance and shares of attention by layer, one panel each."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.kernel.figures import theme

#: Measure -> title, unit.
PANELS = {
    "entropy": ("entropy", "nats"),
    "distance": ("distance from the base", "tokens"),
    "first": ("share on the first token", ""),
    "separator": ("share on separators", ""),
    "punctuation": ("share on punctuation", ""),
    "self": ("share on itself", ""),
}
_PANEL, _FRAME = 150, 140


def attention_panels(
    values: pd.DataFrame, *, colours: Mapping[str, str], dashes: Mapping[str, str], yardsticks: Mapping[str, float]
) -> go.Figure:
    """Two panels per row, one line per model; dotted: the value for equal attention to all tokens.

    Columns: ``name, measure, layer, value`` with layers from 1; measures are keys of ``PANELS``.
    """
    drawn = [measure for measure in PANELS if (values["measure"] == measure).any()]
    rows = -(-len(drawn) // 2)
    height = _FRAME + rows * _PANEL + (rows - 1) * 60
    figure = make_subplots(
        rows=rows,
        cols=2,
        vertical_spacing=60 / (height - _FRAME) if rows > 1 else 0,
        horizontal_spacing=0.14,
        subplot_titles=[
            theme.plain(PANELS[measure][0] + (f", {PANELS[measure][1]}" if PANELS[measure][1] else ""))
            for measure in drawn
        ],
    )
    figure.update_annotations(font_size=12)
    last = int(values["layer"].max())
    for place, measure in enumerate(drawn):
        where = {"row": place // 2 + 1, "col": place % 2 + 1}
        if measure in yardsticks:
            figure.add_scatter(
                x=[0.5, last + 0.5],
                y=[yardsticks[measure]] * 2,
                mode="lines",
                name="equal attention",
                legendgroup="equal",
                line={"color": theme.NEUTRAL, "width": 1.5, "dash": "dot"},
                showlegend=measure == next(iter(yardsticks)),
                hovertemplate="equal attention to all tokens: %{y:.3f}<extra></extra>",
                **where,
            )
        for name, line in values[values["measure"] == measure].groupby("name", sort=False):
            line, label = line.sort_values("layer"), theme.plain(str(name))
            figure.add_scatter(
                x=line["layer"],
                y=line["value"],
                name=label,
                legendgroup=label,
                mode="lines+markers",
                showlegend=measure == drawn[0],
                line={
                    "color": colours.get(str(name), theme.NEUTRAL),
                    "width": 2,
                    "dash": dashes.get(str(name), "solid"),
                },
                marker={"size": 6},
                hovertemplate=f"<b>{label}</b><br>layer %{{x}}: %{{y:.3f}}<extra></extra>",
                **where,
            )
        figure.update_yaxes(rangemode="tozero", nticks=4, **where)
    theme.apply(figure, height=height)
    figure.update_layout(legend_y=1 + 36 / (height - _FRAME), margin_t=80)
    figure.update_xaxes(dtick=1 if last <= 8 else 2 if last <= 16 else 4, range=[0.5, last + 0.5], showgrid=False)
    for column in (1, 2):
        if len(drawn) >= column:
            figure.update_xaxes(
                title_text="layer", row=rows if (len(drawn) % 2 == 0 or column == 1) else rows - 1, col=column
            )
    return figure
