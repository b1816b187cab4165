"""Figures of when facts are forgotten in a training, and of what prevents it: task score against facts kept."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.forgetting.series import NAMES
from probing.kernel.figures import theme
from probing.kernel.figures.axis import EndLabel, write
from probing.kernel.recipe import UNPROTECTED, protection_in_words

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


def _placed(scored: pd.DataFrame, texts: list[str], controls: Sequence[float], means: pd.DataFrame | None) -> list[str]:
    """Where each point's name stands, so that on a phone it covers no name, point, whisker or line, nor is cut."""
    left, floor = scored["score"].min(), scored["kept_low"].min()
    wide, high = (scored["score"].max() - left) or 1, (scored["kept_high"].max() - floor) or 1
    heights = ((scored[of] - floor) * _HIGH / high for of in ("kept", "kept_low", "kept_high"))
    ends = list(zip((scored["score"] - left) * _WIDE / wide, *heights, strict=True))
    occupied: list[_Box] = []
    for x, y, low, top in ends:
        half = _POINT / 2
        occupied += [(x - half, y - half, x + half, y + half), (x - 2, low, x + 2, top)]
    # The dashed lines of the controls, and that of the means.
    occupied += [(0, y - 2, _WIDE, y + 2) for y in ((kept - floor) * _HIGH / high for kept in controls)]
    if means is not None:
        line = (means["score"] - left) * _WIDE / wide, (means["own_minus_swapped"] - floor) * _HIGH / high
        at = np.linspace(0, len(means) - 1, 20 * len(means))
        for x, y in zip(*(np.interp(at, np.arange(len(means)), values) for values in line), strict=True):
            occupied.append((x - 2, y - 2, x + 2, y + 2))
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


def on_one_scale(points: pd.DataFrame) -> pd.DataFrame:
    """The recipes with a score; of two parts of the data, those scored on the test part."""
    scored = points[~points["control"].astype(bool)].dropna(subset=["score", "kept"])
    tested = scored["metric"] != DEVELOPMENT
    return scored[tested] if tested.any() else scored


def prevention_points(points: pd.DataFrame, line: pd.DataFrame | None = None, *, colour: str = theme.KEPT) -> go.Figure:
    """One point per recipe; up and to the right is better. The unprotected training is a diamond.

    Whiskers reach from the smallest to the largest value over seeds; recipes that another one beats in both are grey.
    The control has no score: what it keeps is a dashed line. ``points``: ``forgetting.report_series.prevention``
    of one base, objective and probe set, and the control's rows. ``line``: ``forgetting.report_series.line`` of all
    facts of one model.
    """
    control, scored = points["control"].astype(bool), on_one_scale(points)
    if scored.empty:
        return theme.empty("No training with a score on its task was asked for facts.")
    figure = go.Figure()
    _controls(figure, points[control].dropna(subset=["kept"]), scored["score"])
    names = _names(scored)
    texts = [theme.breakable(name, 16) for name in names]
    places = _placed(scored, texts, list(points.loc[control, "kept"].dropna()), line)
    for row, name, text, place in zip(scored.itertuples(), names, texts, places, strict=True):
        mark = "diamond" if row.protection == UNPROTECTED else "circle"
        shade = theme.NEUTRAL if row.dominated else colour
        figure.add_scatter(
            x=[row.score],
            y=[100 * row.kept],
            mode="markers",
            showlegend=False,
            name=theme.plain(name),
            marker={"color": shade, "size": 11, "symbol": mark},
            error_x=theme.whiskers([row.score_high - row.score], [row.score - row.score_low]),
            error_y=theme.whiskers([100 * (row.kept_high - row.kept)], [100 * (row.kept - row.kept_low)]),
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
    if line is not None and len(line):
        # With few of the fine-tuned weights, scores lie far below all recipes.
        low, high = scored["score_low"].min(), max(scored["score_high"].max(), line["score"].max())
        figure.update_xaxes(range=[low - 0.25 * (high - low), high + 0.1 * (high - low)])
        look = {"mode": "lines+markers", "line": {"color": theme.BACK}, "showlegend": False, "text": line["a"]}
        figure.add_scatter(x=line["score"], y=100 * line["own_minus_swapped"], name="mean of both weights", **look)
    return figure


def line_curve(points: pd.DataFrame, *, base: str, model: str) -> go.Figure:
    """Facts kept and gained, in % of those that the base knows, and score, from the base's weights to the model's own.

    ``points``: ``forgetting.report_series.line`` of one model and probe set, all facts.
    """
    if points.empty or not (known := points["known"]).all():
        return theme.empty("No means of these weights were asked for facts that the base knows.")
    figure = go.Figure()
    swapped = points["swapped"] / points["paired"].where(points["paired"] > 0)
    lines = {"kept": (theme.KEPT, points["kept"] / known), "gained": (theme.GAINED, points["gained"] / known)}
    lines |= {"blind guess": (theme.NEUTRAL, swapped), "score": (theme.INK, points["score"])}
    for name, (colour, shares) in lines.items():
        if shares.notna().any():
            look = {"color": colour, "dash": theme.line_dash(name == "score")}
            figure.add_scatter(x=points["a"], y=100 * shares, mode="lines+markers", name=name, line=look)
    theme.apply(figure, height=340)
    ends = [f"0<br>{theme.plain(base)}", "0.5", f"1<br>{theme.plain(model)}"]
    figure.update_xaxes(title_text="weight of the fine-tuned model", tickvals=[0, 0.5, 1], ticktext=ends)
    figure.update_yaxes(title_text="% of the facts that the base knows", rangemode="tozero")
    return figure


#: Column -> its colour and its name. Of the facts known before, those that are not lost were never lost or are known
#: again.
_FLOW = {
    "kept": (theme.KEPT, "never lost"),
    "returned": (theme.BACK, "known again"),
    "lost": (theme.NOT_BACK, "lost"),
    "gained": (theme.GAINED, "gained"),
}
#: Share of the axis between two named steps.
_NEAR = 0.12
_EMPTY = "No state of this training was asked for facts."
#: The bar of colours above a map: on its side, a phone would have half the width for the map.
_BAR = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "thickness": 10, "outlinewidth": 0}
#: Its height with its title, in pixels.
_ABOVE = 72
#: Characters of a row's name.
_NAME = 26


