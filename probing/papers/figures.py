"""Figures of the paper on fine-tuning and sentence-level probing with our numbers."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal

_PANEL, _GAP, _FRAME = 200, 66, 170


class Drawn(NamedTuple):
    """How numbers are shown; ``steps``: what the horizontal axis counts if not layers."""

    title: str
    scale: float = 1.0
    steps: str = ""
    signed: bool = False


def reproduced_lines(
    points: pd.DataFrame,
    levels: pd.DataFrame,
    stars: pd.DataFrame,
    *,
    drawn: Drawn,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> go.Figure:
    """One line per model, with whiskers over the 95 % interval if it is known; one panel per task or measure.

    Columns of ``points`` and of single ``stars``: ``panel, line, dashed, x, value, low, high``; a dashed line has the
    colour of the solid one of its name. Of ``levels``: ``panel, name, value``.
    """
    points = points.dropna(subset=["value"])
    if points.empty:
        return theme.empty("Nothing of this kind is stored for this encoder.")
    panels = list(dict.fromkeys(points["panel"]))
    height = _FRAME + (_PANEL + _GAP) * len(panels)
    panel_titles = [theme.plain(str(panel)) for panel in panels] if panels != [""] else None
    figure = theme.stacked(len(panels), panel_titles, _GAP / (height - _FRAME))
    named: set[str] = set()
    for row, panel in enumerate(panels, start=1):
        panel_levels = levels[levels["panel"].eq(panel) & levels["value"].notna()].sort_values("value", ascending=False)
        for place, level in enumerate(panel_levels.itertuples()):
            figure.add_hline(
                y=level.value * drawn.scale,
                line={"color": theme.NEUTRAL, "width": 1.4, "dash": "dot"},
                row=row,
                col=1,
                # Levels come before the lines, and plotly leaves out what is added to a panel without any.
                exclude_empty_subplots=False,
                annotation_text=theme.plain(str(level.name)),
                annotation_font_size=11,
                # The highest is named above its line, the others below.
                annotation_position="top right" if place == 0 else "bottom right",
            )
        for (line, dashed), line_points in points[points["panel"] == panel].groupby(["line", "dashed"], sort=False):
            name = (labels or {}).get(str(line), str(line)) + (", CLS" if dashed else "")
            _add(
                figure,
                line_points.sort_values("x"),
                (name, colours.get(str(line), theme.NEUTRAL), bool(dashed)),
                drawn,
                row,
                named,
            )
        for line, line_stars in stars[stars["panel"] == panel].groupby("line", sort=False):
            name = (labels or {}).get(str(line), str(line)) + ", against the base's mean-pooling"
            _add(
                figure,
                line_stars.sort_values("x"),
                (name, colours.get(str(line), theme.NEUTRAL), None),
                drawn,
                row,
                named,
            )
    theme.apply(figure, height=height)
    figure.update_layout(margin_t=90, legend_y=1 + 40 / (height - _FRAME))
    for row in range(1, len(panels) + 1):
        if drawn.steps:
            figure.update_xaxes(title_text=theme.plain(drawn.steps), showgrid=False, row=row, col=1)
        else:
            horizontal(figure, int(points["x"].max()), row=row, col=1)
            if row < len(panels):
                figure.update_xaxes(title_text="", row=row, col=1)
    figure.update_yaxes(title_text=theme.plain(drawn.title), row=(len(panels) + 1) // 2, col=1)
    return figure


def _add(
    figure: go.Figure, rows: pd.DataFrame, look: tuple[str, str, bool | None], drawn: Drawn, row: int, named: set[str]
) -> None:
    """A line, or stars if it is neither solid nor dashed."""
    name, colour, dashed = look
    label, known = theme.plain(name), rows["low"].notna().any()
    up, down = (rows["high"] - rows["value"]) * drawn.scale, (rows["value"] - rows["low"]) * drawn.scale
    whiskers = theme.whiskers(up, down, thickness=1, width=2, color=colour)
    figure.add_scatter(
        x=rows["x"],
        y=rows["value"] * drawn.scale,
        name=label,
        legendgroup=name,
        showlegend=name not in named,
        mode="markers" if dashed is None else "lines+markers",
        line={"color": colour, "width": 2.2, "dash": "dash" if dashed else "solid"},
        marker={
            "size": 9 if dashed is None else 6,
            "symbol": "star-open" if dashed is None else "circle",
            "color": colour,
        },
        error_y=whiskers if known and dashed is not None else None,
        hovertemplate=f"<b>{label}</b><br>%{{x}}: %{{y:{'+' if drawn.signed else ''}.2f}}<extra></extra>",
        row=row,
        col=1,
    )
    named.add(name)
