"""The compare page's other views: kinds of answer by layer, and early exit."""

import streamlit as st

from probing.core.knowledge.answer_types import KIND_LABELS, KINDS
from probing.figures.knowledge.answer_shares import answer_shares
from probing.reports.knowledge.answer_drift import answer_drift
from probing.reports.knowledge.early_exit import early_exit
from probing.ui.compare.model_pair import Pair
from probing.ui.frame import yardsticks
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.task_marks import marks_once


def draw_answers(view: View, pair: Pair) -> None:
    """What kind of token each layer ranks first, for both models."""
    table = view.report(answer_drift, pair.run_ids)
    if table.empty:
        return
    view.contents.section("What they answer instead")
    blocks.figure(
        drawing(
            answer_shares,
            table,
            kinds=KINDS,
            names=KIND_LABELS,
            models=(pair.base["model"], pair.model["model"]),
            labels=yardsticks.labels(view),
        ),
        table=table,
        stamp=pair.stamp(view, "kinds of top-ranked tokens by layer"),
        name="answer-kinds",
        caption="The token that a layer ranks first for a fact counts as the first kind that fits, from bottom to top. “Right” is P@1 over "
        "facts. "
        f"{marks_once(view, (pair.base['model'], pair.model['model']))}",
        alt="Share of each kind of top-ranked token by layer, for both models",
    )


def draw_early_exit(view: View, pair: Pair) -> None:
    """Whether reading each relation at its best layer helps; the layer is chosen on other facts than those scored."""
    table = view.report(early_exit, pair.run_ids, view.chosen.k)
    if table.empty:
        return
    view.contents.section("Early exit")
    st.markdown(
        "If each relation were read at its best layer, how much would be known? The layer is chosen on one half of the facts and scored on "
        "the other. “Union” counts a fact that any layer knows: no reader could do that."
    )
    percent = {
        name: st.column_config.NumberColumn(name.replace("_", " "), format="percent") for name in ("last_layer", "early_exit", "union")
    }
    percent |= {
        name: st.column_config.NumberColumn(heading, format="points")
        for name, heading in (("difference", "difference, points"), ("low", "low"), ("high", "high"))
    }
    shown = table.drop(columns=["run_id", "head", "probe_set", "k"])
    blocks.table_with_download(
        shown,
        shown=shown.assign(model=shown["model"].map(view.label)),
        stamp=pair.stamp(view, f"early exit, rank ≤ {view.chosen.k}, micro"),
        name="early-exit",
        column_config={
            **percent,
            "n": st.column_config.NumberColumn("facts", help="Facts that were scored."),
            "p_value": st.column_config.NumberColumn("p", format="%.2g"),
            "model": st.column_config.TextColumn(pinned=True),
        },
    )
