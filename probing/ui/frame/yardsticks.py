"""Values, or what lies above a yardstick: the choice that several pages offer, and the sentence that stands beside their numbers."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from probing.figures.yardsticks import MODES as ZEROS
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.widgets.markdown import Markdown, escape, filled, joined

#: What a figure shows -> words for it.
MODES = {"value": "value", "majority": "minus majority", "swapped": "minus swapped subject"}
NO_MAJORITY = (
    "The majority answer is one answer, so it can be taken off P@1 and P@1 among answers only. Here are the values; choose one of these "
    "two for the difference."
)
NOT_OF_METRIC = (
    "The swapped subject is measured for P@1, P@10 and P@100 only. Here are the values; choose one of these three for the difference."
)
NOT_STORED = (
    "No swapped subject is stored for these facts, so here are the values. Facts without a subject in their template have none, and a run "
    "that was stored compact has none: choose another probe set, or probe the model again without compact results."
)
assert tuple(MODES) == tuple(ZEROS)


def choose(view: View, field: str, undefined: Mapping[str, str]) -> str:
    """Draws the choice; returns the mode that is shown.

    Args:
        view: the page.
        field: its field of the page's selection.
        undefined: mode -> why it cannot be shown; the values are shown in its place. Where that is so of every other mode, there is
            nothing to choose, and the help says why.
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
    """The modes that these points do not have, each with the reason and what to do.

    Args:
        points: ``above_majority`` and ``above_swapped`` of a report.
        majority, swapped: whether the metric has such a yardstick at all.
    """
    why = {} if majority else {"majority": NO_MAJORITY}
    if not swapped:
        why["swapped"] = NOT_OF_METRIC
    elif points["above_swapped"].isna().all():
        why["swapped"] = NOT_STORED
    return why


def beside(row: Mapping[str, Any], who: Markdown) -> Markdown:
    """What stands beside a model's share of facts: majority answer, chance and swapped subject, as far as they are defined.

    Args:
        row: ``majority, chance, swapped, matched, swapped_n`` of one point; what is missing or empty is left out.
        who: the model.
    """
    words = []
    if pd.notna(row.get("majority")):
        words.append(
            filled("Always giving the relation's commonest answer would be right for **{share:.1f} %**.", share=row["majority"] * 100)
        )
    if pd.notna(row.get("chance")):
        words.append(filled("One of the relation's answers by chance would be right for **{share:.1f} %**.", share=row["chance"] * 100))
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
    """A model that the sentence before has called by its name and badge: by its name alone."""
    return escape(view.names.get(model, model))


def labels(view: View) -> dict[str, str]:
    """Model -> what figures call it."""
    return {model: view.label(model) for model in view.colours}
