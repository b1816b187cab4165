"""Accuracy of sentence probes by the number of training sentences."""

from collections.abc import Collection, Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.sentences.figures_looks import DASHES, LEVELS, MODES, POOLING_NAMES, hover, legend, less, marker


def learning_lines(
    points: pd.DataFrame,
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """One line per model and pooling over the number of training sentences, on a logarithmic axis.

    Columns as for ``layer_panels``, one row per portion of one task; ``layer`` is the layer that is probed.
    """
    # A number below 1 has no place on a logarithmic axis, and no probe is trained on it.
    points = points[points["accuracy"].notna() & (points["n_train"] >= 1)]
    if points.empty:
        return theme.empty("No probes on a part of the training sentences are stored for these models and this task.")
    points = less(points, "value")
    figure = go.Figure()
    sizes = sorted(int(size) for size in points["n_train"].unique())
    for column, (name, dash) in LEVELS.items():
        levels = points[f"drawn_{column}"].dropna()
        if len(levels):
            level = float(levels.iloc[0])
            figure.add_scatter(
                x=[sizes[0], sizes[-1]],
                y=[level, level],
                mode="lines",
                line={"color": theme.YARDSTICK, "width": 1.5, "dash": dash},
                name=name,
                showlegend=False,
                hovertemplate=f"{name}: {level:.1f} %<extra></extra>",
            )
    for (model, pooling), line in points.groupby(["model", "pooling"], sort=False):
        line, colour = line.sort_values("n_train"), colours.get(str(model), theme.NEUTRAL)
        name = (labels or {}).get(str(model), str(model))
        theme.interval_band(
            figure, line["n_train"], line["drawn_low"], line["drawn_high"], colour, legendgroup=str(model)
        )
        figure.add_scatter(
            x=line["n_train"],
            y=line["value"],
            mode="lines+markers",
            cliponaxis=False,
            showlegend=False,
            legendgroup=str(model),
            name=f"{theme.plain(name)}, {POOLING_NAMES.get(str(pooling), str(pooling))}",
            line={"color": colour, "width": 2.2, "dash": DASHES.get(str(pooling), "solid")},
            marker=marker(str(model), colour, controls, size=9),
            hovertext=[
                hover(point, name, "value", f"layer {int(point['layer'])}") for point in line.to_dict("records")
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    legend(figure, points, colours, labels or {}, controls)
    theme.apply(figure, height=340)
    figure.update_layout(legend_groupclick="togglegroup", margin_t=60)
    figure.update_xaxes(
        type="log",
        title_text="training sentences",
        tickmode="array",
        tickvals=sizes,
        ticktext=[f"{size:,}" for size in sizes],
        showgrid=False,
    )
    figure.update_yaxes(title_text=MODES["value"], nticks=6)
    return figure
