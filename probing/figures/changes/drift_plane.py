"""How far each layer's weights moved against what the layer lost: one point per model and layer."""

from collections.abc import Collection, Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.figures import theme

#: Shares of the axes: what a number takes of a narrow plot, and how far it is above its point.
_WIDTH, _HEIGHT, _ABOVE = 0.03, 0.035, 0.04


def drift_plane(
    points: pd.DataFrame,
    *,
    loss: str,
    title: str,
    factor: float = 1.0,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """One point per model and layer; lines join a model's layers in their order.

    A point is labelled with its layer if the number covers neither another number nor a point; hover text names every layer.

    Args:
        points: ``model, layer, drift`` and the loss.
        loss: its column; a greater value is farther from the base.
        title: of the vertical axis.
        factor: multiplies the stored loss.
        colours: model -> colour; models are drawn in this order.
        labels: model -> displayed name.
        controls: models that were trained further on their base's own text; their points are open.
    """
    points = points.dropna(subset=["drift", loss])
    if points.empty:
        return theme.empty("No layer has both a weight drift and this measure.")
    figure = go.Figure()
    labelled = _labelled(points, loss)
    for model in [one for one in colours if one in set(points["model"])]:
        model_points, colour = points[points["model"] == model].sort_values("layer"), colours[model]
        name, control = theme.plain((labels or {}).get(model, model)), model in controls
        figure.add_scatter(
            x=model_points["drift"] * 100,
            y=model_points[loss] * factor,
            name=name,
            mode="lines+markers+text",
            cliponaxis=False,
            line={"color": theme.faint(colour, 0.4), "width": 1, "dash": theme.line_dash(control)},
            marker={"size": 9, "color": colour, "symbol": "circle-open" if control else "circle", "line": {"width": 1.5, "color": colour}},
            text=[str(layer) if row in labelled else "" for row, layer in model_points["layer"].items()],
            textposition="top center",
            textfont={"size": 9},
            hovertext=[
                f"<b>{name}</b>, layer {layer}{' (embeddings)' if layer == 0 else ''}<br>weights moved by {drift * 100:.2f} %<br>"
                f"{theme.plain(title)}: {value * factor:.2f}"
                for layer, drift, value in model_points[["layer", "drift", loss]].itertuples(index=False, name=None)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    theme.apply(figure, height=440 + 14 * max(points["model"].nunique() - 3, 0))
    figure.update_xaxes(title_text="change of the layer's weights", rangemode="tozero", ticksuffix=" %")
    figure.update_yaxes(title_text=theme.plain(title))
    figure.add_hline(y=0, line={"color": theme.NEUTRAL, "width": 1})
    return figure


def _labelled(points: pd.DataFrame, loss: str) -> set[int]:
    """The rows whose numbers cover no other and no point; first every model's last layer, then the layers from the first on."""
    last = points.groupby("model")["layer"].transform("max")
    across = points["drift"] / (points["drift"].max() or 1)
    height = max(points[loss].max(), 0) - min(points[loss].min(), 0)
    up = points[loss] / (height or 1)
    kept: set[int] = set()
    for row in points.assign(inner=points["layer"].ne(last)).sort_values(["inner", "layer"], kind="stable").index:
        near = (across - across[row]).abs() < _WIDTH
        numbers = near & (up - up[row]).abs().lt(_HEIGHT) & points.index.isin(kept)
        covered = near & (up - up[row] - _ABOVE).abs().lt(_HEIGHT / 2)
        if not (numbers | covered).any():
            kept.add(row)
    return kept
