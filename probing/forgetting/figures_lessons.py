"""Figure of the lessons by which lost facts come back."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme

_FRAME, _ROW = 90, 26
WRONG = "wrong answers, equally confident"


def lesson_bars(table: pd.DataFrame, *, labels: Mapping[str, str] | None = None) -> go.Figure:
    """A bar for each kind of lessons, by model: ``report_lessons.lessons`` of one probe set, k and number of steps."""
    if table.empty:
        return theme.empty("No lessons were compared.")
    names: list[str] = []
    bars = []
    for model, rows in table.groupby("model", sort=False):
        name = theme.plain((labels or {}).get(str(model), str(model)))
        names.append(f"<b>{name}</b>")
        for row in rows.itertuples():
            bars.append(
                {
                    "y": len(names),
                    "share": 100 * row.share,
                    "up": 100 * (row.high - row.share),
                    "down": 100 * (row.share - row.low),
                    "wrong": 100 * row.wrong,
                    "text": row.left_out,
                    "hover": f"<b>{row.lessons}</b>, {name}",
                }
            )
            names.append(str(row.lessons))
    drawn = pd.DataFrame(bars)
    figure = go.Figure()
    figure.add_bar(
        x=drawn["share"],
        y=drawn["y"],
        orientation="h",
        name="lost facts",
        marker={"color": theme.BACK},
        error_x=theme.whiskers(drawn["up"], drawn["down"], color=theme.NEUTRAL, thickness=1),
        customdata=drawn["hover"],
        hovertemplate="%{customdata}: %{x:.1f} % of the lost facts<extra></extra>",
    )
    figure.add_scatter(
        x=drawn["wrong"],
        y=drawn["y"],
        mode="markers",
        name=WRONG,
        marker=theme.outlined("diamond-open", theme.INK, 9, 2),
        customdata=drawn["hover"],
        hovertemplate="%{customdata}: %{x:.1f} % of wrong answers<extra></extra>",
    )
    few = drawn[drawn["text"] != ""]
    figure.add_scatter(
        x=[0] * len(few), y=few["y"], mode="text", text=few["text"], textposition="middle right", showlegend=False
    )
    theme.apply(figure, height=_FRAME + _ROW * len(names))
    figure.update_xaxes(title_text="right again after 15 steps, %", range=[0, 100])
    theme.label_rows(figure, names)
    return figure
