"""Values or differences to a yardstick: the choice that several pages offer, and the sentence that states the yardsticks."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from probing.figures.yardsticks import MODES as ZEROS
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.widgets.markdown import Markdown, escape, filled, joined

#: Mode of a figure -> its label.
MODES = {"value": "value", "majority": "minus majority", "swapped": "minus swapped subject"}
NO_MAJORITY = (
    "The majority answer is a single answer, so it can be subtracted only from P@1 and P@1 among answers. The figure shows the values; "
    "choose one of these two metrics to see the difference."
)
NOT_OF_METRIC = (
    "The swapped subject is measured only for P@1, P@10 and P@100. The figure shows the values; choose one of these three metrics to see "
    "the difference."
)
NOT_STORED = (
    "No swapped subject is stored for these facts, so the figure shows the values. Facts whose template has no subject and runs stored as "
    "compact results have none: choose another probe set, or probe the model again without compact results."
)
assert tuple(MODES) == tuple(ZEROS)


def choose(view: View, field: str, undefined: Mapping[str, str]) -> str:
    """Draws the choice of the mode; returns the mode to show.

    Args:
        view: the page.
        field: its field of the page's selection.
        undefined: mode -> why it cannot be shown; the values are shown in its place. If only ``value`` can be shown, the choice is
            disabled and its help text states the reason.
    """
    nothing_else = len(undefined) == len(MODES) - 1
    why = joined(" ", dict.fromkeys(undefined.values())) if nothing_else else Markdown("")
    mode = selection.bound(
        st.segmented_control, "Show", field, view.page, options=list(MODES), required=True, wrap=True, format_func=MODES.__getitem__,
        disabled=nothing_else, help=why,
    )  # fmt: skip
    if mode not in undefined:
        return mode
    st.info(filled("{why}", why=undefined[mode]), icon=":material/info:")
    return "value"


def undefined(points: pd.DataFrame, *, majority: bool = True, swapped: bool = True) -> dict[str, str]:
    """The modes that are undefined for these points, each with the reason and what to do.

    Args:
        points: ``above_majority`` and ``above_swapped`` of a report.
        majority, swapped: whether this yardstick is defined for the metric.
    """
    why = {} if majority else {"majority": NO_MAJORITY}
    if not swapped:
        why["swapped"] = NOT_OF_METRIC
    elif points["above_swapped"].isna().all():
        why["swapped"] = NOT_STORED
    return why


def beside(row: Mapping[str, Any], who: Markdown) -> Markdown:
    """The yardsticks of a model's share of facts, in sentences: majority answer, chance and swapped subject, if defined.

    Args:
        row: ``majority, chance, swapped, matched, swapped_n`` of one point; missing and empty values are left out.
        who: the model.
    """
    words = []
    if pd.notna(row.get("majority")):
        words.append(
            filled("Always giving the relation's commonest answer would be right for **{share:.1f} %**.", share=row["majority"] * 100)
        )
    if pd.notna(row.get("chance")):
        words.append(filled("A random one of the relation's answers would be right for **{share:.1f} %**.", share=row["chance"] * 100))
    if pd.notna(row.get("swapped")):
        words.append(
            filled(
                "Asked about a **swapped subject**, {who} still gives the answer for **{swapped:.1f} %** of the {n:,} facts that have "
                "one; asked about their own subject, for {matched:.1f} % of these.",
                who=who,
                swapped=row["swapped"] * 100,
                n=int(row["swapped_n"]),
                matched=row["matched"] * 100,
            )
        )
    return joined(" ", words)


def again(view: View, model: str) -> Markdown:
    """A model's name without its badge, for a sentence after one that showed the badge."""
    return escape(view.names.get(model, model))


def labels(view: View) -> dict[str, str]:
    """Model -> its name in figures."""
    return {model: view.label(model) for model in view.colours}
