"""Figures of where in the layers a task is solved, and of the order of tasks (Tenney et al. 2019, Figure 1)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import horizontal, readable, share_of_depth
from probing.kernel.figures.theme import add, horizontal_line

#: Height of a model's line, of the gap between two rows, and of the figure's frame, in pixels.
_LINE, _GAP, _FRAME = 15, 10, 150
#: Published models are grey and differ by their marker.
_PUBLISHED = ("diamond", "square", "triangle-up")


NOT_RESOLVED = "cannot be told"


def half_rows(
    halves: pd.DataFrame,
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
) -> go.Figure:
    """One row per task, a line per model: a dot at the layer by which half of the gain is there, and the gain in words.

    Columns are those of ``report_curves.halves``; without a ``half``, the gain with its interval says why. Models
    without a colour are published, grey.
    """
    if halves.empty:
        return theme.empty("No cumulative probes are stored for these models.")
    models, figure = list(dict.fromkeys(halves["model"])), go.Figure()
    rows, looks = placed(halves.assign(row=halves["task"]), models), looks_of_models(models, colours)
    for model in models:
        line, (colour, symbol) = rows[rows["model"] == model], looks[model]
        x, gains = line["half"], [_gain(row) for row in line.to_dict("records")]
        name = theme.plain((labels or {}).get(model, model))
        look = {"y": line["_y"], "name": name, "legendgroup": name}
        figure.add_scatter(
            x=x,
            mode="markers",
            marker={"symbol": symbol, "size": 11, "color": colour},
            error_x=theme.whiskers(line["half_high"] - x, x - line["half_low"], color=colour, thickness=1.8, width=0),
            customdata=gains,
            hovertemplate=f"<b>{name}</b><br>half of the gain by layer %{{x}}<br>%{{customdata}}<extra></extra>",
            **look,
        )
        figure.add_scatter(
            x=line["half_high"].fillna(x).fillna(0),
            mode="text",
            text=gains,
            textposition="middle right",
            textfont={"size": 12, "color": readable(colour)},
            hoverinfo="skip",
            showlegend=False,
            **look,
        )
    finish(figure, rows, titles or {})
    horizontal(figure, int(rows["last"].max()))
    return figure.update_xaxes(showgrid=True)


def _gain(row: Mapping[str, Any]) -> str:
    points, low, high = (f"{100 * row[name]:+.1f}".replace("-", "−") for name in ("gain", "gain_low", "gain_high"))
    # The spaces keep the words off the dot.
    return f"{NOT_RESOLVED}: {points} points ({low} to {high})" if pd.isna(row["half"]) else f"\u2003{points} points"


def placed(table: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """The table (``row, model``) with the vertical position ``_y`` of each line, in pixels from the top."""
    rows = list(dict.fromkeys(table["row"]))
    ranked = table.assign(_row=table["row"].map(rows.index), _model=table["model"].map(list(order).index)).sort_values(
        ["_row", "_model"]
    )
    places, y, before = [], 0.0, None
    for row in ranked["_row"]:
        y += 0 if before is None else _LINE if row == before else _LINE + _GAP
        places.append(y)
        before = row
    return ranked.assign(_y=places).drop(columns=["_row", "_model"])


def finish(figure: go.Figure, rows: pd.DataFrame, names: Mapping[str, str]) -> go.Figure:
    """Names the rows of ``placed``, in place; ``names``: ``row`` -> displayed name."""
    theme.apply(figure, height=int(_FRAME + rows["_y"].max() + _LINE))
    middles = rows.groupby("row", sort=False)["_y"].mean()
    edges = rows.groupby("row", sort=False)["_y"].min().iloc[1:] - (_LINE + _GAP) / 2
    add(
        figure,
        [horizontal_line(figure, edge, line={"color": theme.GRID, "width": 1}, layer="below") for edge in edges],
    )
    # A label of punctuation alone would look like a row without a name.
    called = [names.get(row, row if any(map(str.isalnum, row)) else f"“{row}”") for row in middles.index]
    ends = (rows["_y"].max() + _LINE, -_LINE)
    theme.label_rows(figure, [theme.breakable(name, 16) for name in called], list(middles), ends)
    return figure


def looks_of_models(models: Sequence[str], colours: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Model -> colour and marker; models without a colour are published ones."""
    ours = [model for model in models if model in colours]
    theirs = [model for model in models if model not in colours]
    looks = {model: (colours[model], "circle") for model in ours}
    return looks | {model: (theme.NEUTRAL, _PUBLISHED[place % len(_PUBLISHED)]) for place, model in enumerate(theirs)}