def over_training(
    table: pd.DataFrame,
    logged: pd.DataFrame,
    *,
    model: str,
    control: str = "",
    names: Sequence[str] = ("", ""),
    half: float = math.nan,
) -> go.Figure:
    """Facts never lost, known again, lost and gained by step, in % of those known before; below, score and loss.

    The axis of steps is that of the square root, because most is lost at the start. Lines of the control, if any, are
    thin and dashed. ``table`` and ``logged``: ``forgetting.report_series.steps``, at one layer, and ``logged`` of
    both. ``half``: the step by which half of the facts were lost once; NaN if they never are.
    """
    if table.empty:
        return theme.empty(_EMPTY)
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.09, row_heights=[0.62, 0.19, 0.19])
    ends, tops = [], [100.0, 1.0, 1.0]
    for place, name in enumerate((model, control) if control else (model,)):
        rows, line = (
            table[table["model"] == name],
            {"dash": theme.line_dash(bool(place)), "width": 1.2 if place else 2.4},
        )
        before = rows["kept"] + rows["returned"] + rows["lost"]
        for column, (colour, word) in _FLOW.items():
            shares = 100 * rows[column] / before.where(before > 0)
            tops[0] = max(tops[0], float(shares.max()))
            figure.add_scatter(
                x=rows["step"] ** 0.5,
                y=shares,
                name=word,
                showlegend=False,
                mode="lines" if place else "lines+markers",
                line={"color": colour, **line},
                marker={"size": 6},
                customdata=list(zip(rows["step"], rows[column], strict=True)),
                hovertemplate=(
                    f"{theme.plain(names[place])}<br>step %{{customdata[0]:,}}: %{{customdata[1]:,}}"
                    f" {word}<extra></extra>"
                ),
                row=1,
                col=1,
            )
            if not place and len(rows) and before.iloc[-1]:
                last = float(shares.iloc[-1])
                ends.append(EndLabel(float(rows["step"].iloc[-1]) ** 0.5, last, f"{word} {last:.0f} %", colour))
        # The control's score is that of its own task.
        for row, column in ((3, "loss"),) if place else ((2, "score"), (3, "loss")):
            some = logged[(logged["model"] == name) & logged[column].notna()]
            tops[row - 1] = max(tops[row - 1], float(some[column].max())) if len(some) else tops[row - 1]
            figure.add_scatter(
                x=some["step"] ** 0.5,
                y=some[column],
                name=column,
                mode="lines",
                showlegend=False,
                line={"color": theme.NEUTRAL, **line},
                customdata=some["step"],
                hovertemplate=f"{theme.plain(names[place])}<br>step %{{customdata:,}}: %{{y:.3f}}<extra></extra>",
                row=row,
                col=1,
            )
    if half == half:
        figure.add_vline(x=half**0.5, line={"color": theme.NEUTRAL, "width": 1.2, "dash": "dot"}, row=1, col=1)
    theme.apply(figure, height=500)
    _axis_of_steps(figure, sorted(set(table["step"])))
    titles = ("facts, % of those known before", _score_title(logged[logged["model"] == model]), "training loss")
    for row, title in enumerate(titles, start=1):
        top = next(iter(figure.select_yaxes(row=row, col=1))).domain[1]
        theme.heading(figure, title, y=top, xref="paper", font_size=12)
    if half == half:
        figure.add_annotation(
            text=f"half lost by step {half:,.0f}", x=half**0.5, y=104, xanchor="left", showarrow=False, font_size=12
        )
    return write(figure, ends, ranges=[(0, top * 1.08) for top in tops], top=30)


