"""Values or differences to a yardstick: the choice that several pages offer."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from probing.facts.fact import PROBE_SETS
from probing.kernel.app import selection
from probing.kernel.app.frame import View
from probing.kernel.app.texts import Markdown, filled, joined
from probing.kernel.app.texts_captions import size_words
from probing.kernel.figures.yardsticks import MODES as ZEROS
from probing.kernel.stats.intervals_baselines import MIN_FACTS, SMALL_SET

MODES = {"value": "all right answers", "majority": "beyond the commonest answer", "swapped": "beyond a blind guess"}
NO_MAJORITY = (
    "The commonest answer is a single word, so it can be subtracted only from first places: choose rank 1, or right"
    " among the relation's answers. The figure shows the values."
)
NOT_OF_METRIC = (
    "Blind guesses are measured only for right answers (P@k): choose that curve. The figure shows the values."
)
NOT_STORED = (
    "No blind guess is stored for these facts, so the figure shows the values. Questions without a name and runs stored"
    " as compact results have none: choose other facts, or probe the model again without compact results."
)
TOO_FEW = (
    f"A commonest answer needs at least {MIN_FACTS} facts, so the figure shows the values. Choose other facts, or"
    " loosen the filters."
)
assert tuple(MODES) == tuple(ZEROS)


def choose(view: View, field: str, undefined: Mapping[str, str]) -> str:
    """Draws the choice of the mode; returns the mode to show.

    ``undefined``: mode -> why it cannot be shown; the values are shown in its place. If only ``value`` can be shown,
    the choice is disabled and its help text states the reason.
    """
    nothing_else = len(undefined) == len(MODES) - 1
    why = joined(" ", dict.fromkeys(undefined.values())) if nothing_else else Markdown("")
    mode = selection.bound(
        st.segmented_control,
        "Show",
        field,
        view.page,
        options=list(MODES),
        required=True,
        wrap=True,
        format_func=MODES.__getitem__,
        disabled=nothing_else,
        help=why,
    )
    if mode not in undefined:
        return mode
    st.info(filled("{why}", why=undefined[mode]), icon=":material/info:")
    return "value"


def undefined(points: pd.DataFrame, *, majority: bool = True, swapped: bool = True) -> dict[str, str]:
    """The modes that are undefined for these points of a report, each with the reason and what to do.

    ``majority, swapped``: whether the yardstick is defined for the metric.
    """
    why = {} if majority else {"majority": NO_MAJORITY}
    if majority and points["above_majority"].isna().all():
        why["majority"] = TOO_FEW
    if not swapped:
        why["swapped"] = NOT_OF_METRIC
    elif points["above_swapped"].isna().all():
        why["swapped"] = NOT_STORED
    return why


def say_size(points: pd.DataFrame, probe_set: str = "") -> None:
    """States, for each of the user's own sets below ``SMALL_SET`` facts, what can be said at its size."""
    sizes = points.assign(probe_set=probe_set) if probe_set else points
    for name, n in sizes.groupby("probe_set", sort=False)["n"].max().items():
        if name not in PROBE_SETS and 0 < n < SMALL_SET:
            st.info(size_words(int(n), "facts", str(name)), icon=":material/straighten:")


def labels(view: View) -> dict[str, str]:
    return {model: view.label(model) for model in view.colours}
