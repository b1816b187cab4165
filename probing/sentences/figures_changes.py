"""Figures of how fine-tuning changed sentence probes (Figures 4 and 5 of Mosbach et al. 2020), and of one sentence."""

import textwrap
from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal
from probing.sentences.examples import FIRST, MEAN
from probing.sentences.figures import POOLING_NAMES
from probing.sentences.numbers import FATES, NOT_FOUND

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
    theme.label_rows(figure, [theme.breakable((titles or {}).get(task, task), 16) for task in tasks], tickfont_size=12)
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


#: A probe of the same cell: blue and green; another probe only: orange; none: hatched, because it is a limit of probes;
#: undecided: grey.
FATE_COLOURS = dict(zip(FATES, ("#2C6FAE", "#44AA99", "#E3A53C", "#8A4F64", "#9AA0A6"), strict=True))
#: Letters of a line of the legend: two names fit next to each other on a phone.
_IN_LEGEND = 14
_FATES_ROW, _FATES_FRAME = 46, 150


def fate_bars(shares: pd.DataFrame, *, titles: Mapping[str, str] | None = None) -> go.Figure:
    """One bar per task and pooling, divided by the fates of its cells.

    Columns: ``task, pooling, fate, cells, of, share``.
    """
    shares = shares[shares["of"] > 0]
    if shares.empty:
        return theme.empty(
            "The base's probes beat the commonest answer nowhere, so no property could be lost, or no model has fates."
        )
    rows = list(dict.fromkeys(shares[["task", "pooling"]].itertuples(index=False, name=None)))
    figure = go.Figure()
    for fate in [name for name in FATES if shares.loc[shares["fate"] == name, "cells"].any()]:
        of_fate = shares[(shares["fate"] == fate) & (shares["cells"] > 0)]
        colour = FATE_COLOURS[fate]
        words = [
            f"{(titles or {}).get(row.task, row.task)}, {POOLING_NAMES.get(row.pooling, row.pooling)}"
            for row in of_fate.itertuples()
        ]
        figure.add_bar(
            y=[rows.index((row.task, row.pooling)) for row in of_fate.itertuples()],
            x=of_fate["share"] * 100,
            orientation="h",
            name="<br>".join(textwrap.wrap(fate, _IN_LEGEND)),
            marker={"color": colour, "line": {"width": 1, "color": "rgba(128,136,144,0.5)"}}
            | (
                {"pattern": {"shape": "/", "fgcolor": "#FFFFFF", "size": 6, "solidity": 0.25}}
                if fate == NOT_FOUND
                else {}
            ),
            text=of_fate["cells"].astype(str),
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": theme.ink_on(colour)},
            hovertext=[
                f"<b>{theme.plain(word)}</b><br>{fate}: {row.cells} of {row.of} layers, {row.share * 100:.0f} %"
                for word, row in zip(words, of_fate.itertuples(), strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    theme.apply(figure, height=_FATES_FRAME + _FATES_ROW * len(rows))
    figure.update_layout(barmode="stack", bargap=0.25, legend_traceorder="normal")
    figure.update_xaxes(title_text="per cent of the layers that had the property", ticksuffix=" %", range=[0, 100])
    names = [
        f"{theme.breakable((titles or {}).get(task, task), 18)}<br><i>{POOLING_NAMES.get(pooling, pooling)}</i>"
        for task, pooling in rows
    ]
    theme.label_rows(figure, names, tickfont_size=12)
    return figure


def with_hover(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The rows with ``hover`` text, of ``title, layer, pooling, label, p, margin, accuracy, majority, chance``."""
    return verdicts.assign(
        hover=[
            "<br>".join(
                (
                    f"<b>{theme.plain(verdict.title)}</b>, layer {verdict.layer}, {POOLING_NAMES[verdict.pooling]}",
                    f"says {theme.plain(verdict.label)}: {verdict.p * 100:.1f} %, margin {verdict.margin:.2f}",
                    f"test accuracy {verdict.accuracy * 100:.1f} %, commonest answer {verdict.majority * 100:.1f} %",
                    *(["at chance: means nothing"] if verdict.chance else []),
                )
            )
            for verdict in verdicts.itertuples()
        ],
    )


_VERDICT_ROW, _AROUND = 44, 146
#: With more layers, a label does not fit into a cell on a phone.
_MAX_LAYERS = 9
_FAINT, _FULL = 0.10, 0.62


def verdict_map(verdicts: pd.DataFrame) -> go.Figure:
    """One cell per probe: its prediction and probability; the hue is the label, the shade the confidence.

    Columns: ``task, title, pooling, layer, label, number, p, classes, chance, hover``: ``number`` and ``p`` are the
    label's, ``chance``: the probe is no better than the commonest label.
    """
    if verdicts.empty:
        return theme.empty("No probe was applied.")
    keys = list(zip(verdicts["task"], verdicts["pooling"], strict=True))
    rows, last = list(dict.fromkeys(keys)), int(verdicts["layer"].max())
    titles = dict(zip(verdicts["task"], verdicts["title"], strict=True))
    floor = 1 / verdicts["classes"]
    cells = verdicts.assign(
        place=[rows.index(key) for key in keys], sure=((verdicts["p"] - floor) / (1 - floor)).clip(0, 1)
    )
    figure = go.Figure()
    for number in [None, *sorted(set(cells["number"]))]:
        of_number = cells[cells["chance"]] if number is None else cells[(cells["number"] == number) & ~cells["chance"]]
        if of_number.empty:
            continue
        colour = theme.PALETTE[int(number or 0) % len(theme.PALETTE)]
        scale = [_GREY, _GREY] if number is None else [theme.faint(colour, _FAINT), theme.faint(colour, _FULL)]
        square = of_number.pivot(index="place", columns="layer", values="sure").reindex(
            index=range(len(rows)), columns=range(last + 1)
        )
        figure.add_heatmap(
            z=square.astype(object).where(square.notna(), None).to_numpy().tolist(),
            x=list(range(last + 1)),
            y=list(range(len(rows))),
            zmin=0,
            zmax=1,
            xgap=2,
            ygap=2,
            hoverinfo="skip",
            showscale=False,
            colorscale=[[0, scale[0]], [1, scale[1]]],
        )
    figure.add_scatter(
        x=cells["layer"],
        y=cells["place"],
        mode="text",
        showlegend=False,
        textfont={"size": 10},
        text=[_words(cell.label, cell.p, last) for cell in cells.itertuples()],
        hovertext=cells["hover"],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    names = [f"{theme.plain(titles[task]).replace(' ', '<br>', 1)}<br>({pooling})" for task, pooling in rows]
    theme.apply(figure, height=_AROUND + _VERDICT_ROW * max(len(rows), 2))
    figure.update_layout(hoverdistance=60, margin_t=38)
    horizontal(figure, last)
    theme.label_rows(figure, names, tickfont_size=10)
    return figure


def _words(label: str, p: float, last: int) -> str:
    share = f"{p * 100:.0f}"
    return share if last >= _MAX_LAYERS else f"{theme.plain(label[:4])}<br>{share}"
