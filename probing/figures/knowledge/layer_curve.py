"""A metric by layer: one line a run, with its interval and the baselines it must beat."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.figures import layer_axis, theme

#: Height of a panel, and the room between two for ticks and title, in pixels.
_PANEL, _GAP = 290, 62


@dataclass(frozen=True)
class _Look:
    """How a run's line is told from the others, and where it is drawn.

    Attributes:
        name: what the legend and the hover text call it.
        colour, dash, symbol: of the line and its markers.
        scale: what values are multiplied with; 100 draws them in per cent.
        where: row and column of the panel.
    """

    name: str
    colour: str
    dash: str
    symbol: str
    scale: int
    where: dict[str, int]


def layer_curve(
    points: pd.DataFrame,
    *,
    title: str,
    unit: str,
    colours: Mapping[str, str],
    names: Mapping[str, str],
    panels: bool = False,
    controls: Collection[str] = (),
) -> go.Figure:
    """Lines of a metric over the layers.

    Colour tells models apart; where there is only one model it tells probe sets apart, and with one of each, heads. The
    marker's shape is the probe set, its filling the head. Dashed: majority answer; dotted: the swapped subject.

    Args:
        points: one row per run and layer: ``run_id, model, head, probe_set, layer, value, low, high, n`` and the
            baselines ``majority`` and ``swapped``, each empty where it is not defined.
        title: what the vertical axis shows.
        unit: ``"share"`` is drawn in per cent; anything else as it is.
        colours: model -> colour, of all models in the store.
        names: probe set -> what a reader sees.
        panels: one panel per probe set instead of one for all.
        controls: models trained further on what their base had read already; their lines are dashed.
    """
    points = points.dropna(subset=["value"])
    if points.empty:
        return theme.empty("No facts are left under these filters.")
    sets = list(dict.fromkeys(points["probe_set"]))
    panels = panels and len(sets) > 1
    rows = len(sets) if panels else 1
    # On a telephone the legend has a line for every series.
    height = _PANEL * rows + 60 if panels else 460 + 14 * max(points["run_id"].nunique() - 3, 0)
    figure = make_subplots(
        rows=rows, cols=1, vertical_spacing=_GAP / (height - 150) if rows > 1 else 0,
        subplot_titles=[theme.plain(names.get(one, one)) for one in sets] if panels else None,
    )  # fmt: skip
    scale = 100 if unit == "share" else 1
    last = int(points["layer"].max())
    for number, (_, line) in enumerate(points.groupby("run_id", sort=False)):
        place = sets.index(line["probe_set"].iloc[0])
        look = _Look(
            theme.plain(series_name(line.iloc[0], points, names)), _colour(line, points, colours),
            theme.line_dash(line["model"].iloc[0] in controls),
            theme.head_symbol(place, line["head"].iloc[0]),
            scale, {"row": place + 1 if panels else 1, "col": 1},
        )  # fmt: skip
        _add_line(figure, line.sort_values("layer"), look, first=number == 0)
    theme.apply(theme.clickable_last(figure), height=height)
    for row in range(1, rows + 1):
        layer_axis.horizontal(figure, last, row=row, col=1)
    if panels:
        # Above the first panel's title; in a tab that was hidden when it was drawn the legend hangs 20 pixels lower.
        figure.update_layout(legend_y=1 + 50 / (height - 150))
        for row in range(1, rows):
            figure.update_xaxes(title_text="", row=row, col=1)
    figure.update_yaxes(title_text=theme.plain(title), rangemode="tozero", ticksuffix=" %" if unit == "share" else "")
    return figure


def series_name(row: pd.Series | Mapping, points: pd.DataFrame, names: Mapping[str, str]) -> str:
    """What tells this line from the others: only the parts that differ among ``points``."""
    parts = [str(row[column]) for column in ("model", "head", "probe_set") if points[column].nunique() > 1]
    texts = {row["probe_set"]: names.get(row["probe_set"], row["probe_set"])}
    return " · ".join(texts.get(part, part) for part in parts) or f"{row['model']} · {row['head']}"


def _colour(line: pd.DataFrame, points: pd.DataFrame, colours: Mapping[str, str]) -> str:
    model, head, probe_set = (line[column].iloc[0] for column in ("model", "head", "probe_set"))
    if points["model"].nunique() == 1 and points["probe_set"].nunique() > 1:
        return theme.probe_set_colour(probe_set)
    if points["model"].nunique() == 1 and points["head"].nunique() > 1:
        return dict(zip(theme.HEAD_SUFFIX, theme.PALETTE, strict=False)).get(head, theme.NEUTRAL)
    return colours.get(model, theme.NEUTRAL)


def _add_line(figure: go.Figure, line: pd.DataFrame, own: _Look, *, first: bool) -> None:
    """One run: its interval, its baselines, whose looks the first run names in the legend, and its values."""
    name, colour, scale, where = own.name, own.colour, own.scale, own.where
    group = str(line["run_id"].iloc[0])
    common = {"x": line["layer"], "legendgroup": group}
    banded = line.dropna(subset=["low", "high"])
    figure.add_scatter(
        x=[*banded["layer"], *banded["layer"][::-1]], y=[*(banded["high"] * scale), *(banded["low"][::-1] * scale)],
        fill="toself", fillcolor=theme.faint(colour, 0.16), line={"width": 0}, mode="lines", hoverinfo="skip",
        showlegend=False, legendgroup=group, name=f"{name}: 95 % interval", **where,
    )  # fmt: skip
    for column, look, words in (("majority", "dash", "majority answer"), ("swapped", "dot", "swapped subject")):
        if column in line and line[column].notna().any():
            figure.add_scatter(
                **common, y=line[column] * scale, mode="lines", line={"dash": look, "color": colour, "width": 1.5},
                opacity=0.75, showlegend=False, name=f"{name}: {words}",
                hovertemplate=f"{name}<br>{words}: %{{y:.2f}}<extra></extra>", **where,
            )  # fmt: skip
            if first:
                figure.add_scatter(
                    x=[None], y=[None], mode="lines", line={"dash": look, "color": theme.NEUTRAL, "width": 1.5},
                    name=words, legendrank=2000, **where,
                )  # fmt: skip
    suffix = " %" if scale == 100 else ""
    hover = [
        f"<b>{name}</b><br>layer {int(row.layer)}{' (embeddings)' if row.layer == 0 else ''}: "
        f"{row.value * scale:.{1 if scale == 100 else 3}f}{suffix}"
        + (f"<br>95 % interval {row.low * scale:.1f} to {row.high * scale:.1f}{suffix}" if scale == 100 and pd.notna(row.low) else "")
        + f"<br>{int(row.n):,} facts"
        for row in line.itertuples()
    ]
    figure.add_scatter(
        **common, y=line["value"] * scale, mode="lines+markers", cliponaxis=False, name=name,
        line={"color": colour, "width": 2.5, "dash": own.dash},
        marker={"symbol": own.symbol, "size": 8, "color": colour, "line": {"width": 1.5, "color": colour}},
        customdata=[[group, int(layer)] for layer in line["layer"]], hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>", **where,
    )  # fmt: skip
