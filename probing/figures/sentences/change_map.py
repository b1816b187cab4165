"""What fine-tuning changed of sentence probes: tasks by layers, in points of accuracy (Figures 4 and 5 of Mosbach et al. 2020)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.core.sentences.example import FIRST, MEAN
from probing.figures import layer_axis, theme

_ROW, _FRAME = 30, 190
#: Deeper models have no room for numbers in the cells of a telephone's figure.
_MAX_NUMBERS = 13
_GREY = "rgba(128,136,144,0.16)"
#: Opaque, so that black numbers are read on a light page and on a dark one; less than 0 is orange, more blue.
_SCALE = ((0, "#D55E00"), (0.5, "#F9DFCB"), (0.5, "#D6E8F6"), (1, "#1F8ACB"))
_ON_COLOUR = "#000000"
#: What is drawn -> pooling of the rows, columns of change and of adjusted p.
KINDS: Mapping[str, tuple[str, str, str]] = {
    "first": (FIRST, "change", "q"), "mean": (MEAN, "change", "q"), "base-mean": (FIRST, "mean_change", "mean_q"),
}  # fmt: skip


def drawn_cells(changes: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The cells of one kind of map, with what is drawn of them.

    Args:
        changes: as for ``change_map``.
        kind: a key of ``KINDS``.

    Returns:
        The rows of the kind's pooling with ``shown`` (points) and ``counts``: whether the change is significant and, where it is taken
        against the same pooling of the base, greater than the control's.
    """
    pooling, change, q = KINDS[kind]
    cells = changes[changes["pooling"] == pooling].dropna(subset=[change])
    significant = cells[q].notna() & (cells[q] <= 0.05)
    outside = ~cells["inside_control"].fillna(False).astype(bool) if change == "change" else True
    return cells.assign(shown=cells[change] * 100, counts=significant & outside)


def change_map(
    changes: pd.DataFrame, *, kind: str = "first", titles: Mapping[str, str] | None = None, model: str = "", base: str = ""
) -> go.Figure:
    """One row a task, one column a layer; blue where probes read more than of the base, orange where less, grey where it does not count.

    In the map against the base's mean-pooled probe a star marks the cells with q of at most 0.05, as in the paper.

    Args:
        changes: one row a task, pooling and layer: ``task, pooling, layer, base_accuracy, accuracy, change, low, high, p, q, mean_change,
            mean_q, control_change, inside_control`` and, where known, ``seed_low, seed_high``; shares.
        kind: a key of ``KINDS``.
        titles: task -> what a reader sees.
        model, base: what a reader calls them.
    """
    cells = drawn_cells(changes, kind)
    if cells.empty:
        return theme.empty("No change against a base is stored for this model and these tasks.")
    tasks, last = list(dict.fromkeys(cells["task"])), int(cells["layer"].max())
    layers, places = list(range(last + 1)), list(range(len(tasks)))
    most = max(float(cells.loc[cells["counts"], "shown"].abs().max()) if cells["counts"].any() else 0.0, 1.0)

    def square(values: pd.Series) -> list[list[Any]]:
        table = cells.assign(_value=values).pivot(index="task", columns="layer", values="_value").reindex(index=tasks, columns=layers)
        return [[None if pd.isna(one) else one for one in row] for row in table.to_numpy(dtype=object)]

    figure = go.Figure()
    figure.add_heatmap(
        z=square(pd.Series(1, index=cells.index).where(~cells["counts"])), x=layers, y=places, xgap=2, ygap=2, hoverinfo="skip",
        colorscale=[[0, _GREY], [1, _GREY]], showscale=False, name="does not count",
    )  # fmt: skip
    figure.add_heatmap(
        z=square(cells["shown"].where(cells["counts"])), x=layers, y=places, xgap=2, ygap=2, hoverinfo="skip", colorscale=_SCALE,
        zmin=-most, zmax=most, name="counts",
        showscale=last >= _MAX_NUMBERS, colorbar={"title": {"text": "points", "side": "right"}, "thickness": 12, "outlinewidth": 0},
    )  # fmt: skip
    # A heat map's cells cannot be clicked; points can, and they carry the numbers.
    for counts, colour in ((False, None), (True, _ON_COLOUR)):
        mine = cells[cells["counts"] == counts]
        rows = mine.to_dict("records")
        figure.add_scatter(
            x=mine["layer"], y=mine["task"].map(tasks.index), mode="markers+text" if last < _MAX_NUMBERS else "markers", showlegend=False,
            marker={"symbol": "square", "size": _ROW - 6, "opacity": 0}, selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}}, textfont={"size": 11, "color": colour}, text=[_number(one, kind) for one in rows],
            customdata=[[one["task"], one["pooling"], int(one["layer"])] for one in rows],
            hovertext=[_hover(one, kind, titles or {}, model, base) for one in rows], hovertemplate="%{hovertext}<extra></extra>",
        )  # fmt: skip
    theme.apply(figure, height=_FRAME - 80 + _ROW * max(len(tasks), 2))
    figure.update_layout(hoverdistance=80, margin_t=34)
    layer_axis.horizontal(figure, last)
    figure.update_yaxes(
        tickmode="array", tickvals=places, ticktext=[theme.breakable((titles or {}).get(task, task), 16) for task in tasks],
        range=[len(tasks) - 0.5, -0.5], showgrid=False, tickfont_size=11,
    )  # fmt: skip
    return figure


def _number(one: Mapping[str, Any], kind: str) -> str:
    star = "★" if kind == "base-mean" and one["counts"] else ""
    text = f"{one['shown']:+.1f}{star}"
    return text.replace("-", "−")


def _hover(one: Mapping[str, Any], kind: str, titles: Mapping[str, str], model: str, base: str) -> str:
    model, base = theme.plain(model or "fine-tuned"), theme.plain(base or "base")
    place = f"layer {int(one['layer'])}{' (embeddings)' if one['layer'] == 0 else ''}"
    lines = [f"<b>{theme.plain(titles.get(one['task'], one['task']))}</b>, {place}", f"{model}: {one['accuracy'] * 100:.1f} %"]
    if kind == "base-mean":
        against = (one["accuracy"] - one["mean_change"]) * 100
        lines += [f"{base}, first token: {one['base_accuracy'] * 100:.1f} %", f"{base}, mean of all tokens: {against:.1f} %"]
        lines.append(f"first token of {model} against mean of {base}: {one['shown']:+.1f} points, q {_p(one['mean_q'])}")
    else:
        lines.append(f"{base}: {one['base_accuracy'] * 100:.1f} %")
        lines.append(f"change {one['shown']:+.1f} points ({one['low'] * 100:+.1f} to {one['high'] * 100:+.1f})")
        lines.append(f"McNemar p {_p(one['p'])}, q {_p(one['q'])}")
        if pd.notna(one.get("control_change")):
            lines.append(f"control: {one['control_change'] * 100:+.1f} points")
        if pd.notna(one.get("seed_low")) and one["seed_low"] != one["seed_high"]:
            lines.append(f"seeds of fine-tuning: {one['seed_low'] * 100:+.1f} to {one['seed_high'] * 100:+.1f} points")
    return "<br>".join(lines)


def _p(p: float) -> str:
    return "not known" if pd.isna(p) else "< 0.0001" if p < 0.0001 else f"= {p:.2g}"
