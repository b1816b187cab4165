"""Figures of lost facts: how many come back and by which way, and how far their answers fell."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from probing.forgetting.savings import SAVED, means
from probing.forgetting.ways import BACK, GAINED, KEPT, NOT_RECOVERED, OUTCOMES, USUAL_STEPS, WAYS
from probing.kernel.figures import theme

#: Kind of a part -> its colour and its words in the middle column.
LOOKS = {
    KEPT: (theme.KEPT, "kept"),
    BACK: (theme.BACK, "come back"),
    NOT_RECOVERED: (theme.NOT_BACK, "not back"),
    GAINED: (theme.GAINED, "gained"),
}
_WORDS = dict(zip(WAYS, ("at another layer", "refitted head", "layers put back", "relearned"), strict=True))
#: Left ends of the three columns, and the width of a block.
_COLUMNS, _WIDTH = (0.0, 0.38, 0.66), 0.045
#: Least height of a part with its label, and the gap between two.
_LEAST, _GAP = 6.0, 2.5
_HEIGHT, _SMALL, _LARGE = 410, 13, 16


def flow_of_100(parts: pd.DataFrame, *, base: str, model: str, base_colour: str) -> go.Figure:
    """The facts that a base knew on the left, what became of them in the middle, the ways back on the right.

    ``parts`` of ``forgetting.report_outcome.hundred``; each carries its name, so that a click can list its facts.
    """
    if not parts["n"].sum():
        return theme.empty("The base knows none of these facts.")
    figure, labels = go.Figure(), []
    kinds = parts.groupby("kind", sort=False).agg(of_100=("of_100", "sum"), n=("n", "sum"))
    middle = _tops(kinds["of_100"].to_dict(), 0.0)
    source = 0.0
    for kind, (top, size) in middle.items():
        colour, words = LOOKS[kind]
        _ribbon(figure, 0, top if kind == GAINED else source, top, size, theme.faint(colour, 0.34))
        source += size if kind != GAINED else 0
        name = "" if kind == BACK else kind
        hover = f"<b>{words}</b>: {int(kinds.loc[kind, 'n']):,} facts, {int(size)} %"
        _block(figure, 1, top, size, colour, name, hover)
        # What comes back has no room at the right, where its band divides.
        labels.append((_COLUMNS[1], top + size / 2, int(size), words, name, hover, kind == BACK))
    _block(figure, 0, 0.0, source, base_colour, "", f"facts that {theme.plain(base)} knew at its last layer")
    ways = parts[parts["kind"] == BACK]
    if ways["of_100"].sum():
        labels += _ways(figure, ways, *middle[BACK])
    for label in labels:
        _label(figure, *label)
    theme.apply(figure, height=_HEIGHT)
    bottom = max(top + size for top, size in middle.values())
    figure.update_layout(margin={"l": 4, "r": 4, "t": 44, "b": 4})
    figure.update_xaxes(visible=False, range=[-0.01, 1.12])
    figure.update_yaxes(visible=False, range=[bottom + 3, -3])
    known = int(kinds.drop(GAINED, errors="ignore")["n"].sum())
    headings = (f"{known:,} facts that<br>{theme.plain(base)} knew", theme.plain(model))
    for place, words in zip(_COLUMNS, headings, strict=False):
        theme.heading(figure, f"<b>{words}</b>", place, align="left", font_size=_SMALL)
    return figure


def _ways(figure: go.Figure, ways: pd.DataFrame, top: float, size: float) -> list[tuple]:
    """The ways back; returns their labels."""
    numbers = dict(zip(ways["part"], ways["of_100"], strict=True))
    heights = sum(max(each, _LEAST) for each in numbers.values()) + _GAP * (len(numbers) - 1)
    labels: list[tuple] = []
    # No lower than what divides: below it stands the label of what does not come back.
    places, source = _tops(numbers, max(-3.0, top + size / 2 + max(size, _LEAST) / 2 - heights)), top
    for row in ways.itertuples():
        end, share = places[row.part]
        _ribbon(figure, 1, source, end, share, theme.faint(theme.BACK, 0.34))
        note = f"<br>{theme.plain(row.note)}" if row.note else ""
        hover = f"<b>{_WORDS[row.part]}</b>: {row.n:,} facts, {row.per_100:.1f} %{note}<br>click to list them"
        _block(figure, 2, end, share, theme.BACK, row.part, hover)
        labels.append((_COLUMNS[2], end + share / 2, int(share), _WORDS[row.part], row.part, hover))
        source += share
    return labels


def _tops(sizes: dict[str, int], top: float) -> dict[str, tuple[float, float]]:
    """Part -> upper end and height, one below the other with space for their labels."""
    places = {}
    for name, size in sizes.items():
        slot = max(float(size), _LEAST)
        places[name] = (top + (slot - size) / 2, float(size))
        top += slot + _GAP
    return places


def _ribbon(figure: go.Figure, column: int, source: float, top: float, size: float, colour: str) -> None:
    """From a place in a column to a part of the next."""
    t = np.linspace(0, 1, 24)
    bend = t * t * (3 - 2 * t)
    begin, end = _COLUMNS[column] + _WIDTH, _COLUMNS[column + 1]
    x, upper = begin + t * (end - begin), source + bend * (top - source)
    figure.add_scatter(
        x=[*x, *x[::-1]],
        y=[*upper, *(upper[::-1] + size)],
        fill="toself",
        fillcolor=colour,
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )


def _block(figure: go.Figure, column: int, top: float, size: float, colour: str, name: str, hover: str) -> None:
    """A part; invisible points on it can be touched."""
    x = _COLUMNS[column]
    figure.add_scatter(
        x=[x, x + _WIDTH, x + _WIDTH, x, x],
        y=[top, top, top + size, top + size, top],
        fill="toself",
        fillcolor=colour,
        mode="lines",
        line={"width": 1, "color": colour},
        hoverinfo="skip",
        showlegend=False,
    )
    steps = max(int(size / 5), 1)
    places = top + (np.arange(steps) + 0.5) * size / steps
    figure.add_scatter(
        x=[x + _WIDTH / 2] * steps,
        y=list(places),
        mode="markers",
        marker={"size": 18, "symbol": "square", "opacity": 0},
        customdata=[[name]] * steps if name else None,
        hovertemplate=f"{hover}<extra></extra>",
        showlegend=False,
    )


def _label(
    figure: go.Figure, x: float, y: float, size: int, words: str, name: str, hover: str, left: bool = False
) -> None:
    """Number and name of a part, beside its block."""
    place, side = (x - 0.012, "left") if left else (x + _WIDTH + 0.012, "right")
    figure.add_scatter(
        x=[place],
        y=[y],
        mode="text",
        text=[f"<span style='font-size:{_LARGE}px'><b>{size} %</b></span> {words}"],
        textposition=f"middle {side}",
        textfont={"size": _SMALL},
        customdata=[[name]] if name else None,
        hovertemplate=f"{hover}<extra></extra>",
        cliponaxis=False,
        showlegend=False,
    )


#: Points of a curve.
_POINTS = 200


def fall_curves(
    table: pd.DataFrame, *, colours: Mapping[str, str] | None = None, labels: Mapping[str, str] | None = None
) -> go.Figure:
    """The share of lost facts whose right answer is at most so many nats below the first word.

    Columns: ``model, margin`` of every lost fact, of one probe set and k.
    """
    if table.empty:
        return theme.empty("No model was asked for the facts that it lost.")
    figure = go.Figure()
    shares = np.linspace(0, 100, _POINTS)
    for model, rows in table.groupby("model", sort=True):
        name = theme.plain((labels or {}).get(str(model), str(model)))
        margins = np.quantile(rows["margin"], shares / 100)
        figure.add_scatter(
            x=margins,
            y=shares,
            name=name,
            mode="lines",
            line={"color": (colours or {}).get(str(model)), "width": 2},
            hovertemplate=(
                f"<b>{name}</b> ({len(rows):,} lost)<br>%{{y:.0f}} % at most %{{x:.2f}} nats below<extra></extra>"
            ),
        )
    theme.apply(figure, height=360)
    figure.update_xaxes(title_text="right answer below the first word, nats", rangemode="tozero")
    figure.update_yaxes(title_text="per cent of the lost facts", range=[0, 100])
    return figure


#: Outcome of a known fact -> colour; from what is kept over the cheap ways to what none brings back.
COLOURS = dict(
    zip(OUTCOMES, ("#2C6FAE", "#5FA3D3", "#9CC9E8", "#44AA99", "#8CBF6A", "#E3A53C", "#9AA0A6"), strict=True)
)
_FRAME, _LEAST_BAR = 130, 4.0
#: Height of a row, of all rows together, and the least height of a row, which holds two lines of text.
_ROW, _ROWS, _TEXT = 44, 396, 24


def outcome_bars(outcome: pd.DataFrame, *, labels: Mapping[str, str] | None = None) -> go.Figure:
    """One bar of 100 facts per model, each counted once: ``forgetting.report_outcome`` of one probe set and k."""
    if outcome.empty:
        return theme.empty("No model was asked for the facts that it lost.")
    models = list(dict.fromkeys(outcome["model"]))
    names = [theme.plain((labels or {}).get(model, model)) for model in models]
    controls = set(outcome.loc[outcome["control"], "model"])
    figure = go.Figure()
    for part, colour in COLOURS.items():
        part_rows = outcome[outcome["part"] == part].set_index("model").loc[models]
        figure.add_bar(
            y=list(range(len(models))),
            x=part_rows["per_100"],
            orientation="h",
            name=part,
            marker={"color": colour, "line": {"width": 1, "color": "rgba(128,136,144,0.5)"}},
            text=[f"{value:.0f}" if value >= _LEAST_BAR else "" for value in part_rows["per_100"]],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": theme.ink_on(colour)},
            customdata=[[model, part] for model in models],
            hovertext=[
                f"<b>{name}</b><br>{part}: {row.n:,} of {row.known:,} known facts, {row.per_100:.1f} of 100"
                + (f"<br>{row.note}" if row.note else "")
                for name, row in zip(names, part_rows.itertuples(), strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    theme.apply(figure, height=_FRAME + max(_TEXT, min(_ROW, _ROWS // len(models))) * len(models))
    figure.update_layout(barmode="stack", bargap=0.3, legend_traceorder="normal")
    figure.update_xaxes(title_text="of 100 facts that the base knew", range=[0, 100], tickvals=list(range(0, 101, 20)))
    called = [
        theme.breakable(name, 18) + ("<br><i>control</i>" if model in controls and "control" not in name else "")
        for model, name in zip(models, names, strict=True)
    ]
    theme.label_rows(figure, called, tickfont_size=11)
    return figure


def lesson_bars(table: pd.DataFrame, *, labels: Mapping[str, str] | None = None) -> go.Figure:
    """A bar for each kind of lessons, by model: ``report_lessons.lessons`` of one probe set and k."""
    if table.empty:
        return theme.empty("No lessons were compared.")
    table = table[table["steps"].fillna(USUAL_STEPS) == USUAL_STEPS]
    # A kind without a bar says why in its place, one with lessons of another set how many.
    few = table["share"].isna()
    words = table["lessons"].where((table["note"] == "") | few, table["note"])
    figure, (names, places) = go.Figure(), _by_model(table, list(words), labels)
    shares = 100 * table[["share", "low", "high", "wrong"]]
    figure.add_bar(
        x=shares["share"],
        y=places,
        orientation="h",
        name="lost facts",
        marker={"color": theme.BACK},
        error_x=theme.whiskers(shares["high"] - shares["share"], shares["share"] - shares["low"], color=theme.NEUTRAL),
        hovertemplate="%{x:.1f} % of the lost facts<extra></extra>",
    )
    figure.add_scatter(
        x=shares["wrong"],
        y=places,
        mode="markers",
        name="wrong answers, equally confident",
        marker=theme.outlined("diamond-open", theme.INK, 9, 2),
        hovertemplate="%{x:.1f} % of the wrong answers<extra></extra>",
    )
    for row, place, no_bar in zip(table.itertuples(), places, few, strict=True):
        if no_bar:
            why = row.note.replace(f": {row.lessons}", "")
            figure.add_annotation(x=0, y=place, text=why, xanchor="left", showarrow=False)
    theme.apply(figure, height=90 + 26 * len(names))
    figure.update_xaxes(title_text="right again after 15 steps, %", range=[0, 100])
    theme.label_rows(figure, names)
    return figure


def _by_model(
    table: pd.DataFrame, words: Sequence[str], labels: Mapping[str, str] | None
) -> tuple[list[str], list[int]]:
    """Names of rows, the model above its own, and the place of each row of the table, whose models are together."""
    names, places, above = list[str](), list[int](), ""
    for model, word in zip(table["model"], words, strict=True):
        names += [] if model == above else [f"<b>{theme.plain((labels or {}).get(model, model))}</b>"]
        places.append(len(names))
        names.append(word)
        above = model
    return names, places


def saving_marks(table: pd.DataFrame, *, labels: Mapping[str, str] | None = None) -> go.Figure:
    """Per group of answers two marks on a line, by model: ``report_savings.savings`` of one probe set and k.

    The whisker is the interval of the difference, drawn at the taught answers.
    """
    table = means(table)
    if table.empty:
        return theme.empty("No savings were measured.")
    words = [SAVED[asked].replace(" that ", "<br>that ").replace(", but", ",<br>but") for asked in table["asked"]]
    figure, (names, places) = go.Figure(), _by_model(table, words, labels)
    values = 100 * table[["taught", "counterfeit", "difference", "low", "high"]]
    ends = theme.whiskers(values["high"] - values["difference"], values["difference"] - values["low"])
    for column, name, marker, more in (
        ("counterfeit", "counterfeits", theme.outlined("circle-open", theme.INK, 12, 2), {}),
        ("taught", "answers", {"size": 10, "color": theme.BACK}, {"error_x": ends}),
    ):
        hover = {"hovertemplate": f"%{{x:.1f}} % of {name} are first<extra></extra>"}
        figure.add_scatter(x=values[column], y=places, mode="markers", name=name, marker=marker, **hover, **more)
    theme.apply(figure, height=90 + 36 * len(names))
    figure.update_xaxes(title_text="first after being taught, %", range=[0, 100])
    theme.label_rows(figure, names)
    return figure
