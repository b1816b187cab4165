"""How fine-tuning changed sentence probes, in points of accuracy (Figures 4 and 5 of Mosbach et al. 2020)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal
from probing.sentences.examples import FIRST, MEAN

_ROW, _FRAME = 30, 190
#: In deeper models, numbers do not fit into the cells on a phone.
_MAX_NUMBERS = 13
_GREY = "rgba(128,136,144,0.16)"
#: Opaque, so that black numbers are readable on light and dark pages; below 0 is orange, above blue.
_SCALE = ((0, "#D55E00"), (0.5, "#F9DFCB"), (0.5, "#D6E8F6"), (1, "#1F8ACB"))
_ON_COLOUR = "#000000"
#: What is drawn -> pooling of the rows, columns of change and of adjusted p.
KINDS: Mapping[str, tuple[str, str, str]] = {
    "first": (FIRST, "change", "q"),
    "mean": (MEAN, "change", "q"),
    "base-mean": (FIRST, "mean_change", "mean_q"),
}


def drawn_cells(changes: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The rows of a kind's pooling with ``shown`` (points) and ``counts``.

    ``counts``: the change is significant and, against the base's same pooling, greater than the control's.
    """
    pooling, change, q = KINDS[kind]
    cells = changes[changes["pooling"] == pooling].dropna(subset=[change])
    significant = cells[q].notna() & (cells[q] <= 0.05)
    outside = ~cells["inside_control"].fillna(False).astype(bool) if change == "change" else True
    return cells.assign(shown=cells[change] * 100, counts=significant & outside)


def change_map(
    changes: pd.DataFrame,
    *,
    kind: str = "first",
    titles: Mapping[str, str] | None = None,
    model: str = "",
    base: str = "",
) -> go.Figure:
    """Tasks by layers; blue: more is read than from the base, orange: less, grey: the change does not count.

    Against the base's mean-pooled probe a star marks q ≤ 0.05, as in the paper. In the other kinds a change that counts
    is in brackets if it is of one seed only, and seeds of another model differ there by as much. Columns: ``task,
    pooling, layer, base_accuracy, accuracy, change, low, high, p, q, mean_change, mean_q, control_change,
    inside_control`` and, if known, ``seed_low, seed_high, seed_range, within_seeds``; shares.
    """
    cells = drawn_cells(changes, kind)
    if cells.empty:
        return theme.empty("No change against a base is stored for this model and these tasks.")
    tasks, last = list(dict.fromkeys(cells["task"])), int(cells["layer"].max())
    layers, places = list(range(last + 1)), list(range(len(tasks)))
    most = max(float(cells.loc[cells["counts"], "shown"].abs().max()) if cells["counts"].any() else 0.0, 1.0)

    def square(values: pd.Series) -> list[list[Any]]:
        table = (
            cells.assign(_value=values)
            .pivot(index="task", columns="layer", values="_value")
            .reindex(index=tasks, columns=layers)
        )
        return [[None if pd.isna(value) else value for value in row] for row in table.to_numpy(dtype=object)]

    figure = go.Figure()
    figure.add_heatmap(
        z=square(pd.Series(1, index=cells.index).where(~cells["counts"])),
        x=layers,
        y=places,
        xgap=2,
        ygap=2,
        hoverinfo="skip",
        colorscale=[[0, _GREY], [1, _GREY]],
        showscale=False,
        name="does not count",
    )
    figure.add_heatmap(
        z=square(cells["shown"].where(cells["counts"])),
        x=layers,
        y=places,
        xgap=2,
        ygap=2,
        hoverinfo="skip",
        colorscale=_SCALE,
        zmin=-most,
        zmax=most,
        name="counts",
        showscale=last >= _MAX_NUMBERS,
        colorbar={"title": {"text": "points", "side": "right"}, "thickness": 12, "outlinewidth": 0},
    )
    # A heat map's cells cannot be clicked; points can, and they show the numbers.
    for counts, colour in ((False, None), (True, _ON_COLOUR)):
        some_cells = cells[cells["counts"] == counts]
        rows = some_cells.to_dict("records")
        figure.add_scatter(
            x=some_cells["layer"],
            y=some_cells["task"].map(tasks.index),
            mode="markers+text" if last < _MAX_NUMBERS else "markers",
            showlegend=False,
            marker={"symbol": "square", "size": _ROW - 6, "opacity": 0},
            selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}},
            textfont={"size": 12, "color": colour},
            text=[_number(row, kind) for row in rows],
            customdata=[[row["task"], row["pooling"], int(row["layer"])] for row in rows],
            hovertext=[_hover(row, kind, titles or {}, model, base) for row in rows],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    theme.apply(figure, height=_FRAME - 80 + _ROW * max(len(tasks), 2))
    figure.update_layout(hoverdistance=80, margin_t=34)
    horizontal(figure, last)
    figure.update_yaxes(
        tickmode="array",
        tickvals=places,
        ticktext=[theme.breakable((titles or {}).get(task, task), 16) for task in tasks],
        range=[len(tasks) - 0.5, -0.5],
        showgrid=False,
        tickfont_size=12,
    )
    return figure


def _number(row: Mapping[str, Any], kind: str) -> str:
    star = "★" if kind == "base-mean" and row["counts"] else ""
    text = f"{row['shown']:+.1f}{star}".replace("-", "−")
    return f"({text})" if kind != "base-mean" and row["counts"] and row.get("within_seeds") is True else text


def _hover(row: Mapping[str, Any], kind: str, titles: Mapping[str, str], model: str, base: str) -> str:
    model, base = theme.plain(model or "fine-tuned"), theme.plain(base or "base")
    place = f"layer {int(row['layer'])}{' (embeddings)' if row['layer'] == 0 else ''}"
    lines = [
        f"<b>{theme.plain(titles.get(row['task'], row['task']))}</b>, {place}",
        f"{model}: {row['accuracy'] * 100:.1f} %",
    ]
    if kind == "base-mean":
        against = (row["accuracy"] - row["mean_change"]) * 100
        lines += [
            f"{base}, first token: {row['base_accuracy'] * 100:.1f} %",
            f"{base}, mean of all tokens: {against:.1f} %",
        ]
        lines.append(
            f"first token of {model} against mean of {base}: {row['shown']:+.1f} points, q {_p(row['mean_q'])}"
        )
    else:
        lines.append(f"{base}: {row['base_accuracy'] * 100:.1f} %")
        lines.append(f"change {row['shown']:+.1f} points ({row['low'] * 100:+.1f} to {row['high'] * 100:+.1f})")
        lines.append(f"McNemar p {_p(row['p'])}, q {_p(row['q'])}")
        if pd.notna(row.get("control_change")):
            lines.append(f"control: {row['control_change'] * 100:+.1f} points")
        if pd.notna(row.get("seed_low")) and row["seed_low"] != row["seed_high"]:
            lines.append(f"seeds of fine-tuning: {row['seed_low'] * 100:+.1f} to {row['seed_high'] * 100:+.1f} points")
        elif row.get("within_seeds") is True:
            lines.append(
                f"one seed only; two seeds of another model differ here by {row['seed_range'] * 100:.1f} points"
            )
    return "<br>".join(lines)


def _p(p: float) -> str:
    return "not known" if pd.isna(p) else "< 0.0001" if p < 0.0001 else f"= {p:.2g}"
