"""Figure of savings: answers that were taught again beside counterfeits."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.forgetting.savings import ALL_LOOKS, FIRST, SAVED
from probing.kernel.figures import theme


def saving_marks(table: pd.DataFrame, *, labels: Mapping[str, str] | None = None) -> go.Figure:
    """Per group of answers two marks on a line, by model: ``report_savings.savings`` of one probe set and k.

    The whisker is the interval of the difference, drawn at the taught answers.
    """
    table = table[(table["measure"] == FIRST) & (table["passes"] == ALL_LOOKS)]
    if table.empty:
        return theme.empty("No savings were measured.")
    figure, names, places = go.Figure(), list[str](), list[int]()
    for model, rows in table.groupby("model", sort=False):
        names.append(f"<b>{theme.plain((labels or {}).get(str(model), str(model)))}</b>")
        places += range(len(names), len(names) + len(rows))
        names += [SAVED[asked].replace(" that ", "<br>that ").replace(", but", ",<br>but") for asked in rows["asked"]]
    values = 100 * table[["taught", "counterfeit", "difference", "low", "high"]]
    whiskers = theme.whiskers(
        values["high"] - values["difference"], values["difference"] - values["low"], color=theme.NEUTRAL
    )
    for column, name, marker, more in (
        ("counterfeit", "counterfeits", theme.outlined("circle-open", theme.INK, 9, 2), {}),
        ("taught", "answers", {"size": 10, "color": theme.BACK}, {"error_x": whiskers}),
    ):
        figure.add_scatter(
            x=values[column],
            y=places,
            mode="markers",
            name=name,
            marker=marker,
            hovertemplate=f"%{{x:.1f}} % of {name} are first<extra></extra>",
            **more,
        )
    theme.apply(figure, height=90 + 36 * len(names))
    figure.update_xaxes(title_text="first after being taught, %", range=[0, 100])
    theme.label_rows(figure, names)
    return figure