NEAR_UNIFORM = "weights near uniform: no place"
#: Opacity of a centre of gravity that is no place.
_FAINT = 0.3


def place_rows(
    places: pd.DataFrame,
    *,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    shares: bool = False,
) -> go.Figure:
    """One row per task (or label), a line per model: the centre of gravity, filled, and the expected layer, open.

    Columns: ``row, model, last, centre_of_gravity, expected_layer, expected_layer_low, expected_layer_high`` in layers,
    empty if not resolved; optional ``expected_layer_reason`` and ``weights_near_uniform`` (faint). Models without a
    colour are published, grey. ``shares``: layers as shares of the model's depth.
    """
    if places.empty:
        return theme.empty("No mean layer of the gains can be told, or no cumulative probes are stored.")
    models = list(dict.fromkeys(places["model"]))
    rows, looks = placed(places, models), looks_of_models(models, colours)
    scale = 1 / rows["last"] if shares else rows["last"] * 0 + 1.0
    figure = go.Figure()
    for model, model_rows in rows.groupby("model", sort=False):
        name = (labels or {}).get(str(model), str(model))
        _add_places(figure, model_rows, scale[model_rows.index], name, looks[str(model)], titles or {})
    if rows["centre_of_gravity"].notna().any():
        theme.add_legend(figure, "mean layer of the weights", {"symbol": "circle"})
    if any(map(_near_uniform, rows.to_dict("records"))):
        theme.add_legend(figure, NEAR_UNIFORM, {"symbol": "circle", "opacity": _FAINT})
    theme.add_legend(
        figure, "mean layer of the gains", {"symbol": "circle-open", "line": {"width": 1.8, "color": theme.NEUTRAL}}
    )
    finish(figure, rows, titles or {})
    last = int(rows["last"].max())
    if shares:
        return share_of_depth(figure)
    grid = {"showgrid": True}
    horizontal(figure, last)
    figure.update_xaxes(**grid)
    return figure


