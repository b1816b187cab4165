"""What fine-tuned models lost at the last layer: points of P@k, and of P@k minus the swapped subject."""

from collections.abc import Collection, Mapping

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.looks import head_name
from probing.kernel.figures.yardsticks import SWAPPED

#: Column -> (words, filling of the marker, distance from the row's middle).
_SHOWN = {"lost": ("lost", "-open", 0.17), "lost_above": (f"lost beyond the {SWAPPED}", "", -0.17)}
_ROW, _FRAME = 40, 130
#: Height of a kind of head's row within a model's.
_KIND = 26


def loss_points(
    lost: pd.DataFrame,
    *,
    k: int,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    controls: Collection[str] = (),
) -> go.Figure:
    """One row per model and kind of head: open P@k, filled P@k minus the swapped subject, with 95 % intervals.

    The model that lost most of the latter is on top; controls are below. Colour is the model's, or the kind's if there
    are several. Columns of ``heads.report.points_lost``, shares.
    """
    if lost.empty:
        return theme.empty("No facts are left to compare under these filters.")
    kinds = lost["head"].nunique() > 1
    rows = lost.assign(
        _control=lost["model"].isin(list(controls)),
        _of=lost.groupby("model")["lost_above"].transform("max").fillna(lost["lost"]),
        _kind=lost["head"].map({head: place for place, head in enumerate(theme.HEAD_SUFFIX)}),
    ).sort_values(["_control", "_of", "model", "_kind"], ascending=[True, False, True, True])
    places, y = [], -1.0
    step = _KIND / _ROW if kinds else 1.0
    for before, model in zip([None, *rows["model"][:-1]], rows["model"], strict=True):
        y += 1.0 if model != before else step
        places.append(y)
    rows = rows.assign(_y=places)
    marks = [
        theme.head_colour(row.head) if kinds else colours.get(row.model, theme.NEUTRAL) for row in rows.itertuples()
    ]
    figure = go.Figure()
    for column, (words, suffix, off) in _SHOWN.items():
        _add(figure, rows, column, words, (suffix, off), marks, labels or {})
    if kinds:
        for head in dict.fromkeys(sorted(rows["head"], key=list(theme.HEAD_SUFFIX).index)):
            figure.add_scatter(
                x=[None],
                y=[None],
                mode="markers",
                name=head_name(head),
                marker={"color": theme.head_colour(head), "size": 9},
            )
    middles = rows.groupby("model", sort=False)["_y"].mean()
    theme.apply(figure, height=int(_FRAME + _ROW * (places[-1] + 1)) + (20 if kinds else 0))
    figure.add_vline(x=0, line={"color": theme.NEUTRAL, "width": 1.2})
    figure.update_xaxes(title_text=f"lost by fine-tuning, points<br>(P@{k} of the base minus the model)")
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(middles),
        ticktext=[theme.breakable((labels or {}).get(model, model)) for model in middles.index],
        range=[places[-1] + 0.6, -0.6],
        showgrid=False,
    )
    return figure


def _add(
    figure: go.Figure,
    rows: pd.DataFrame,
    column: str,
    name: str,
    look: tuple[str, float],
    marks: list[str],
    labels: Mapping[str, str],
) -> None:
    suffix, off = look
    value, low, high = (rows[f"{column}{end}"] * 100 for end in ("", "_low", "_high"))
    there = value.notna()
    if not there.any():
        return
    for x, y, ends, mark in zip(
        value[there],
        rows["_y"][there] - off,
        zip(low[there], high[there], strict=True),
        _present_marks(marks, there),
        strict=True,
    ):
        figure.add_scatter(
            x=ends,
            y=[y, y],
            mode="lines",
            line={"color": mark, "width": 1.6},
            hoverinfo="skip",
            showlegend=False,
            name=f"{name}: {x:.1f}",
        )
    figure.add_scatter(
        x=value[there],
        y=rows["_y"][there] - off,
        mode="markers",
        showlegend=False,
        name=name,
        marker={
            "symbol": f"circle{suffix}",
            "size": 9,
            "color": _present_marks(marks, there),
            "line": {"width": 1.8, "color": _present_marks(marks, there)},
        },
        hovertext=[
            f"<b>{theme.plain(labels.get(row.model, row.model))}</b> · {head_name(row.head)}<br>{name}: {x:+.1f}"
            f" points<br>95 % interval {least:+.1f} to {most:+.1f}"
            for row, x, least, most in zip(rows[there].itertuples(), value[there], low[there], high[there], strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        name=name,
        marker={
            "symbol": f"circle{suffix}",
            "size": 9,
            "color": theme.NEUTRAL,
            "line": {"width": 1.8, "color": theme.NEUTRAL},
        },
    )


def _present_marks(marks: list[str], there: pd.Series) -> list[str]:
    return [mark for mark, present in zip(marks, there, strict=True) if present]
