"""When facts are forgotten: facts by training step next to score and loss, by layer and relation, and the ranks of one fact."""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from probing.core.stats.rank_buckets import NAMES
from probing.figures import theme

#: Column -> its colour and its name. Of the facts known before, those that are not lost are kept or returned.
_FLOW = {
    "kept": (theme.PART_COLOURS["kept"], "kept"),
    "returned": (theme.PART_COLOURS["still_inside"], "returned"),
    "lost": (theme.PART_COLOURS["lost"], "lost"),
    "gained": (theme.PART_COLOURS["gained"], "gained"),
}
_EMPTY = "No state of this training was asked for facts."
#: The bar of colours above a map: on its side, a phone would have half the width for the map.
_BAR = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "thickness": 10, "outlinewidth": 0}
#: Its height with its title, in pixels.
_ABOVE = 72


def over_training(
    table: pd.DataFrame, logged: pd.DataFrame, *, model: str, control: str = "", names: Sequence[str] = ("", "")
) -> go.Figure:
    """Facts kept, lost, returned and gained by step, in % of those known before; below, score and loss on the same axis.

    The axis of steps is that of the square root, because most is lost at the start. Lines of the control are thin and dashed.

    Args:
        table: ``reports.forgetting.series.steps`` of the training and its control, at one layer.
        logged: ``reports.forgetting.series.logged`` of both.
        model, control: their names in the tables; the control may be empty.
        names: their displayed names.
    """
    if table.empty:
        return theme.empty(_EMPTY)
    figure = make_subplots(
        rows=3,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.06,
        row_heights=[0.56, 0.22, 0.22],
        subplot_titles=("Facts, % of those known before", _score_title(logged), "Training loss"),
    )
    for place, one in enumerate((model, control) if control else (model,)):
        rows, line = table[table["model"] == one], {"dash": theme.line_dash(bool(place)), "width": 1.2 if place else 2.4}
        before = rows["kept"] + rows["returned"] + rows["lost"]
        for column, (colour, word) in _FLOW.items():
            figure.add_scatter(
                x=rows["step"] ** 0.5,
                y=100 * rows[column] / before.where(before > 0),
                name=word,
                legendgroup=word,
                showlegend=not place,
                mode="lines+markers",
                line={"color": colour, **line},
                marker={"size": 4 if place else 7},
                customdata=list(zip(rows["step"], rows[column], strict=True)),
                hovertemplate=f"{theme.plain(names[place])}<br>step %{{customdata[0]:,}}: %{{customdata[1]:,}} {word}<extra></extra>",
                row=1,
                col=1,
            )
        for row, column in ((2, "score"), (3, "loss")):
            some = logged[(logged["model"] == one) & logged[column].notna()]
            figure.add_scatter(
                x=some["step"] ** 0.5,
                y=some[column],
                mode="lines+markers",
                showlegend=False,
                line={"color": theme.NEUTRAL, **line},
                marker={"size": 4},
                customdata=some["step"],
                hovertemplate=f"{theme.plain(names[place])}<br>step %{{customdata:,}}: %{{y:.3f}}<extra></extra>",
                row=row,
                col=1,
            )
    steps = sorted(set(table["step"]))
    theme.apply(figure, height=640)
    # The first panel's title stands between the figure and the legend.
    figure.update_layout(legend_y=1.07, margin_t=80)
    figure.update_xaxes(tickvals=[step**0.5 for step in steps], ticktext=[f"{step:,}" for step in steps])
    figure.update_xaxes(title_text="training step", row=3, col=1)
    return figure


