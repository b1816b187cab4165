"""Of 100 facts that the base knew, how many a fine-tuned model kept, and how the lost ones come back."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.forgetting.ways import OUTCOMES
from probing.kernel.figures import theme

#: Outcome of a known fact -> colour; from what is kept over the cheap ways to what none brings back.
COLOURS = dict(
    zip(OUTCOMES, ("#2C6FAE", "#5FA3D3", "#9CC9E8", "#44AA99", "#8CBF6A", "#E3A53C", "#9AA0A6"), strict=True)
)
_FRAME, _LEAST = 130, 4.0
#: Height of a row, of all rows together, and the least height of a row, which holds two lines of text.
_ROW, _ROWS, _TEXT = 44, 396, 24


def outcome_bars(outcome: pd.DataFrame, *, labels: Mapping[str, str] | None = None) -> go.Figure:
    """One bar of 100 facts per model, each counted once: ``forgetting.report_outcome`` of one probe set and k."""
    if outcome.empty:
        return theme.empty("No model was asked for the facts that it lost.")
    models = list(dict.fromkeys(outcome["model"]))
    names = [theme.plain((labels or {}).get(model, model)) for model in models]
    controls = set(outcome.loc[outcome["control"], "model"])
    figure = go.Figure()
    for part, colour in COLOURS.items():
        part_rows = outcome[outcome["part"] == part].set_index("model").loc[models]
        figure.add_bar(
            y=list(range(len(models))),
            x=part_rows["per_100"],
            orientation="h",
            name=part,
            marker={"color": colour, "line": {"width": 1, "color": "rgba(128,136,144,0.5)"}},
            text=[f"{value:.0f}" if value >= _LEAST else "" for value in part_rows["per_100"]],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": theme.ink_on(colour)},
            customdata=[[model, part] for model in models],
            hovertext=[
                f"<b>{name}</b><br>{part}: {row.n:,} of {row.known:,} known facts, {row.per_100:.1f} of 100"
                + (f"<br>{row.note}" if row.note else "")
                for name, row in zip(names, part_rows.itertuples(), strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    theme.apply(figure, height=_FRAME + max(_TEXT, min(_ROW, _ROWS // len(models))) * len(models))
    figure.update_layout(barmode="stack", bargap=0.3, legend_traceorder="normal")
    figure.update_xaxes(title_text="of 100 facts that the base knew", range=[0, 100], tickvals=list(range(0, 101, 20)))
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(models))),
        range=[len(models) - 0.5, -0.5],
        showgrid=False,
        tickfont_size=11,
        ticktext=[
            theme.breakable(name, 18) + ("<br><i>control</i>" if model in controls and "control" not in name else "")
            for model, name in zip(models, names, strict=True)
        ],
    )
    return figure