def _axis_of_steps(figure: go.Figure, steps: Sequence[int]) -> None:
    """Names the steps whose names do not touch, from the last one back, on an axis of their square roots."""
    named: list[int] = []
    for step in reversed(steps):
        if not named or named[-1] ** 0.5 - step**0.5 > _NEAR * steps[-1] ** 0.5:
            named.append(step)
    figure.update_xaxes(tickvals=[step**0.5 for step in named], ticktext=[f"{step:,}" for step in named])
    # Else the names at the ends of lines, which have their own margin, would be given room here, too.
    figure.update_xaxes(range=[-0.03 * steps[-1] ** 0.5, 1.03 * steps[-1] ** 0.5])
    figure.update_xaxes(title_text="training step", row=3, col=1)


def retention_map(
    table: pd.DataFrame, *, by: str, names: Mapping[str, str] | None = None, dark: bool = False
) -> go.Figure:
    """Per cent of the facts known before that are known, by training step and ``layer`` or ``relation``.

    ``table``: ``report_series.steps`` of all layers or ``report_series.relations`` of one training.
    """
    if table.empty:
        return theme.empty(_EMPTY)
    known = table["kept"] + table["returned"] + table["lost"]
    shares = table["kept_share"].where(known >= table["asked"] / 100)
    wide = 100 * table.assign(kept_share=shares).pivot(index=by, columns="step", values="kept_share")
    if by == "relation":
        wide = wide.loc[wide.iloc[:, -1].sort_values(ascending=False, kind="stable").index]
    called = [theme.row_name(str((names or {}).get(name, name)), _NAME) for name in wide.index]
    figure = go.Figure(
        go.Heatmap(
            z=wide.to_numpy(),
            x=[f"{step:,}" for step in wide.columns],
            y=list(range(len(called))),
            text=[[name] * len(wide.columns) for name in called],
            zmin=0,
            zmax=100,
            colorscale=theme.known_scale(dark),
            colorbar=_BAR | {"title": {"text": "known, %", "side": "top"}},
            hovertemplate=f"{by} %{{text}}, step %{{x}}: %{{z:.1f}} %<extra></extra>",
        )
    )
    theme.apply(figure, height=max(300, int(160 + (26 if by == "layer" else 18) * len(called))))
    figure.update_layout(margin_t=_ABOVE)
    figure.update_xaxes(title_text="training step", type="category")
    theme.label_rows(figure, called, ends=(-0.5, len(called) - 0.5), title_text=by)
    return figure


def rank_map(cells: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """The rank of one fact's answer by training step and layer, of ``forgetting.report_series.ranks_of_fact``."""
    if cells.empty:
        return theme.empty("The answer is never among the first ten at the last layer, so its ranks are not stored.")
    wide = cells.pivot(index="layer", columns="step", values="bucket")
    words = [[NAMES[int(bucket)] for bucket in row] for row in wide.to_numpy()]
    figure = go.Figure(
        go.Heatmap(
            z=-wide.to_numpy(),
            x=[f"{step:,}" for step in wide.columns],
            y=wide.index,
            text=words,
            xgap=1,
            ygap=1,
            zmin=1 - len(NAMES),
            zmax=0,
            colorscale=theme.known_scale(dark),
            # A phone's cells are too narrow for words.
            colorbar=_BAR
            | {
                "title": {"text": "rank of the right answer", "side": "top"},
                "tickvals": [-bucket for bucket in range(len(NAMES))],
                "ticktext": list(NAMES),
            },
            hovertemplate="layer %{y}, step %{x}: rank %{text}<extra></extra>",
        )
    )
    theme.apply(figure, height=max(300, 160 + 26 * len(wide)))
    figure.update_layout(margin_t=_ABOVE)
    figure.update_xaxes(title_text="training step", type="category")
    figure.update_yaxes(title_text="layer", dtick=1)
    return figure


def _score_title(logged: pd.DataFrame) -> str:
    metrics = [metric for metric in dict.fromkeys(logged["metric"].dropna()) if metric != "score"]
    return f"task score ({', '.join(metrics)})" if metrics else "task score"
