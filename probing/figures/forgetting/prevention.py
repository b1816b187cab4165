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


def _controls(figure: go.Figure, controls: pd.DataFrame, scores: pd.Series) -> None:
    """A dashed line at what each control keeps, from the lowest to the highest score."""
    for row in controls.itertuples():
        name = "control" if len(controls) == 1 else f"control, {row.asked:,} facts, {row.steps:,} steps"
        figure.add_scatter(
            x=[scores.min(), scores.max()] if scores.nunique() > 1 else [scores.min() - 0.05, scores.max() + 0.05],
            y=[100 * row.kept] * 2,
            mode="lines",
            line={"color": theme.NEUTRAL, "width": 1.5, "dash": theme.line_dash(True)},
            showlegend=False,
            name=name,
            hovertemplate=f"{name}<br>%{{y:.1f}} % kept beyond a blind guess<extra></extra>",
        )
        end = {"x": scores.max(), "y": 100 * row.kept, "xanchor": "right", "yanchor": "bottom"}
        figure.add_annotation(text=name, showarrow=False, font_size=12, **end)


def prevention_points(points: pd.DataFrame, *, colour: str = theme.KEPT) -> go.Figure:
    """One point per recipe; up and to the right is better. The unprotected training is a diamond.

    Whiskers reach from the smallest to the largest value over seeds. Recipes that another one beats in both are grey. Where trainings
    of one recipe differ, their steps are named; a development score is named as such. The control has no score on the task: what it
    keeps is a dashed line.

    Args:
        points: ``reports.forgetting.prevention.prevention`` of one base, objective and probe set, and the control's rows.
        colour: of the recipes that no other one beats.
    """
    scored = points[~points["control"].astype(bool)].dropna(subset=["score", "kept"])
    if scored.empty:
        return theme.empty("No training with a score on its task was asked for facts.")
    figure = go.Figure()
    below = _named_below(scored)
    trainings = scored["protection"].value_counts()
    _controls(figure, points[points["control"].astype(bool)].dropna(subset=["kept"]), scored["score"])
    for row in scored.itertuples():
        mark = "diamond" if row.protection == UNPROTECTED else "circle"
        shade = theme.NEUTRAL if row.dominated else colour
        name = protection_in_words(row.protection)
        if trainings[row.protection] > 1:
            name = f"{name}, {row.asked:,} facts, {row.steps:,} steps"
        if row.metric == DEVELOPMENT:
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
    metrics = [metric for metric in dict.fromkeys(scored["metric"]) if metric]
    figure.update_xaxes(title_text=f"task score{f' ({metrics[0]})' if metrics else ''}")
    figure.update_yaxes(title_text="facts kept beyond a blind guess, %")
    return figure
