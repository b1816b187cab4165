"""Where a base's knowledge went, as a flow of scatter traces: a Sankey diagram cannot be clicked on a page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go

from probing.facts.forgotten_transitions import FATES, outcome_words
from probing.kernel.figures import theme

#: Middle column from the top, so that no ribbon crosses another.
_MIDDLE = ("kept", "lost", "gained")
_WIDTH, _HEIGHT, _LABEL = 0.07, 430, 0.085
#: Characters of a name on one line.
_LINE = 14


@dataclass(frozen=True)
class _Block:
    """A block of a column: what it counts and its position; ``top`` and ``size`` in facts, downwards."""

    name: str
    column: int
    top: float
    size: int


def alluvial(
    counts: Mapping[str, int],
    *,
    base: str,
    model: str,
    colours: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> go.Figure:
    """Known and not known by the base -> kept, lost, gained -> fates of what was lost; heights are numbers of facts.

    ``counts``: ``kept, gained, lost, never, still_inside, moved, suppressed, displaced, not_read``; the fates add up to
    lost. Every part carries its name, so that a click can open its facts. Facts that neither knows are not drawn.
    """
    counts = {name: int(counts[name]) for name in (*_MIDDLE, "never", *FATES)}
    middle = [name for name in _MIDDLE if counts[name]]
    if not middle:
        return theme.empty("Neither model knows a fact under these filters, so nothing can be kept or lost.")
    total = sum(counts[name] for name in middle)
    known = counts["kept"] + counts["lost"]
    unknown = total - known
    left = _stack(0, {name: size for name, size in (("known", known), ("not known", unknown)) if size}, total)
    centre = _stack(1, {name: counts[name] for name in middle}, total)
    fates = {name: counts[name] for name in FATES if counts[name]}
    lost = next((block for block in centre if block.name == "lost"), None)
    right = _stack(2, fates, total, around=lost.top + lost.size / 2) if lost else []
    figure = go.Figure()
    used = {block.name: block.top for block in [*left, *centre]}
    for block in centre:
        source = "known" if block.name in ("kept", "lost") else "not known"
        _ribbon(figure, 0, used[source], block, theme.PART_COLOURS[block.name])
        used[source] += block.size
    for block in right:
        _ribbon(figure, 1, used["lost"], block, theme.PART_COLOURS[block.name])
        used["lost"] += block.size
    all_facts = total + counts["never"]
    for block in left:
        colour, whole = (
            (colours.get(base, theme.NEUTRAL), known) if block.name == "known" else (theme.NEUTRAL, all_facts - known)
        )
        share = percent(whole, all_facts)
        of = f"{share} of all {all_facts:,}"
        _block(figure, block, colour, n=whole, of=of, total=total, clickable=False)
    for block in centre:
        whole, of = (known, "of known") if block.name in ("kept", "lost") else (all_facts - known, "of not known")
        of = f"{percent(block.size, whole)} {of}"
        _block(figure, block, theme.PART_COLOURS[block.name], n=block.size, of=of, total=total)
    for block in right:
        of = f"{percent(block.size, counts['lost'])} of lost"
        _block(figure, block, theme.PART_COLOURS[block.name], n=block.size, of=of, total=total)
    theme.apply(figure, height=_HEIGHT)
    low = min(block.top for block in [*left, *centre, *right])
    high = max(block.top + block.size for block in [*left, *centre, *right])
    room = (high - low) * 0.04
    figure.update_layout(hoverdistance=30, margin_t=56, showlegend=False)
    figure.update_xaxes(visible=False, range=[-0.06, 2.75])
    figure.update_yaxes(visible=False, range=[high + room, low - room])
    called = [theme.breakable((labels or {}).get(name, name)) for name in (base, model)]
    for column, words in enumerate((*called, "what happened<br>to lost facts" if right else "")):
        if words:
            figure.add_annotation(
                x=column,
                y=1,
                yref="paper",
                yanchor="bottom",
                xanchor="left",
                xshift=-4,
                align="left",
                showarrow=False,
                text=f"<b>{words}</b>",
            )
    return figure


def _stack(column: int, sizes: Mapping[str, int], total: int, around: float | None = None) -> list[_Block]:
    """Blocks from the top with gaps; even a small block leaves space for its label."""
    gap, line = total * 0.035, total * 0.04
    slots = [max(size, line * (1 + len(_lines(name)))) for name, size in sizes.items()]
    top = around - (sum(slots) + gap * (len(slots) - 1)) / 2 if around is not None else 0.0
    blocks = []
    for (name, size), slot in zip(sizes.items(), slots, strict=True):
        blocks.append(_Block(name, column, top + (slot - size) / 2, size))
        top += slot + gap
    return blocks


def _lines(name: str) -> list[str]:
    """The name of a part; on one line a long one is cut off at the edge of a narrow figure."""
    return wrap(outcome_words(name), _LINE)


def _ribbon(figure: go.Figure, column: int, source: float, block: _Block, colour: str) -> None:
    """From ``source`` in a column to a block of the next."""
    t = np.linspace(0, 1, 24)
    bend = t * t * (3 - 2 * t)
    x = column + _WIDTH + t * (1 - _WIDTH)
    upper = source + bend * (block.top - source)
    figure.add_scatter(
        x=[*x, *x[::-1]],
        y=[*upper, *(upper[::-1] + block.size)],
        fill="toself",
        fillcolor=theme.faint(colour, 0.34),
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
    )
    _handles(
        figure,
        x[2:-1:3],
        upper[2:-1:3] + block.size / 2,
        block.name,
        f"{outcome_words(block.name)}: {block.size:,} facts",
    )


def _handles(
    figure: go.Figure, x: Iterable[float], y: Iterable[float], name: str, words: str, clickable: bool = True
) -> None:
    """Invisible points that can be touched."""
    hidden = {"marker": {"opacity": 0}}
    x = list(x)
    figure.add_scatter(
        x=x,
        y=list(y),
        mode="markers",
        marker={"size": 16, "symbol": "square", "opacity": 0},
        selected=hidden,
        unselected=hidden,
        customdata=[[name]] * len(x) if clickable else None,
        hovertemplate=f"{words}<extra></extra>",
    )


def percent(part: int, whole: int) -> str:
    """ "24 %", escaped for Plotly; a share above 0 is never written as 0 %, nor one below 100 % as 100 %."""
    share = part / whole * 100 if whole else 0.0
    return "&lt; 1 %" if 0 < share < 1 else "&gt; 99 %" if 99 < share < 100 else f"{share:.0f} %"


def _block(
    figure: go.Figure, block: _Block, colour: str, *, n: int, of: str, total: int, clickable: bool = True
) -> None:
    """A block, and its label: its number of facts, and their share of what."""
    x = block.column
    figure.add_scatter(
        x=[x, x + _WIDTH, x + _WIDTH, x],
        y=[block.top, block.top, block.top + block.size, block.top + block.size],
        fill="toself",
        fillcolor=colour,
        mode="lines",
        line={"width": 1, "color": colour},
        hoverinfo="skip",
    )
    name = outcome_words(block.name)
    label = f"<b>{'<br>'.join(_lines(block.name))}</b> {n:,}<br>{of}"
    hover = f"<b>{name}</b> {n:,}<br>{of}" + ("<br>click to see them" if clickable else "")
    steps = max(int(block.size / total * 20), 1)
    middle = block.top + (np.arange(steps) + 0.5) * block.size / steps
    _handles(figure, [x + _WIDTH / 2] * steps, middle, block.name, hover, clickable)
    figure.add_scatter(
        x=[x + _LABEL],
        y=[block.top + block.size / 2],
        mode="text",
        text=[label],
        textposition="middle right",
        textfont={"size": 12},
        customdata=[[block.name]] if clickable else None,
        hovertemplate=f"{hover}<extra></extra>",
        cliponaxis=False,
    )
