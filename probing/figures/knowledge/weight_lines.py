"""How far fine-tuning moved each layer's weights, and what was forgotten with it."""

from collections.abc import Collection, Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.figures import end_labels, layer_axis, theme


def weight_lines(
    drift: pd.DataFrame, *, colours: Mapping[str, str], labels: Mapping[str, str] | None = None, controls: Collection[str] = ()
) -> go.Figure:
    """Relative change of the weights by layer, one line per model with its name at the end.

    Args:
        drift: ``model, layer, drift``; layer 0 is the embeddings.
        colours: model -> colour.
        labels: model -> displayed name; without one, the model's own name.
        controls: models trained further on their base's own text; their lines are dashed.
    """
    if drift.empty:
        return theme.empty("No weight drift is stored for these models.")
    figure, ends = go.Figure(), []
    order = [model for model in colours if model in set(drift["model"])]
    for number, model in enumerate(order):
        line, colour = drift[drift["model"] == model].sort_values("layer"), colours[model]
        called = (labels or {}).get(model, model)
        name, last = theme.plain(called), line.iloc[-1]
        ends.append(end_labels.EndLabel(float(last["layer"]), float(last["drift"]) * 100, called, colour))
        figure.add_scatter(
            x=line["layer"],
            y=line["drift"] * 100,
            name=name,
            mode="lines+markers",
            showlegend=False,
            cliponaxis=False,
            line={"color": colour, "width": 2.2, "dash": theme.line_dash(model in controls)},
            marker={"size": 7, "symbol": theme.SYMBOLS[number % len(theme.SYMBOLS)]},
            hovertemplate=f"<b>{name}</b><br>layer %{{x}}: moved by %{{y:.2f}} % of its norm<extra></extra>",
        )
    theme.apply(figure, height=420)
    layer_axis.horizontal(figure, int(drift["layer"].max()))
    figure.update_yaxes(title_text="change of weights", ticksuffix=" %")
    # Weights that did not move need an axis, too.
    return end_labels.write(figure, ends, ranges=[(0, float(drift["drift"].max()) * 105 or 1.0)])


def drift_against_loss(points: pd.DataFrame, *, k: int, colours: Mapping[str, str], labels: Mapping[str, str] | None = None) -> go.Figure:
    """Mean drift of the transformer layers against the share of the base's facts that were lost, one point per model.

    Args:
        points: ``model, drift, lost_share``, shares.
        k: the rank up to which a fact counts as known.
        colours: model -> colour.
        labels: model -> displayed name; without one, the model's own name.
    """
    points = points.dropna(subset=["drift", "lost_share"])
    if points.empty:
        return theme.empty("No model here has both a weight drift and a share of facts lost.")
    figure = go.Figure()
    order = [model for model in colours if model in set(points["model"])]
    for number, model in enumerate(order):
        point, name = points[points["model"] == model].iloc[0], theme.plain((labels or {}).get(model, model))
        figure.add_scatter(
            x=[point["drift"] * 100],
            y=[point["lost_share"] * 100],
            name=name,
            mode="markers+text" if len(order) <= end_labels.MAX_LABELS else "markers",
            text=[name],
            textposition="top center",
            showlegend=False,
            cliponaxis=False,
            marker={"size": 13, "color": colours[model], "symbol": theme.SYMBOLS[number % len(theme.SYMBOLS)]},
            hovertemplate=f"<b>{name}</b><br>weights moved by %{{x:.2f}} %<br>lost %{{y:.1f}} % of what its base knew<extra></extra>",
        )
    theme.apply(figure, height=420)
    figure.update_xaxes(title_text="mean change of weights, layers 1 to L", rangemode="tozero", ticksuffix=" %")
    figure.update_yaxes(title_text=f"lost (rank ≤ {k})", rangemode="tozero", ticksuffix=" %")
    return figure
