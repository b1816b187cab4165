"""What prevents forgetting: the score on the task against the facts that are kept, one point per recipe."""

import pandas as pd
import plotly.graph_objects as go

from probing.core.tasks.recipe import UNPROTECTED, protection_in_words
from probing.figures import theme

#: The metric of a training that was followed: what its looks measured on the development part.
DEVELOPMENT = "score"
#: Share of the width next to an edge.
_EDGE = 0.25
#: Size of a name on a phone, as shares of the width and the height that the points take.
_WIDE, _HIGH = 0.4, 0.06


def _towards_the_middle(score: float, scores: pd.Series) -> str:
    """On which side of a point its name stands, so that the figure's edge does not cut it."""
    place = (score - scores.min()) / ((scores.max() - scores.min()) or 1)
    return "right" if place < _EDGE else "left" if place > 1 - _EDGE else "center"


def _named_below(scored: pd.DataFrame) -> set[object]:
    """Index of the points whose names stand below them, because one above would cover the name of a point just named above."""
    above: list[tuple[float, float]] = []
    below: set[object] = set()
    width, height = (scored["score"].max() - scored["score"].min()) or 1, (scored["kept_high"].max() - scored["kept_low"].min()) or 1
    for row in scored.sort_values("kept_high", ascending=False).itertuples():
        if any(abs(row.score - score) < _WIDE * width and abs(row.kept_high - kept) < _HIGH * height for score, kept in above):
            below.add(row.Index)
        else:
            above.append((row.score, row.kept_high))
    return below


def prevention_points(points: pd.DataFrame, *, colour: str = theme.KEPT) -> go.Figure:
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
    below = _named_below(scored)
    trainings = scored.loc[~scored["control"], "protection"].value_counts()
    for row in scored.itertuples():
        mark = "x" if row.control else "diamond" if row.protection == UNPROTECTED else "circle"
        shade = theme.NEUTRAL if row.dominated or row.control else colour
        name = "control" if row.control else protection_in_words(row.protection)
        if not row.control and trainings[row.protection] > 1:
            name = f"{name}, {row.asked:,} facts, {row.steps:,} steps"
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
            hovertemplate=f"{theme.plain(name)}<br>%{{customdata[0]}} %{{x:.3f}}<br>%{{y:.1f}} % kept beyond a blind guess<br>"
            "%{customdata[2]:,.0f} facts kept, %{customdata[1]} seeds, %{customdata[3]:,} steps<extra></extra>",
        )
        # Above or below the whisker, which would strike it through; an invisible mark keeps the distance to a point that has none.
        figure.add_scatter(
            x=[row.score],
            y=[100 * (row.kept_low if row.Index in below else row.kept_high)],
            mode="markers+text",
            marker={"size": 11, "opacity": 0},
            text=[theme.breakable(name, 16)],
            textfont={"size": 12},
            textposition=f"{'bottom' if row.Index in below else 'top'} {_towards_the_middle(row.score, scored['score'])}",
            hoverinfo="skip",
            showlegend=False,
            name=f"{theme.plain(name)}: name",
        )
    theme.apply(figure, height=460)
    metrics = [metric for metric in dict.fromkeys(scored.loc[~scored["control"], "metric"]) if metric]
    figure.update_xaxes(title_text=f"task score{f' ({metrics[0]})' if metrics else ''}")
    figure.update_yaxes(title_text="facts kept beyond a blind guess, %")
    return figure
