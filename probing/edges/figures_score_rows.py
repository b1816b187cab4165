"""F1 of the first and the last cumulative probe with its baselines (Figure 1 of Tenney et al. 2019)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.edges import figures_task_rows
from probing.kernel.figures import theme

#: Column with one number per task or line -> (name, marker).
YARDSTICKS = {
    "memory": ("memory", "line-ns-open"),
    "majority": ("commonest label", "triangle-up-open"),
    "ceiling": ("ceiling", "line-ns-open"),
    "random": ("random encoder", "x-thin-open"),
}


def score_rows(
    scores: pd.DataFrame,
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
) -> go.Figure:
    """One row per task, a line per model: from F1 of P(0), open, to F1 of P(L), filled, with the yardsticks.

    Columns: ``row, model, f1_first, f1_last``, shares, and ``f1_last_low, f1_last_high, memory, majority, ceiling,
    random``, empty if they are not known. Models without a colour are published, grey.
    """
    scores = scores.dropna(subset=["f1_last"])
    if scores.empty:
        return theme.empty("No scores are stored for these models.")
    models = list(dict.fromkeys(scores["model"]))
    rows, looks = figures_task_rows.placed(scores, models), figures_task_rows.looks(models, colours)
    figure = go.Figure()
    for model, model_rows in rows.groupby("model", sort=False):
        _add_model(figure, model_rows, (labels or {}).get(str(model), str(model)), looks[str(model)], titles or {})
    for column, (name, symbol) in YARDSTICKS.items():
        if column in rows and rows[column].notna().any():
            _add_yardstick(figure, rows, column, name, symbol, looks)
    figures_task_rows.add_legend(figure, "words alone, P(0)", {"symbol": "circle-open"})
    figures_task_rows.add_legend(figure, "all layers, P(L)", {"symbol": "circle"})
    figures_task_rows.finish(figure, rows, titles or {})
    figure.update_xaxes(title_text="right labels, % (micro F1)", range=[-2, 104])
    return figure


def _add_model(
    figure: go.Figure, model_rows: pd.DataFrame, name: str, look: tuple[str, str], titles: Mapping[str, str]
) -> None:
    colour, symbol = look
    plain_name = theme.plain(name)
    x = [
        end
        for first, last in zip(model_rows["f1_first"] * 100, model_rows["f1_last"] * 100, strict=True)
        for end in (first, last, None)
    ]
    y = [end for place in model_rows["_y"] for end in (place, place, None)]
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": theme.faint(colour, 0.55), "width": 3},
        hoverinfo="skip",
        showlegend=False,
        name=f"{plain_name}: gain",
        legendgroup=name,
    )
    for column, suffix, probe in (("f1_first", "-open", "words alone, P(0)"), ("f1_last", "", "all layers, P(L)")):
        figure.add_scatter(
            x=model_rows[column] * 100,
            y=model_rows["_y"],
            mode="markers",
            name=plain_name if column == "f1_last" else f"{plain_name}: P(0)",
            showlegend=column == "f1_last",
            legendgroup=name,
            marker={"symbol": f"{symbol}{suffix}", "size": 9, "color": colour, "line": {"width": 1.8, "color": colour}},
            error_x=_interval(model_rows, colour) if column == "f1_last" else None,
            hovertext=[_hover(row, column, probe, plain_name, titles) for row in model_rows.to_dict("records")],
            hovertemplate="%{hovertext}<extra></extra>",
        )


def _interval(model_rows: pd.DataFrame, colour: str) -> dict[str, Any] | None:
    if "f1_last_low" not in model_rows or model_rows["f1_last_low"].isna().all():
        return None
    up, down = model_rows["f1_last_high"] - model_rows["f1_last"], model_rows["f1_last"] - model_rows["f1_last_low"]
    return {
        "type": "data",
        "symmetric": False,
        "array": up * 100,
        "arrayminus": down * 100,
        "color": colour,
        "thickness": 1.4,
        "width": 3,
    }


def _hover(row: Mapping[str, Any], column: str, probe: str, model: str, titles: Mapping[str, str]) -> str:
    lines = [
        f"<b>{theme.plain(titles.get(row['row'], row['row']))}</b> · {model}",
        f"{probe}: F1 {row[column] * 100:.1f} %",
    ]
    if column == "f1_last" and pd.notna(row.get("f1_last_low")):
        lines.append(f"95 % interval {row['f1_last_low'] * 100:.1f} to {row['f1_last_high'] * 100:.1f} %")
    lines += [f"{name}: {row[key] * 100:.1f} %" for key, (name, _) in YARDSTICKS.items() if pd.notna(row.get(key))]
    return "<br>".join(lines)


def _add_yardstick(
    figure: go.Figure, rows: pd.DataFrame, column: str, name: str, symbol: str, looks: Mapping[str, tuple[str, str]]
) -> None:
    there = rows[rows[column].notna()]
    marks = [looks[model][0] if column == "random" else theme.NEUTRAL for model in there["model"]]
    size = 16 if symbol.startswith("line") else 8
    figure.add_scatter(
        x=there[column] * 100,
        y=there["_y"],
        mode="markers",
        showlegend=False,
        name=name,
        hoverinfo="skip",
        marker={
            "symbol": symbol,
            "size": size,
            "color": marks,
            "line": {"width": 3 if column == "ceiling" else 1.8, "color": marks},
        },
    )
    figures_task_rows.add_legend(
        figure, name, {"symbol": symbol, "line": {"width": 3 if column == "ceiling" else 1.8, "color": theme.NEUTRAL}}
    )
