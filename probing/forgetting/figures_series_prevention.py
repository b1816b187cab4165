"""What prevents forgetting: the score on the task against the facts that are kept, one point per recipe."""

import pandas as pd
import plotly.graph_objects as go

from probing.finetuning.recipe import UNPROTECTED, protection_in_words
from probing.kernel.figures import theme

#: The metric of a training that was followed: what its looks measured on the development part.
DEVELOPMENT = "score"
#: Width and height that the points take on a phone, of a line and of a character of a name, and of a point, in pixels.
_WIDE, _HIGH, _LINE, _CHARACTER, _POINT = 215, 300, 15, 6.4, 14
#: Room for a name beyond the outermost points, and how much worse it is to cover something than to reach out of that
#: room.
_EDGE, _WORSE = 20, 8
#: Where a name can stand, the best first: Plotly's word, and in which directions from its point.
_PLACES = {
    f"{vertical} {horizontal}": (across, up)
    for vertical, up in (("top", 1), ("bottom", -1), ("middle", 0))
    for horizontal, across in (("center", 0), ("left", -1), ("right", 1))
    if across or up
}
_Box = tuple[float, float, float, float]


def _names(scored: pd.DataFrame) -> list[str]:
    """What each point is called; of trainings with one recipe, by what tells them apart."""
    names = []
    for row in scored.itertuples():
        alike = scored[scored["protection"] == row.protection]
        words = [protection_in_words(row.protection)]
        words += [
            f"{getattr(row, of):,} {unit}"
            for of, unit in (("asked", "facts"), ("steps", "steps"))
            if alike[of].nunique() > 1
        ]
        words += ["development score"] if row.metric == DEVELOPMENT else []
        names.append(", ".join(words))
    return names


def _placed(scored: pd.DataFrame, texts: list[str]) -> list[str]:
    """Where each point's name stands, so that on a phone it covers no name, point or whisker, nor is cut."""
    left, floor = scored["score"].min(), scored["kept_low"].min()
    wide, high = (scored["score"].max() - left) or 1, (scored["kept_high"].max() - floor) or 1
    heights = ((scored[of] - floor) * _HIGH / high for of in ("kept", "kept_low", "kept_high"))
    ends = list(zip((scored["score"] - left) * _WIDE / wide, *heights, strict=True))
    occupied: list[_Box] = []
    for x, y, low, top in ends:
        half = _POINT / 2
        occupied += [(x - half, y - half, x + half, y + half), (x - 2, low, x + 2, top)]
    places = [""] * len(texts)
    # The largest names first, for which there are the fewest places.
    for number in sorted(range(len(texts)), key=lambda n: -len(texts[n])):
        (x, y, low, top), lines = ends[number], texts[number].split("<br>")
        size = max(map(len, lines)) * _CHARACTER, len(lines) * _LINE
        boxes = {place: _box((x, {1: top, 0: y, -1: low}[to[1]]), size, to) for place, to in _PLACES.items()}
        covered = {
            place: _WORSE * sum(_shared(box, other) for other in occupied) + _outside(box, size)
            for place, box in boxes.items()
        }
        best = min(covered, key=lambda place: round(covered[place]))
        places[number] = best
        occupied.append(boxes[best])
    return places


def _box(point: tuple[float, float], size: tuple[float, float], to: tuple[int, int]) -> _Box:
    """Left, lower, right and upper end of a name beside a point."""
    (x, y), (wide, high), (across, up) = point, size, to
    x += across * (wide / 2 + (0 if up else _POINT / 2))
    y += up * (high + _POINT) / 2
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _shared(box: _Box, other: _Box) -> float:
    """Area that two boxes share."""
    return max(min(box[2], other[2]) - max(box[0], other[0]), 0) * max(min(box[3], other[3]) - max(box[1], other[1]), 0)


def _outside(box: _Box, size: tuple[float, float]) -> float:
    """Area of a name beyond the edges."""
    return size[0] * size[1] - _shared(box, (-_EDGE, -_EDGE, _WIDE + _EDGE, _HIGH + _EDGE))


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

    Whiskers reach from the smallest to the largest value over seeds; recipes that another one beats in both are grey.
    The control has no score: what it keeps is a dashed line. ``points``: ``forgetting.report_series_prevention.prevention``
    of one base, objective and probe set, and the control's rows.
    """
    control = points["control"].astype(bool)
    scored = points[~control].dropna(subset=["score", "kept"])
    if scored.empty:
        return theme.empty("No training with a score on its task was asked for facts.")
    figure = go.Figure()
    _controls(figure, points[control].dropna(subset=["kept"]), scored["score"])
    names = _names(scored)
    texts = [theme.breakable(name, 16) for name in names]
    for row, name, text, place in zip(scored.itertuples(), names, texts, _placed(scored, texts), strict=True):
        mark = "diamond" if row.protection == UNPROTECTED else "circle"
        shade = theme.NEUTRAL if row.dominated else colour
        figure.add_scatter(
            x=[row.score],
            y=[100 * row.kept],
            mode="markers",
            showlegend=False,
            name=theme.plain(name),
            marker={"color": shade, "size": 11, "symbol": mark},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [row.score_high - row.score],
                "arrayminus": [row.score - row.score_low],
            },
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [100 * (row.kept_high - row.kept)],
                "arrayminus": [100 * (row.kept - row.kept_low)],
            },
            customdata=[(row.metric, row.seeds, row.kept_count, row.steps)],
            hovertemplate=(
                f"{theme.plain(name)}<br>%{{customdata[0]}} %{{x:.3f}}<br>%{{y:.1f}} % kept beyond a blind"
                " guess<br>%{customdata[2]:,.0f} facts kept, %{customdata[1]} seeds, %{customdata[3]:,}"
                " steps<extra></extra>"
            ),
        )
        # Above or below the whisker, which would strike it through; an invisible mark keeps the distance to a point
        # that has none.
        figure.add_scatter(
            x=[row.score],
            y=[100 * {"top": row.kept_high, "middle": row.kept, "bottom": row.kept_low}[place.split()[0]]],
            mode="markers+text",
            marker={"size": 11, "opacity": 0},
            text=[text],
            textfont={"size": 12},
            textposition=place,
            cliponaxis=False,
            hoverinfo="skip",
            showlegend=False,
            name=f"{theme.plain(name)}: name",
        )
    theme.apply(figure, height=460)
    metrics = [metric for metric in dict.fromkeys(scored["metric"]) if metric]
    figure.update_xaxes(title_text=f"task score{f' ({metrics[0]})' if metrics else ''}")
    figure.update_yaxes(title_text="facts kept beyond a blind guess, %")
    return figure
