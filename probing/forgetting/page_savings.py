"""Savings on pages: what they say of one model, and answers that were taught again beside counterfeits."""

from collections.abc import Sequence

import streamlit as st

from probing.forgetting.figures_savings import saving_marks
from probing.forgetting.report_savings import savings, told
from probing.kernel.app import blocks
from probing.kernel.app.figure_cache import drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import filled
from probing.kernel.figures.looks import set_name

_CAPTION = (
    "One training teaches, as a coin decides, an answer or its counterfeit; per cent that are first. Whisker: 95 %"
    " interval of the difference."
)
_HOW = (
    "A counterfeit is another answer of the relation that the fine-tuned model gives about the same probability, and"
    " that the base did not say. If the whisker leaves out the open mark, answers are relearned faster than"
    " counterfeits. Right answers that neither model gave are the yardstick: the base never said them, but held them"
    " likelier than a counterfeit. Mean over five looks; Data has each, and the log-probability that was gained."
)


def draw_savings(view: View, tuned: str, probe_set: str, k: int, models: Sequence[str] | None = None) -> None:
    """The marks of the models, None: of all, and the sentence on the tuned one; nothing if none was measured."""
    words, table = view.read(told, tuned, probe_set, k), view.read(savings, models, (probe_set,), (k,))
    if table.empty and not words:
        return
    st.header("Are lost answers relearned faster?")
    for line in words[-1:]:
        st.markdown(filled("{line}", line=line))
    if len(table):
        blocks.figure(
            drawing(saving_marks, table, labels={model: view.label(model) for model in view.all_colours}),
            table=table,
            stamp=view.stamp(f"savings, {set_name(probe_set)}, rank ≤ {k}", ()),
            name="savings",
            caption=_CAPTION,
            how=_HOW,
            alt="Answers that were taught again and counterfeits: per cent that are first",
        )
