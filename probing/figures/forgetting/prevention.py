"""What prevents forgetting: the score on the task against the facts that are kept, one point per recipe."""

import pandas as pd
import plotly.graph_objects as go

from probing.figures import theme

_UNPROTECTED = "unprotected"
#: The metric of a training that was followed: what its looks measured on the development part.
DEVELOPMENT = "score"
#: Share of the width next to an edge.
_EDGE = 0.25


def _towards_the_middle(score: float, scores: pd.Series) -> str:
    """Where a point's name stands, so that the figure's edge does not cut it."""
    place = (score - scores.min()) / ((scores.max() - scores.min()) or 1)
    return "top right" if place < _EDGE else "top left" if place > 1 - _EDGE else "top center"


def prevention_points(points: pd.DataFrame, *, colour: str = theme.PALETTE[0]) -> go.Figure:
    """One point per recipe; up and to the right is better. The unprotected training is a diamond, the control a cross.

    Whiskers reach from the smallest to the largest value over seeds. Recipes that another one beats in both are grey. Where trainings
    of one recipe differ, their steps are named; a development score is named as such.

    Args:
        points: ``reports.forgetting.prevention.prevention`` of one base, objective and probe set, and the control's rows.
        colour: of the recipes that no other one beats.
    """
    scored = points.dropna(subset=["score", "kept"])
    if scored.empty:
        return theme.empty("No training with a score on its task was asked for facts.")
    figure = go.Figure()
    trainings = scored.loc[~scored["control"], "protection"].value_counts()
    for row in scored.itertuples():
        mark = "x" if row.control else "diamond" if row.protection == _UNPROTECTED else "circle"
        shade = theme.NEUTRAL if row.dominated or row.control else colour
        name = "control" if row.control else row.protection
        if not row.control and trainings[name] > 1:
            name = f"{name}, {row.steps:,} steps"
        if not row.control and row.metric == DEVELOPMENT:
            name = f"{name}, development score"
        figure.add_scatter(
            x=[row.score],
            y=[100 * row.kept],
            mode="markers",
            showlegend=False,
            name=theme.plain(name),
            marker={"color": shade, "size": 11, "symbol": mark},
            error_x={"type": "data", "symmetric": False, "array": [row.score_high - row.score], "arrayminus": [row.score - row.score_low]},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [100 * (row.kept_high - row.kept)],
                "arrayminus": [100 * (row.kept - row.kept_low)],
            },
            customdata=[(row.metric, row.seeds, row.kept_count, row.steps)],
            hovertemplate=f"{theme.plain(name)}<br>%{{customdata[0]}} %{{x:.3f}}<br>%{{y:.1f}} % kept, own minus swapped subject<br>"
            "%{customdata[2]:,.0f} facts kept, %{customdata[1]} seeds, %{customdata[3]:,} steps<extra></extra>",
        )
        # Above the whisker, which would strike it through; an invisible mark keeps the distance to the point where there is none.
        figure.add_scatter(
            x=[row.score],
            y=[100 * row.kept_high],
            mode="markers+text",
            marker={"size": 11, "opacity": 0},
            text=[theme.breakable(name, 16)],
            textposition=_towards_the_middle(row.score, scored["score"]),
            hoverinfo="skip",
            showlegend=False,
            name=f"{theme.plain(name)}: name",
        )
    theme.apply(figure, height=460)
    metrics = [metric for metric in dict.fromkeys(scored.loc[~scored["control"], "metric"]) if metric]
    figure.update_xaxes(title_text=f"score on the task{f' ({metrics[0]})' if metrics else ''}")
    figure.update_yaxes(title_text="facts kept, % (own minus swapped subject)")
    return figure
