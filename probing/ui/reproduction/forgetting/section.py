"""The claims on forgetting on the Reproduction page: the base whose fine-tuned models are compared."""

import streamlit as st

from probing.reports.reproduction.forgetting.paper import FORGETTING as PAPER
from probing.reports.reproduction.paper import Ours
from probing.ui.reproduction.page_view import Section, Shown, Table
from probing.ui.reproduction.selection import FORGETTING_TABS
from probing.ui.widgets.markdown import Markdown, filled


def _about(shown: Shown, ours: Ours) -> Markdown:
    return filled(
        " A second claim is of Zheng et al. 2025, *Spurious Forgetting in Continual Learning of Language Models*, arXiv 2501.13453. Both "
        "are about other models and procedures: large generative models that were trained to unlearn facts, or that learned task after "
        "task. Ours: **{base}** and its fine-tuned models, asked by clozes.",
        base=shown.view.called(ours.name),
    )


_NUMBERS = {name: st.column_config.NumberColumn(format="%.1f") for name in ("per_100",)}
FORGETTING = Section(
    PAPER, ("lost_base", "lost_tab", "", ""), FORGETTING_TABS, prefix="forgetting-", menu="Base", alone=True,
    missing=(
        Markdown("No recoveries of lost facts are stored yet, so the claims are only listed."),
        "python -m probing forgetting recover --model nesia-mini-qa-squad-1",
    ),
    about=_about, figure=lambda shown, figure, panel: None,
    tables=(Table("outcome", "outcome", "outcome of known facts", _NUMBERS, heading=Markdown("Of 100 facts that the base knew")),),
)  # fmt: skip
