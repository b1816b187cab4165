"""BERTnesia on the Reproduction page: the family that is compared with the paper."""

import streamlit as st

from probing.core.head_kinds import HEADS
from probing.figures.shown_runs import common_head
from probing.reports.reproduction.knowledge.families import Family
from probing.reports.reproduction.knowledge.paper import BERTNESIA as PAPER
from probing.reports.reproduction.paper import Ours
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.reproduction.knowledge import figures
from probing.ui.reproduction.knowledge.tables import TABLES
from probing.ui.reproduction.page_view import Section, Shown
from probing.ui.reproduction.selection import TABS, ReproductionSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, code, count, filled

#: The paper's own base; any other base is another model, whose numbers need not match.
PAPERS_BASE = "bert-base-uncased"


def _choose_head(view: View, family: Family) -> tuple[str, ...]:
    wanted = selection.of(ReproductionSelection).family_head
    there = set(view.runs.loc[view.runs["model"].isin(family.models), "head"])
    heads = [head for head in HEADS if head in there] + sorted(there - set(HEADS))
    head = wanted if wanted in heads else common_head(view.runs[view.runs["model"].isin(family.members.values())], heads)
    selection.bound(st.segmented_control, "Heads", "family_head", view.page, value=head, options=heads, required=True)
    return (head,)


def _about(shown: Shown, ours: Ours) -> Markdown:
    head = filled(" Read by {head} heads.", head=code(ours.about.runs["head"].iloc[0])) if len(ours.about.runs) else Markdown("")
    if ours.name == PAPERS_BASE:
        return head + Markdown(
            " Ours: the same base, with our heads and, unless a LAMA folder was probed, with our templates and the shipped facts."
        )
    return head + filled(
        " Ours: **{base}, which is not BERT-base**. It is another model, trained on other text; its numbers are not expected to match. The "
        "pattern can be compared: which models know less, at which layers, and what share of their knowledge they lost.",
        base=shown.view.called(ours.name),
    )


def _stop_without_runs(shown: Shown, ours: Ours) -> None:
    if ours.about.runs.empty:
        words = "{base} was not probed with LAMA's templates or ours through these heads, so nothing can be compared with the paper."
        st.info(filled(words, base=shown.view.called(ours.name)), icon=":material/info:")
        st.stop()


def _option(view: View, base: str, family: Family) -> str:
    return f"{view.label(base)} and {count(len(family.members) - 1, 'model')} fine-tuned from it"


BERTNESIA = Section(
    PAPER, ("family", "paper_tab", "figure", "panel"), TABS, prefix="", menu="Family", alone=False, option=_option, further=_choose_head,
    missing=(Markdown("No results are stored yet."), blocks.PROBE_COMMAND), about=_about, below=_stop_without_runs, tables=TABLES,
    figure=figures.draw, panels=figures.panels, panel="Probe set",
)  # fmt: skip
