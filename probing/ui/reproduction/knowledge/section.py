"""BERTnesia on the Reproduction page: the family that is compared with the paper, and the views that its claims are about."""

from typing import Any

import streamlit as st

from probing.core.head_kinds import HEADS
from probing.figures.shown_runs import common_head
from probing.reports.reproduction.findings import BASE
from probing.reports.reproduction.knowledge.families import Family
from probing.reports.reproduction.knowledge.paper import BERTNESIA as PAPER
from probing.reports.reproduction.paper import Ours
from probing.ui.frame import selection
from probing.ui.frame.page import View
from probing.ui.frame.selection import ALL_FACTS
from probing.ui.reproduction.knowledge import figures
from probing.ui.reproduction.knowledge.tables import TABLES
from probing.ui.reproduction.page_view import Section, Shown, Words
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


#: Claim -> the models whose T-REx curves show it; none means the whole family.
_CURVES: dict[str, tuple[str, ...]] = {
    "growth is nearly exponential": (BASE,),
    "other ranks show the same": (),
    "models agree early": (BASE, "QA-SQuAD-2", "RANK-MSMARCO", "NER-CoNLL"),
    "the last layers lose most": (),
    "ranking is close to its language model": ("RANK-MSMARCO", "MLM-MSMARCO"),
}
_RELATIONS = (
    "some relations double",
    "some relations are best inside",
    "ranking forgets least",
    "a harder task keeps more",
    "language modelling keeps more than question answering",
)


def _view_of(ours: Ours, name: str) -> tuple[str, Markdown, dict[str, Any]]:
    """The page, link text and fields of the view that a claim is about."""
    family, head = ours.about.family, ours.about.runs["head"].iloc[0]
    if name in _RELATIONS:
        one = {"model": family.base, "head": head, "probe_set": "trex", "k": 1, "definition": "authors"}
        return "relations", Markdown("See the relations"), one | ALL_FACTS
    if name in _CURVES:
        models = tuple(family.members[one] for one in _CURVES[name] if one in family.members) or family.models
        metric = "p_at_100" if name == "other ranks show the same" else "p_at_1"
        view: dict[str, Any] = {"models": models, "heads": (head,), "probe_sets": ("trex",), "metric": metric, "average": "macro"}
        return "layer_curves", Markdown("See the curves"), view | {"panels": False} | ALL_FACTS
    tuned = [model for objective, model in family.members.items() if objective != BASE]
    if name == "fine-tuning always forgets" and tuned:
        pair = {"tuned": tuned[0], "versus_model": family.base, "head": head, "probe_set": "trex", "k": 1}
        return "compare", Markdown("Compare the models"), pair | ALL_FACTS
    sets = tuple(dict.fromkeys(ours.about.runs["probe_set"]))
    bars = {"models": family.models, "heads": (head,), "probe_sets": sets, "k": 1, "average": "micro"}
    return "home", Markdown("See last layer and total"), bars | ALL_FACTS


def _option(view: View, base: str, family: Family) -> str:
    return f"{view.label(base)} and {count(len(family.members) - 1, 'model')} fine-tuned from it"


BERTNESIA = Section(
    PAPER, ("family", "paper_tab", "figure", "panel"), TABS, prefix="", menu="Family", alone=False, option=_option, further=_choose_head,
    missing=(Markdown("No results are stored yet."), blocks.PROBE_COMMAND), about=_about, below=_stop_without_runs, tables=TABLES,
    figure=figures.draw, panels=figures.panels, panel="Probe set", models=lambda ours: ours.about.family.members, view_of=_view_of,
    words=Words(
        whose=Markdown(" and its family"), scope=Markdown("this family and these facts"), models=Markdown(" models"), named=True,
        chance=Markdown("; only the rule on forgetting by every model corrects for their number"),
        null=Markdown("For comparison, the swapped subject"),
        printed=Markdown(
            "The same rules judge the numbers that the paper prints. These have no intervals, so each is taken to lie within its rounding "
            "error, half a per cent either way. A claim about a task needs a model that has learned the task."
        ),
    ),
)  # fmt: skip
