"""Cards: one value each, its difference to a yardstick, and a small line over the layers."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from probing.reports.wider import wider
from probing.ui.widgets.markdown import Markdown, escape, filled


@dataclass(frozen=True)
class Card:
    """One value.

    Attributes:
        label: what it is.
        value: with its unit.
        note: its interval or its yardstick.
        line: its values from the first layer to the last; fewer than two draw no line.
        help: how it is computed.
    """

    label: str
    value: str
    note: str = ""
    line: Sequence[float] = ()
    help: str = ""


def draw(cards: Sequence[Card]) -> None:
    """Draws cards next to each other; a narrow window stacks them."""
    with st.container(horizontal=True, gap="small"):
        for card in cards:
            with st.container(border=True, gap="xsmall"):
                st.metric(
                    escape(card.label),
                    escape(card.value),
                    escape(card.note) or None,
                    delta_color="off",
                    delta_arrow="off",
                    help=card.help or None,
                    width="stretch",
                )
                if len(card.line) > 1:
                    st.html(_drawn(card.line))


def _drawn(values: Sequence[float]) -> str:
    """A small line; Streamlit's own needs a library of 0.8 MB, which the browser would read before the page stands still."""
    low, high = min(values), max(values)
    places = [(100 * i / (len(values) - 1), 30 * (high - value) / ((high - low) or 1)) for i, value in enumerate(values)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    # Streamlit lets no drawing through, only pictures. The grey suits both themes.
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -1 100 32" preserveAspectRatio="none">'
        f'<polyline points="{points}" fill="none" stroke="#7F8B96" stroke-width="2" vector-effect="non-scaling-stroke"/></svg>'
    )
    return f'<img class="card-line" alt="" src="data:image/svg+xml;base64,{b64encode(drawing.encode()).decode()}">'


def of_shares(points: pd.DataFrame, what: str) -> list[Card]:
    """The last layer's share of facts and what of it lies above each yardstick.

    Args:
        points: one run's rows by layer, of ``reports.knowledge.precision.by_layer``.
        what: name of the share, such as "P@1".
    """
    rows = wider(points).sort_values("layer")
    last = rows.iloc[-1]
    found = [Card(f"{what}, last layer", _percent(last["value"]), filled("{n:,} facts", n=int(last["n"])), _line(rows["value"]))]
    return found + [of_points(rows, *one) for one in _ABOVE if one[0] in rows and pd.notna(last[one[0]])]


def of_points(rows: pd.DataFrame, column: str, label: str, how: str) -> Card:
    """A difference of shares at the last layer, with its interval, in points.

    Args:
        rows: by layer: ``column``, and the same with ``_low`` and ``_high``.
        column: the difference.
        label: what it is.
        how: how it is computed.
    """
    last = rows.iloc[-1]
    interval = f"{_points(last[f'{column}_low'])} to {_points(last[f'{column}_high'])}"
    return Card(label, f"{_points(last[column])} points", interval, _line(rows[column]), how)


_ABOVE = (
    (
        "above_majority",
        "Above the commonest answer",
        "Minus always giving the relation's commonest answer, before rounding; 95 % interval.",
    ),
    ("above_swapped", "From the subject", "Minus the same answers asked about a swapped subject, before rounding; 95 % interval."),
)


def _line(values: pd.Series) -> list[float]:
    """Values in per cent or points without gaps."""
    return [round(float(value) * 100, 2) for value in values.dropna()]


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _points(share: float) -> Markdown:
    return filled("{value:+.1f}", value=round(share * 100, 1) + 0.0)
