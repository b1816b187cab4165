"""Where in the layers a task is solved: centre of gravity and expected layer (Figure 1 of Tenney et al. 2019)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.edges import figures_task_rows
from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal, share_of_depth

NOT_RESOLVED = "cannot be told"
NEAR_UNIFORM = "weights near uniform: no place"
#: Opacity of a centre of gravity that is no place.
_FAINT = 0.3


def place_rows(
    places: pd.DataFrame,
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    shares: bool = False,
) -> go.Figure:
    """One row per task (or label), a line per model: the centre of gravity, filled, and the expected layer, open.

    Columns: ``row, model, last, centre_of_gravity, expected_layer, expected_layer_low, expected_layer_high`` in layers,
    empty if not resolved; optional ``expected_layer_reason`` and ``weights_near_uniform`` (faint). Models without a
    colour are published, grey. ``shares``: layers as shares of the model's depth.
    """
    if places.empty:
        return theme.empty("No mean layer of the gains can be told, or no cumulative probes are stored.")
    models = list(dict.fromkeys(places["model"]))
    rows, looks = figures_task_rows.placed(places, models), figures_task_rows.looks(models, colours)
    scale = 1 / rows["last"] if shares else rows["last"] * 0 + 1.0
    figure = go.Figure()
    for model, model_rows in rows.groupby("model", sort=False):
        name = (labels or {}).get(str(model), str(model))
        _add_model(figure, model_rows, scale[model_rows.index], name, looks[str(model)], titles or {})
    if rows["centre_of_gravity"].notna().any():
        figures_task_rows.add_legend(figure, "mean layer of the weights", {"symbol": "circle"})
    if any(map(_near_uniform, rows.to_dict("records"))):
        figures_task_rows.add_legend(figure, NEAR_UNIFORM, {"symbol": "circle", "opacity": _FAINT})
    figures_task_rows.add_legend(
        figure, "mean layer of the gains", {"symbol": "circle-open", "line": {"width": 1.8, "color": theme.NEUTRAL}}
    )
    figures_task_rows.finish(figure, rows, titles or {})
    last = int(rows["last"].max())
    if shares:
        return share_of_depth(figure)
    grid = {"showgrid": True}
    horizontal(figure, last)
    figure.update_xaxes(**grid)
    return figure


def _add_model(
    figure: go.Figure,
    model_rows: pd.DataFrame,
    scale: pd.Series,
    name: str,
    look: tuple[str, str],
    titles: Mapping[str, str],
) -> None:
    colour, symbol = look
    plain_name = theme.plain(name)
    there = model_rows["expected_layer"].notna()
    for row, by in zip(model_rows[there].to_dict("records"), scale[there], strict=True):
        if pd.notna(row["expected_layer_low"]):
            figure.add_scatter(
                x=[row["expected_layer_low"] * by, row["expected_layer_high"] * by],
                y=[row["_y"]] * 2,
                mode="lines",
                hoverinfo="skip",
                line={"color": colour, "width": 1.8},
                showlegend=False,
                legendgroup=name,
                name=f"{plain_name}: 95 % interval",
            )
    figure.add_scatter(
        x=(model_rows["centre_of_gravity"] * scale).where(model_rows["centre_of_gravity"].notna()),
        y=model_rows["_y"],
        mode="markers",
        name=plain_name,
        legendgroup=name,
        marker={
            "symbol": symbol,
            "size": 10,
            "color": colour,
            "opacity": [_FAINT if _near_uniform(row) else 1.0 for row in model_rows.to_dict("records")],
        },
        hovertext=[_hover(row, plain_name, titles) for row in model_rows.to_dict("records")],
        customdata=[[row] for row in model_rows["row"]],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    figure.add_scatter(
        x=model_rows.loc[there, "expected_layer"] * scale[there],
        y=model_rows.loc[there, "_y"],
        mode="markers",
        name=f"{plain_name}: expected layer",
        showlegend=False,
        legendgroup=name,
        marker={"symbol": f"{symbol}-open", "size": 10, "color": colour, "line": {"width": 1.8, "color": colour}},
        hovertext=[_hover(row, plain_name, titles) for row in model_rows[there].to_dict("records")],
        customdata=[[row] for row in model_rows.loc[there, "row"]],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    if (~there).any():
        # The reason is in the hover and in the table: with it, the words would reach into the points.
        words = [NOT_RESOLVED] * int((~there).sum())
        figure.add_scatter(
            x=[0.0] * len(words),
            y=model_rows.loc[~there, "_y"],
            mode="text",
            text=words,
            # Above the line of the centre of gravity, which would strike the words through.
            textposition="top right",
            hoverinfo="skip",
            textfont={"size": 12, "color": theme.NEUTRAL},
            showlegend=False,
            name=f"{plain_name}: {NOT_RESOLVED}",
            legendgroup=name,
        )


def _near_uniform(row: Mapping[str, Any]) -> bool:
    marked = row.get("weights_near_uniform")
    return pd.notna(marked) and bool(marked)


def _unresolved(row: Mapping[str, Any]) -> str:
    reason = row.get("expected_layer_reason")
    return f"{NOT_RESOLVED}: {reason}" if isinstance(reason, str) else NOT_RESOLVED


def _hover(row: Mapping[str, Any], model: str, titles: Mapping[str, str]) -> str:
    lines = [f"<b>{theme.plain(titles.get(row['row'], row['row']))}</b> · {model}, {int(row['last'])} layers"]
    if pd.notna(row["centre_of_gravity"]):
        lines.append(
            f"centre of gravity: layer {row['centre_of_gravity']:.2f}"
            + (f" ({NEAR_UNIFORM})" if _near_uniform(row) else "")
        )
    if pd.isna(row["expected_layer"]):
        lines.append(f"expected layer: {_unresolved(row)}")
    else:
        lines.append(f"expected layer: {row['expected_layer']:.2f}")
        if pd.notna(row["expected_layer_low"]):
            lines.append(f"95 % interval {row['expected_layer_low']:.2f} to {row['expected_layer_high']:.2f}")
    return "<br>".join(lines)
