"""Sentence probes' predictions for one sentence: tasks and poolings by layers; grey: at chance."""

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal

_ROW, _AROUND = 44, 146
#: With more layers, a label does not fit into a cell on a phone.
_MAX_LAYERS = 9
_GREY = "rgba(128,136,144,0.16)"
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
    theme.apply(figure, height=_AROUND + _ROW * max(len(rows), 2))
    figure.update_layout(hoverdistance=60, margin_t=38)
    horizontal(figure, last)
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(rows))),
        ticktext=names,
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
        tickfont_size=10,
    )
    return figure


def _words(label: str, p: float, last: int) -> str:
    share = f"{p * 100:.0f}"
    return share if last >= _MAX_LAYERS else f"{theme.plain(label[:4])}<br>{share}"
