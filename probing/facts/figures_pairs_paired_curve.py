"""Two models on the same facts: their curves, and below them the difference with its interval."""

from collections.abc import Collection, Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.kernel.figures import theme, yardsticks
from probing.kernel.figures.axis import EndLabel, horizontal, write

#: Name of the line of a control.
SHUFFLED_LABELS = "shuffled labels"
#: Name of the lines of other models of the same base and objective.
OTHER_TRAININGS = "other trainings"


def paired_curve(
    points: pd.DataFrame,
    *,
    k: int,
    base: str,
    model: str,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """P@k of both by layer above, model minus base below; filled if the difference is significant.

    Grey: the majority answer; dotted in a model's colour: its swapped subject; dashed: ``controls``. Columns: ``layer,
    n, base_value, base_low, base_high, value, low, high, difference, difference_low, difference_high, p_value``, shares
    of the facts that both were asked; optional yardsticks ``majority, base_swapped, swapped``, ``shuffled`` (the
    control with shuffled labels), ``again_low`` and ``again_high`` (other trainings of the objective); or the result of
    ``yardsticks.pair_above``.
    """
    points = points.dropna(subset=["value"]).sort_values("layer")
    if points.empty:
        return theme.empty("No fact was asked of both models under these filters.")
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.62, 0.38], vertical_spacing=0.07)
    zero, last = yardsticks.zero_of(points), int(points["layer"].max())
    ends = yardsticks.add_zero(figure, points, row=1) + yardsticks.add_levels(
        figure, points.assign(line=model), by={}, row=1
    )
    for name, prefix in ((base, "base_"), (model, "")):
        colour, label = colours.get(name, theme.NEUTRAL), (labels or {}).get(name, name)
        lent = f"{prefix}swapped"
        if lent in points and points[lent].notna().any():
            look = {"dash": "dot", "color": colour, "width": 1.3}
            words = theme.plain(label), yardsticks.SWAPPED
            _line(figure, points, lent, ": ".join(words), look, opacity=0.8, hover="<br>".join(words))
            ends.append(EndLabel(last, float(points[lent].iloc[-1]) * 100, yardsticks.SWAPPED, colour, strong=False))
        theme.interval_band(
            figure, points["layer"], points[f"{prefix}low"] * 100, points[f"{prefix}high"] * 100, colour, row=1, col=1
        )
        figure.add_scatter(
            x=points["layer"],
            y=points[f"{prefix}value"] * 100,
            mode="lines+markers",
            cliponaxis=False,
            name=theme.plain(label),
            showlegend=False,
            line={"color": colour, "width": 2.5, "dash": theme.line_dash(name in controls)},
            marker={
                "symbol": "circle-open" if name == base else "circle",
                "size": 8,
                "color": colour,
                "line": {"width": 1.5, "color": colour},
            },
            customdata=[[name, int(layer)] for layer in points["layer"]],
            hovertext=[_hover(point, prefix, label, zero) for point in points.to_dict("records")],
            hovertemplate="%{hovertext}<extra></extra>",
            row=1,
            col=1,
        )
        ends.append(EndLabel(last, float(points[f"{prefix}value"].iloc[-1]) * 100, label, colour))
    colour = colours.get(model, theme.NEUTRAL)
    if "shuffled" in points and points["shuffled"].notna().any():
        _line(figure, points, "shuffled", SHUFFLED_LABELS, {"dash": "longdashdot", "color": colour, "width": 1.3})
        ends.append(EndLabel(last, float(points["shuffled"].iloc[-1]) * 100, SHUFFLED_LABELS, colour, strong=False))
    if "again_low" in points and points["again_low"].notna().any():
        for end, word in (("again_low", "least"), ("again_high", "most")):
            _line(figure, points, end, f"{OTHER_TRAININGS}, {word}", {"color": colour, "width": 0.8}, opacity=0.7)
        ends.append(EndLabel(last, float(points["again_high"].iloc[-1]) * 100, OTHER_TRAININGS, colour, strong=False))
    low, high = points["difference_low"] * 100, points["difference_high"] * 100
    theme.interval_band(figure, points["layer"], low, high, colour, row=2, col=1)
    sure = [colour if _sure(point) else "rgba(0,0,0,0)" for point in points.itertuples()]
    figure.add_scatter(
        x=points["layer"],
        y=points["difference"] * 100,
        mode="lines+markers",
        cliponaxis=False,
        showlegend=False,
        name="difference",
        line={"color": colour, "width": 1.5},
        marker={"symbol": "diamond", "size": 9, "color": sure, "line": {"width": 1.5, "color": colour}},
        hovertext=[
            f"layer {int(point.layer)}: {point.difference * 100:+.1f} points<br>95 % interval"
            f" {point.difference_low * 100:+.1f} to {point.difference_high * 100:+.1f}"
            + (f"<br>McNemar p {p_words(point.p_value)}" if pd.notna(point.p_value) else "")
            for point in points.itertuples()
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        row=2,
        col=1,
    )
    theme.apply(theme.clickable_last(figure), height=460)
    for row in (1, 2):
        horizontal(figure, last, row=row, col=1)
    figure.update_xaxes(range=[-0.5, last + 0.15])
    figure.update_xaxes(title_text="", showticklabels=False, row=1, col=1)
    figure.add_hline(y=0, line={"color": theme.NEUTRAL, "width": 1.2}, row=2, col=1)
    title = f"minus {zero},<br>points (P@{k})" if zero else f"right answers,<br>% (P@{k})"
    figure.update_yaxes(title_text=title, ticksuffix="", row=1, col=1)
    figure.update_yaxes(title_text="difference, points", row=2, col=1)
    both = ("value", "low", "high", "base_value", "base_low", "base_high", "majority", "swapped", "base_swapped")
    signed = points.assign(zero="difference")
    ranges = [
        yardsticks.extent(points, both, 100),
        yardsticks.extent(signed, ("difference", "difference_low", "difference_high"), 100),
    ]
    return write(figure, ends, ranges=ranges)


def _line(
    figure: go.Figure,
    points: pd.DataFrame,
    column: str,
    name: str,
    look: dict,
    *,
    opacity: float | None = None,
    hover: str = "",
) -> None:
    """A yardstick's line in the upper panel."""
    figure.add_scatter(
        x=points["layer"],
        y=points[column] * 100,
        mode="lines",
        line=look,
        opacity=opacity,
        showlegend=False,
        name=name,
        row=1,
        col=1,
        hovertemplate=f"{hover or name}: %{{y:.1f}} %<extra></extra>",
    )


def _sure(point) -> bool:
    """Whether a difference is significant: by its test, or by its interval if there is no test."""
    return (
        bool(point.p_value <= 0.05)
        if pd.notna(point.p_value)
        else point.difference_low > 0 or point.difference_high < 0
    )


def _hover(point: dict, prefix: str, label: str, zero: str) -> str:
    value, low, high = (point[f"{prefix}{name}"] * 100 for name in ("value", "low", "high"))
    if zero:
        words = f"{value:+.1f} points against the {zero}<br>95 % interval {low:+.1f} to {high:+.1f}"
    else:
        words = f"{value:.1f} %<br>95 % interval {low:.1f} to {high:.1f} %"
    facts = int(point.get(f"{prefix}n", point["n"]))
    return f"<b>{theme.plain(label)}</b><br>layer {int(point['layer'])}: {words}<br>{facts:,} facts"


def p_words(p: float) -> str:
    """A p-value for a reader: "= 0.031", "< 0.0001"."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}"
