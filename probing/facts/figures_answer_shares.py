"""What kind of token each layer ranks first, for two models side by side."""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal

#: Kinds in the order in which they are tried: answers are green to yellow, the others fade.
COLOURS = ("#228B5E", "#8CC63F", "#D9B84A", "#4C8BB0", "#8A8FBF", "#B7A6C9", "#A9B0B7")


def answer_shares(
    shares: pd.DataFrame,
    *,
    kinds: Sequence[str],
    names: Mapping[str, str],
    models: Sequence[str],
    labels: Mapping[str, str] | None = None,
) -> go.Figure:
    """Stacked bars by layer, one panel per model; ``kinds`` from the bottom of the stack to its top.

    Columns: ``model, layer, kind, n, share``; a kind without facts may be missing.
    """
    shares = shares[shares["model"].isin(list(models))]
    if shares.empty:
        return theme.empty("No top-ranked tokens are stored for these facts.")
    models = [model for model in dict.fromkeys(models) if model in set(shares["model"])]
    called = {model: (labels or {}).get(model, model) for model in models}
    figure = make_subplots(
        rows=1,
        cols=len(models),
        shared_yaxes=True,
        horizontal_spacing=0.04,
        subplot_titles=[theme.breakable(called[model]) for model in models],
    )
    for column, model in enumerate(models, 1):
        for number, kind in enumerate(kinds):
            kind_shares = shares[(shares["model"] == model) & (shares["kind"] == kind)].sort_values("layer")
            label = theme.plain(names.get(kind, kind))
            figure.add_bar(
                x=kind_shares["layer"],
                y=kind_shares["share"] * 100,
                name=label,
                legendgroup=kind,
                showlegend=column == 1,
                marker={"color": COLOURS[number % len(COLOURS)], "line": {"width": 0}},
                customdata=kind_shares["n"],
                hovertemplate=(
                    f"<b>{theme.plain(called[model])}</b>, layer %{{x}}<br>{label}: %{{y:.1f}} %<br>%{{customdata:,}}"
                    " facts<extra></extra>"
                ),
                row=1,
                col=column,
            )
    theme.apply(figure, height=400)
    figure.update_layout(barmode="stack", bargap=0.12, legend={"y": 1.12, "traceorder": "normal"})
    for column in range(1, len(models) + 1):
        horizontal(figure, int(shares["layer"].max()), row=1, col=column)
    figure.update_yaxes(range=[0, 100], ticksuffix=" %")
    figure.update_yaxes(title_text="first answers, %", row=1, col=1)
    return figure
