"""Which model keeps most: what each model kept, lost and gained of its base's knowledge."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme

#: Part -> its column, colour and name; a model that stores only counts has the last one alone.
_PARTS = {
    "kept": ("kept_share", theme.KEPT, "kept"),
    "lost": ("lost_share", theme.NOT_BACK, "lost"),
    "gained": ("gained_share", theme.GAINED, "gained"),
    "now": ("now_share", theme.CONTROL, "known now, of counts only"),
}
#: From this per cent on a number fits into its part.
_NUMBER = 6
_ROW, _FRAME = 34, 110


def retention_bars(models: pd.DataFrame, *, k: int, labels: Mapping[str, str] | None = None) -> go.Figure:
    """One bar per model, in per cent of the facts its base knows: kept, lost and, beyond 100 %, gained.

    In the order of the table, of ``finetuning.report.all_models``.
    """
    rows = models[models["kept_share"].notna() | models["now_share"].notna()].reset_index(drop=True)
    if rows.empty:
        return theme.empty("The base knows no fact under these filters.")
    called = {model: theme.plain((labels or {}).get(model, model)) for model in (*rows["model"], *rows["base"])}
    figure = go.Figure()
    for part, (column, colour, name) in _PARTS.items():
        of_part = rows[rows["kept_share"].isna() if part == "now" else rows["kept_share"].notna()]
        if of_part.empty:
            continue
        shares = 100 * of_part[column]
        figure.add_bar(
            y=of_part.index,
            x=shares,
            orientation="h",
            name=name,
            marker={"color": colour},
            text=[f"{share:.0f}" if share >= _NUMBER and part != "gained" else "" for share in shares],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": theme.ink_on(colour), "size": 12},
            cliponaxis=False,
            customdata=[[row["model"], part] for row in of_part.to_dict("records")] if part != "now" else None,
            hovertext=[
                _hover(row, part, share, called) for row, share in zip(of_part.to_dict("records"), shares, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    theme.apply(figure, height=_FRAME + _ROW * len(rows))
    figure.update_layout(barmode="stack", bargap=0.25, legend_traceorder="normal")
    figure.add_vline(x=100, line={"color": theme.YARDSTICK, "width": 1.2, "dash": "dash"})
    most = max(
        float((rows["kept_share"].fillna(0) + rows["lost_share"].fillna(0) + rows["gained_share"].fillna(0)).max()), 1.0
    )
    most = max(most, float(rows["now_share"].fillna(0).max()))
    figure.update_xaxes(
        title_text=f"% of the facts that the base knows (rank ≤ {k})", ticksuffix=" %", range=[0, 100 * most + 3]
    )
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(rows.index),
        ticktext=[theme.breakable((labels or {}).get(model, model), 18) for model in rows["model"]],
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
        tickfont_size=12,
    )
    return figure


def _hover(row: Mapping[Any, Any], part: str, share: float, called: Mapping[str, str]) -> str:
    head = f"<b>{called[row['model']]}</b><br>"
    if part == "now":
        return f"{head}knows now {share:.1f} % as many as {called[row['base']]}; only counts are stored"
    known = int(row["kept"] + row["lost"])
    return (
        f"{head}{part}: {int(row[part]):,} facts, {share:.1f} % of the {known:,} that {called[row['base']]}"
        " knows<br>click to see them"
    )
