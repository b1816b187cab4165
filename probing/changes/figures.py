"""Figures of all measurements of one fine-tuned model on one layer axis, and of weights moved against facts lost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from probing.kernel.figures import theme
from probing.kernel.figures.axis import EndLabel, horizontal, write

#: Height of a panel, of one of few, of the gap above it (for its title), and of the figure's frame, in pixels.
_PANEL, _TALL, _GAP, _TOP, _BOTTOM = 112, 170, 50, 96, 46
#: From this ratio of greatest to least value on, a logarithmic axis helps.
_LINEAR = 3
#: Minimum extent of an axis, so that noise does not look like a change.
_LEAST = 0.04
_DASHES = ("solid", "dash", "dot")
#: A stroke of each dash, before the name of its line.
_STROKES = {"solid": "——", "dash": "– –", "dot": "· · ·"}


@dataclass(frozen=True)
class Panel:
    """How a panel writes its values."""

    title: str  #: with its unit
    factor: float = 1.0  #: multiplies stored values
    shown: str = "{:.2f}"  #: format of a value in the hover text
    lines: Mapping[str, str] | None = None  #: line -> its name; the first is solid, the second dashed, the third dotted
    before: str = ""  #: name of the base's value, if it is drawn
    level: float | None = None  #: the value of no change, drawn as a thin line
    log: bool = False

    def dash(self, line: str) -> str:
        return _DASHES[list(self.lines).index(line)] if self.lines and line in self.lines else _DASHES[0]

    def name(self, line: str) -> str:
        """The name of a line; empty if there is only one."""
        return (self.lines or {}).get(line, "")


#: Prefix of a panel's name -> how it is drawn. Panels of sentence probes are titled by their task.
PANELS: Mapping[str, Panel] = {
    "facts": Panel("Facts kept, % of what the base knows there", 100, "{:.1f} %", level=100),
    "edges": Panel("Edge probes, F1 in %, mean over {averaged} tasks", 100, "{:.1f} %", before="base"),
    "probe": Panel(
        "{task}, change of accuracy in points",
        100,
        "{:+.1f}",
        {"mean": "mean of all tokens", "first": "first token"},
        level=0,
    ),
    "entropy": Panel("Entropy of the first token's attention, nats", before="base"),
    "distance": Panel("Its attention moved by, in tokens (earth mover)", level=0),
    "perplexity": Panel(
        "Perplexity with the base's layers put back",
        1,
        "{:,.0f}",
        {"last": "this one to the last", "first": "the first to this one", "single": "this one"},
        "base",
        log=True,
    ),
    "drift": Panel("Change of weights, % of the norm of the base's", 100, "{:.2f} %", level=0),
    "likeness": Panel(
        "Similarity of states to the base's",
        1,
        "{:.2f}",
        {"cka-mean": "CKA, mean", "cka-first": "CKA, first token", "same-token-cosine": "same token"},
        level=1,
    ),
}


def evidence_panels(
    evidence: pd.DataFrame,
    *,
    names: Sequence[str],
    colours: Sequence[str],
    tasks: Mapping[str, str] | None = None,
    tall: bool = False,
) -> go.Figure:
    """One panel per kind of evidence; thin grey lines are the control's, a grey marker is within its change.

    ``evidence``: columns of ``compared.report_evidence``. ``names``: model, base and control (empty if there is
    none); ``colours``: model and base. ``tall``: few panels, which then are higher.
    """
    evidence = evidence.dropna(subset=["value"])
    if evidence.empty:
        return theme.empty("Nothing is stored that can be compared with the base.")
    panels = list(dict.fromkeys(evidence["panel"]))
    high = min(_TALL, max(_PANEL, 2 * _TALL // len(panels))) if tall else _PANEL
    inner = high * len(panels) + _GAP * (len(panels) - 1)
    height, last = inner + _TOP + _BOTTOM, int(evidence["layer"].max())
    figure = go.Figure()
    theme.apply(figure, height=height)
    for number, name in enumerate(panels):
        axis = f"y{number + 1 if number else ''}"
        top = 1 - number * (high + _GAP) / inner
        panel = panel_of(name, tasks or {})
        _draw(figure, evidence[evidence["panel"] == name], panel, axis, (names, colours))
        figure.update_layout(
            {f"yaxis{axis[1:]}": _axis(panel, (max(top - high / inner, 0.0), top), evidence[evidence["panel"] == name])}
        )
        words = _heading(panel, evidence[evidence["panel"] == name])
        theme.heading(figure, words, y=top, xref="paper", yshift=3, align="left", font_size=12, name="panel")
    _legend(figure, evidence, names, colours)
    horizontal(figure, last)
    # Behind all panels, not only the first.
    figure.update_shapes(y0=0, y1=1, yref="paper")
    # One axis for all panels: the cursor and its line go through every one of them.
    figure.update_layout(
        hovermode="x",
        hoversubplots="axis",
        hoverdistance=40,
        spikedistance=-1,
        margin_t=_TOP,
        legend_y=1 + 46 / inner,
        legend_itemclick=False,
        legend_itemdoubleclick=False,
    )
    figure.update_xaxes(
        anchor=f"y{len(panels) if len(panels) > 1 else ''}",
        showspikes=True,
        spikemode="across",
        spikesnap="hovered data",
        spikethickness=1.5,
        spikedash="solid",
        spikecolor=theme.NEUTRAL,
        showgrid=True,
    )
    return figure


def panel_of(name: str, tasks: Mapping[str, str]) -> Panel:
    """How a panel is drawn; a panel of sentence probes is titled with its task."""
    kind, _, task = name.partition(":")
    panel = PANELS[kind]
    if not task:
        return panel
    title = panel.title.format(task=theme.plain(tasks.get(task, task)))
    return Panel(title, panel.factor, panel.shown, panel.lines, panel.before, panel.level, panel.log)


def _axis(panel: Panel, domain: tuple[float, float], rows: pd.DataFrame) -> dict[str, Any]:
    look = {
        "domain": list(domain),
        "anchor": "x",
        "automargin": True,
        "gridcolor": theme.GRID,
        "zeroline": False,
        "fixedrange": True,
    }
    look |= {"nticks": 5, "tickfont": {"size": 12}}
    columns = [
        "value",
        "control_value",
        "low",
        "high",
        "seed_low",
        "seed_high",
        *(["base_value"] if panel.before else []),
    ]
    values = rows[columns].stack().dropna() * panel.factor
    levels = [] if panel.level is None else [panel.level]
    low, high = min([float(values.min()), *levels]), max([float(values.max()), *levels])
    if panel.log and low > 0 and high / low > _LINEAR:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [step * 10.0**power for power in powers for step in (1, 2, 5)]
        edge = 0.06 * math.log10(high / low)
        return look | {
            "type": "log",
            "range": [math.log10(low) - edge, math.log10(high) + edge],
            "tickmode": "array",
            "tickvals": ticks,
            "ticktext": [f"{tick:,.0f}" for tick in ticks],
        }
    edge = max(high - low, _LEAST * panel.factor) * 0.08
    return look | {"range": [low - edge, high + edge]}


def _heading(panel: Panel, rows: pd.DataFrame) -> str:
    there = set(rows["line"])
    strokes = [f"{_STROKES[panel.dash(line)]} {words}" for line, words in (panel.lines or {}).items() if line in there]
    title = panel.title.replace("{averaged}", str(max(of.count(",") + 1 for of in rows["of"].fillna(""))))
    return f"<b>{title}</b>" + (f"<br><span style='font-size:12px'>{'   '.join(strokes)}</span>" if strokes else "")


def _draw(
    figure: go.Figure, rows: pd.DataFrame, panel: Panel, axis: str, looks: tuple[Sequence[str], Sequence[str]]
) -> None:
    names, colours = looks
    layers = sorted(set(rows["layer"]))
    ends = [layers[0] - 0.5 if layers[0] == 0 else layers[0], layers[-1]]
    if panel.level is not None:
        _level(figure, ends, panel.level, axis, theme.NEUTRAL, "no change")
    if panel.before:
        base = rows.drop_duplicates("layer").sort_values("layer").dropna(subset=["base_value"])
        _thin(figure, base, base["base_value"] * panel.factor, axis, colours[1], "solid", f"{names[1]}")
    for line, points in rows.groupby("line", sort=False):
        points = points.sort_values("layer")
        if str(line) == "none":
            _level(figure, ends, float(points["value"].iloc[0]), axis, colours[0], f"{names[0]}, unchanged")
            continue
        known = points.dropna(subset=["control_value"])
        if len(known):
            _thin(
                figure,
                known,
                known["control_value"] * panel.factor,
                axis,
                theme.NEUTRAL,
                panel.dash(str(line)),
                names[2],
            )
        _line(figure, points, panel, axis, names, colours[0])


def _level(figure: go.Figure, ends: list[float], level: float, axis: str, colour: str, name: str) -> None:
    figure.add_scatter(
        x=ends,
        y=[level, level],
        yaxis=axis,
        mode="lines",
        line={"color": theme.faint(colour, 0.7), "width": 1, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
        name=theme.plain(name),
    )


def _thin(figure: go.Figure, rows: pd.DataFrame, y: pd.Series, axis: str, colour: str, dash: str, name: str) -> None:
    figure.add_scatter(
        x=rows["layer"],
        y=y,
        yaxis=axis,
        mode="lines",
        line={"color": colour, "width": 1.4, "dash": dash},
        hoverinfo="skip",
        showlegend=False,
        name=theme.plain(name),
        cliponaxis=False,
    )


def _line(figure: go.Figure, points: pd.DataFrame, panel: Panel, axis: str, names: Sequence[str], colour: str) -> None:
    line = str(points["line"].iloc[0])
    theme.interval_band(
        figure, points["layer"], points["low"] * panel.factor, points["high"] * panel.factor, colour, yaxis=axis
    )
    marks = [theme.NEUTRAL if inside else colour for inside in points["inside_control"]]
    figure.add_scatter(
        x=points["layer"],
        y=points["value"] * panel.factor,
        yaxis=axis,
        mode="lines+markers",
        cliponaxis=False,
        showlegend=False,
        name=theme.plain(names[0]) + (f", {panel.name(line)}" if panel.name(line) else ""),
        line={"color": colour, "width": 2.2, "dash": panel.dash(line)},
        marker={"size": 7, "color": marks, "line": {"width": 0}},
        error_y=_whiskers(points, panel, colour),
        hovertext=[_hover(point, panel, names) for point in points.to_dict("records")],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _whiskers(points: pd.DataFrame, panel: Panel, colour: str) -> dict[str, Any] | None:
    if not (points["seeds"].fillna(1) > 1).any():
        return None
    up, down = points["seed_high"] - points["value"], points["value"] - points["seed_low"]
    up, down = (ends.clip(lower=0).fillna(0) * panel.factor for ends in (up, down))
    return theme.whiskers(up, down, color=colour, thickness=1.2, width=4)


def _hover(point: Mapping[str, Any], panel: Panel, names: Sequence[str]) -> str:
    """The hover text of a point, short enough to fit next to those of the other panels."""

    def formatted(value: float) -> str:
        return panel.shown.format(value * panel.factor).replace("-", "−")

    references = [f"base {formatted(point['base_value'])}"] if panel.before and pd.notna(point["base_value"]) else []
    if pd.notna(point["control_value"]):
        references.append(f"control {formatted(point['control_value'])}")
    text = f"{panel.name(str(point['line'])) or 'layer ' + str(point['layer'])}: {formatted(point['value'])}"
    return f"{text} ({', '.join(references)})" if references else text


def _legend(figure: go.Figure, evidence: pd.DataFrame, names: Sequence[str], colours: Sequence[str]) -> None:
    entries: list[tuple[str, dict[str, Any]]] = [
        (
            names[0],
            {
                "mode": "lines+markers",
                "line": {"color": colours[0], "width": 2.2},
                "marker": {"size": 7, "color": colours[0]},
            },
        ),
    ]
    if evidence["panel"].map(lambda name: bool(PANELS[name.partition(":")[0]].before)).any():
        entries.append((names[1], {"mode": "lines", "line": {"color": colours[1], "width": 1.4}}))
    if names[2]:
        entries.append((names[2], {"mode": "lines", "line": {"color": theme.NEUTRAL, "width": 1.4}}))
    if evidence["inside_control"].any():
        entries.append(("no more than the control", {"mode": "markers", "marker": {"size": 7, "color": theme.NEUTRAL}}))
    for name, look in entries:
        figure.add_scatter(x=[None], y=[None], name=theme.plain(name), showlegend=True, **look)


def drift_points(
    points: pd.DataFrame,
    *,
    loss: str,
    title: str,
    factor: float = 1.0,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> go.Figure:
    """One point per model with its name at the right edge; open: the control, or a net loss from counts only.

    ``points`` of ``compared.report.drift_and_losses``; ``loss``, times ``factor``, is a column of it.
    """
    points = points.dropna(subset=["drift", loss])
    if points.empty:
        return theme.empty("No model has both a weight drift and this measure.")
    figure, ends = go.Figure(), []
    edge = float(points["drift"].max()) * 105 or 1.0
    for row in points.to_dict("records"):
        x, y, colour = row["drift"] * 100, row[loss] * factor, colours.get(row["model"], theme.NEUTRAL)
        called = (labels or {}).get(row["model"], row["model"])
        name, is_open = theme.plain(called), row["control"] or (loss == "facts_lost" and row["counted"])
        figure.add_scatter(
            x=[x, edge],
            y=[y, y],
            mode="lines",
            line={"color": theme.faint(colour, 0.35), "width": 1},
            hoverinfo="skip",
            showlegend=False,
            name=f"{name}: to its name",
        )
        figure.add_scatter(
            x=[x],
            y=[y],
            name=name,
            mode="markers",
            showlegend=False,
            cliponaxis=False,
            marker=theme.outlined("circle-open" if is_open else "circle", colour, 12, 2),
            hovertemplate=(
                f"<b>{name}</b><br>weights moved by %{{x:.2f}} %<br>{theme.plain(title)}: %{{y:.2f}}<extra></extra>"
            ),
        )
        ends.append(EndLabel(edge, y, called, colour, strong=not row["control"]))
    low, high = min(float(points[loss].min()) * factor, 0), max(float(points[loss].max()) * factor, 0)
    around = (high - low or 1) * 0.06
    theme.apply(figure, height=max(420, 130 + 26 * len(points)))
    figure.update_xaxes(title_text="mean change of weights, layers 1 to the last", ticksuffix=" %", range=[0, edge])
    figure.update_yaxes(title_text=theme.plain(title))
    return write(figure, ends, ranges=[(low - around, high + around)])