def kept_map(table: pd.DataFrame, *, by: str, names: Mapping[str, str] | None = None) -> go.Figure:
    """Per cent of the facts known before that are known, by training step and layer or relation.

    Args:
        table: ``series.steps`` of all layers or ``series.relations`` of one training.
        by: ``layer`` or ``relation``.
        names: relation -> displayed name.
    """
    if table.empty:
        return theme.empty(_EMPTY)
    wide = 100 * table.pivot(index=by, columns="step", values="kept_share")
    if by == "relation":
        wide = wide.loc[wide.iloc[:, -1].sort_values(ascending=False, kind="stable").index]
    figure = go.Figure(
        go.Heatmap(
            z=wide.to_numpy(),
            x=[f"{step:,}" for step in wide.columns],
            y=[theme.plain(theme.shorten((names or {}).get(name, name), 26) if by == "relation" else name) for name in wide.index],
            zmin=0,
            zmax=100,
            colorscale="Viridis",
            colorbar=_BAR | {"title": {"text": "known, %", "side": "top"}},
            hovertemplate=f"{by} %{{y}}, step %{{x}}: %{{z:.1f}} %<extra></extra>",
        )
    )
    theme.apply(figure, height=max(300, 160 + 18 * len(wide)))
    figure.update_layout(margin_t=_ABOVE)
    figure.update_xaxes(title_text="training step", type="category")
    figure.update_yaxes(title_text=by, type="category")
    return figure


def rank_map(cells: pd.DataFrame) -> go.Figure:
    """The rank of one fact's answer by training step and layer.

    Args:
        cells: step, layer and bucket, as ``reports.forgetting.series.ranks_of_fact`` gives them.
    """
    if cells.empty:
        return theme.empty("The answer is never among the first ten at the last layer, so its ranks are not stored.")
    wide = cells.pivot(index="layer", columns="step", values="bucket")
    words = [[NAMES[int(bucket)] for bucket in row] for row in wide.to_numpy()]
    figure = go.Figure(
        go.Heatmap(
            z=-wide.to_numpy(),
            x=[f"{step:,}" for step in wide.columns],
            y=wide.index,
            text=words,
            xgap=1,
            ygap=1,
            zmin=1 - len(NAMES),
            zmax=0,
            colorscale="Viridis",
            # A phone's cells are too narrow for words.
            colorbar=_BAR
            | {
                "title": {"text": "rank of the right answer", "side": "top"},
                "tickvals": [-bucket for bucket in range(len(NAMES))],
                "ticktext": list(NAMES),
            },
            hovertemplate="layer %{y}, step %{x}: rank %{text}<extra></extra>",
        )
    )
    theme.apply(figure, height=max(300, 160 + 26 * len(wide)))
    figure.update_layout(margin_t=_ABOVE)
    figure.update_xaxes(title_text="training step", type="category")
    figure.update_yaxes(title_text="layer", dtick=1)
    return figure


def event_bars(events: pd.DataFrame, *, labels: dict[str, str] | None = None) -> go.Figure:
    """One bar per training: the facts known before that are never lost, come back, or stay lost.

    Args:
        events: ``reports.forgetting.series.events``.
        labels: training -> displayed name.
    """
    if events.empty:
        return theme.empty("Of this training no single facts are stored.")
    parts = {
        "never_lost": ("kept", "never lost"),
        "came_back": ("still_inside", "lost, and known at the end"),
        "lost_for_good": ("lost", "lost"),
    }
    rows = [theme.plain((labels or {}).get(name, name)) for name in events["model"]]
    figure = go.Figure()
    for column, (part, word) in parts.items():
        figure.add_bar(
            y=rows,
            x=100 * events[column] / events["facts"],
            name=word,
            orientation="h",
            marker={"color": theme.PART_COLOURS[part]},
            customdata=events[column],
            hovertemplate=f"%{{y}}: %{{customdata:,}} {word}<extra></extra>",
        )
    theme.apply(figure, height=140 + 34 * len(rows))
    figure.update_layout(barmode="stack")
    figure.update_xaxes(title_text="% of the facts known before", range=[0, 100])
    return figure


def _score_title(logged: pd.DataFrame) -> str:
    metrics = list(dict.fromkeys(logged["metric"].dropna()))
    return f"Score on the task ({', '.join(metrics)})" if metrics else "Score on the task"