def _add_places(
    figure: go.Figure,
    model_rows: pd.DataFrame,
    scale: pd.Series,
    name: str,
    look: tuple[str, str],
    titles: Mapping[str, str],
) -> None:
    colour, symbol = look
    plain_name = theme.plain(name)
    there = model_rows["expected_layer"].notna()
    for row, by in zip(model_rows[there].to_dict("records"), scale[there], strict=True):
        if pd.notna(row["expected_layer_low"]):
            figure.add_scatter(
                x=[row["expected_layer_low"] * by, row["expected_layer_high"] * by],
                y=[row["_y"]] * 2,
                mode="lines",
                hoverinfo="skip",
                line={"color": colour, "width": 1.8},
                showlegend=False,
                legendgroup=name,
                name=f"{plain_name}: 95 % interval",
            )
    figure.add_scatter(
        x=(model_rows["centre_of_gravity"] * scale).where(model_rows["centre_of_gravity"].notna()),
        y=model_rows["_y"],
        mode="markers",
        name=plain_name,
        legendgroup=name,
        marker={
            "symbol": symbol,
            "size": 10,
            "color": colour,
            "opacity": [_FAINT if _near_uniform(row) else 1.0 for row in model_rows.to_dict("records")],
        },
        hovertext=[_hover_of_place(row, plain_name, titles) for row in model_rows.to_dict("records")],
        customdata=[[row] for row in model_rows["row"]],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    figure.add_scatter(
        x=model_rows.loc[there, "expected_layer"] * scale[there],
        y=model_rows.loc[there, "_y"],
        mode="markers",
        name=f"{plain_name}: expected layer",
        showlegend=False,
        legendgroup=name,
        marker=theme.outlined(f"{symbol}-open", colour, 10, 1.8),
        hovertext=[_hover_of_place(row, plain_name, titles) for row in model_rows[there].to_dict("records")],
        customdata=[[row] for row in model_rows.loc[there, "row"]],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    if (~there).any():
        # The reason is in the hover and in the table: with it, the words would reach into the points.
        words = [NOT_RESOLVED] * int((~there).sum())
        figure.add_scatter(
            x=[0.0] * len(words),
            y=model_rows.loc[~there, "_y"],
            mode="text",
            text=words,
            # Above the line of the centre of gravity, which would strike the words through.
            textposition="top right",
            hoverinfo="skip",
            textfont={"size": 12, "color": theme.NEUTRAL},
            showlegend=False,
            name=f"{plain_name}: {NOT_RESOLVED}",
            legendgroup=name,
        )


def _near_uniform(row: Mapping[str, Any]) -> bool:
    marked = row.get("weights_near_uniform")
    return pd.notna(marked) and bool(marked)


def _unresolved(row: Mapping[str, Any]) -> str:
    reason = row.get("expected_layer_reason")
    return f"{NOT_RESOLVED}: {reason}" if isinstance(reason, str) else NOT_RESOLVED


def _hover_of_place(row: Mapping[str, Any], model: str, titles: Mapping[str, str]) -> str:
    lines = [f"<b>{theme.plain(titles.get(row['row'], row['row']))}</b> · {model}, {int(row['last'])} layers"]
    if pd.notna(row["centre_of_gravity"]):
        lines.append(
            f"centre of gravity: layer {row['centre_of_gravity']:.2f}"
            + (f" ({NEAR_UNIFORM})" if _near_uniform(row) else "")
        )
    if pd.isna(row["expected_layer"]):
        lines.append(f"expected layer: {_unresolved(row)}")
    else:
        lines.append(f"expected layer: {row['expected_layer']:.2f}")
        if pd.notna(row["expected_layer_low"]):
            lines.append(f"95 % interval {row['expected_layer_low']:.2f} to {row['expected_layer_high']:.2f}")
    return "<br>".join(lines)


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
    rows, looks = placed(scores, models), looks_of_models(models, colours)
    figure = go.Figure()
    for model, model_rows in rows.groupby("model", sort=False):
        _add_scores(figure, model_rows, (labels or {}).get(str(model), str(model)), looks[str(model)], titles or {})
    for column, (name, symbol) in YARDSTICKS.items():
        if column in rows and rows[column].notna().any():
            _add_yardstick(figure, rows, column, name, symbol, looks)
    theme.add_legend(figure, "words alone, P(0)", {"symbol": "circle-open"})
    theme.add_legend(figure, "all layers, P(L)", {"symbol": "circle"})
    finish(figure, rows, titles or {})
    figure.update_xaxes(title_text="right labels, % (micro F1)", range=[-2, 104])
    return figure


def _add_scores(
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
            marker=theme.outlined(f"{symbol}{suffix}", colour, 9, 1.8),
            error_x=_interval(model_rows, colour) if column == "f1_last" else None,
            hovertext=[
                _hover_of_score(row, column, probe, plain_name, titles) for row in model_rows.to_dict("records")
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )


def _interval(model_rows: pd.DataFrame, colour: str) -> dict[str, Any] | None:
    if "f1_last_low" not in model_rows or model_rows["f1_last_low"].isna().all():
        return None
    up, down = model_rows["f1_last_high"] - model_rows["f1_last"], model_rows["f1_last"] - model_rows["f1_last_low"]
    return theme.whiskers(up * 100, down * 100, color=colour, thickness=1.4, width=3)


def _hover_of_score(row: Mapping[str, Any], column: str, probe: str, model: str, titles: Mapping[str, str]) -> str:
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
        marker=theme.outlined(symbol, marks, size, 3 if column == "ceiling" else 1.8),
    )
    theme.add_legend(
        figure, name, {"symbol": symbol, "line": {"width": 3 if column == "ceiling" else 1.8, "color": theme.NEUTRAL}}
    )


_CELL = 38
#: Verdict on the row against the column -> (sign, place on the colour scale).
SIGNS = {"earlier": ("earlier", -1.0), "later": ("later", 1.0), "order not resolved": ("?", 0.0)}
_SCALE = [[0.0, "#56B4E9"], [0.5, "rgba(128,136,144,0.12)"], [1.0, "#E69F00"]]


def order_matrix(pairs: pd.DataFrame, *, titles: Mapping[str, str] | None = None) -> go.Figure:
    """A square: is the row's expected layer earlier or later than the column's, or is the order not resolved?

    Columns: ``first, second, verdict, difference, low, high``: of ``first`` against ``second``, in expected layers.
    """
    if pairs.empty:
        return theme.empty("Fewer than two expected layers: there is no pair to compare.")
    names = list(dict.fromkeys([*pairs["first"], *pairs["second"]]))
    cells = {}
    for pair in pairs.to_dict("records"):
        cells[pair["first"], pair["second"]] = (pair["verdict"], pair["difference"], pair["low"], pair["high"])
        turned = {"earlier": "later", "later": "earlier"}.get(pair["verdict"], pair["verdict"])
        cells[pair["second"], pair["first"]] = (turned, -pair["difference"], -pair["high"], -pair["low"])
    called = {name: theme.plain((titles or {}).get(name, name)) for name in names}
    signs = [
        [SIGNS[cells[row, column][0]] if (row, column) in cells else ("", None) for column in names] for row in names
    ]
    hover = [
        [_hover_of_order(called[row], called[column], cells.get((row, column))) for column in names] for row in names
    ]
    figure = go.Figure()
    figure.add_heatmap(
        z=[[sign[1] for sign in line] for line in signs],
        x=list(range(len(names))),
        y=list(range(len(names))),
        zmin=-1,
        zmax=1,
        colorscale=_SCALE,
        showscale=False,
        xgap=2,
        ygap=2,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        text=[[{"earlier": "◀", "later": "▶"}.get(sign[0], "") for sign in line] for line in signs],
        texttemplate="%{text}",
    )
    # Their cells are transparent, so Plotly's choice of black or white for the text would be wrong on a dark page.
    unknown = [(x, y) for y, line in enumerate(signs) for x, sign in enumerate(line) if sign[0] == "?"]
    figure.add_scatter(
        x=[x for x, _ in unknown],
        y=[y for _, y in unknown],
        mode="text",
        text=["?"] * len(unknown),
        textfont={"color": theme.NEUTRAL},
        hoverinfo="skip",
        showlegend=False,
    )
    theme.apply(figure, height=170 + _CELL * len(names))
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "showgrid": False}
    figure.update_xaxes(
        ticktext=[called[name] for name in names], side="top", tickangle=-40, ticklabeloverflow="allow", **ticks
    )
    figure.update_yaxes(ticktext=[called[name] for name in names], range=[len(names) - 0.5, -0.5], **ticks)
    # The last name leans over the right end.
    figure.update_layout(margin_t=90, margin_r=60)
    return figure


def _hover_of_order(row: str, column: str, cell: tuple | None) -> str:
    if cell is None:
        return f"{row} and {column}: not compared" if row != column else row
    verdict, difference, low, high = cell
    words = f"{row} is {verdict} than {column}" if verdict in ("earlier", "later") else f"{row} and {column}: {verdict}"
    if pd.isna(difference):
        return words
    interval = "interval unknown: too few seeds" if pd.isna(low) else f"interval {low:+.2f} to {high:+.2f}"
    return f"{words}<br>difference {difference:+.2f} layers<br>{interval}"
