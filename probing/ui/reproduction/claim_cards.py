"""The claims of the paper's text: one card each, with its rule, our numbers, and the verdicts on ours and on the paper's."""

import re
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.published import Claim
from probing.reports.reproduction.claims import RULES, Judged
from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED
from probing.reports.reproduction.evidence import BASE
from probing.reports.reproduction.tables import Gathered, Reproduction
from probing.ui.frame import navigation
from probing.ui.frame.page import View
from probing.ui.frame.selection import ALL_FACTS
from probing.ui.reproduction.paper_tables import published, stamp
from probing.ui.reproduction.verdict_card import Content, card, counts, of_paper, printed
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import escape, filled, joined


def cards(view: View, ours: Reproduction) -> None:
    """A summary of the verdicts, then one card per claim."""
    gathered, judged = ours.gathered, {one.name: one for one in ours.judged}
    claims = published().claims
    rows = [(claim.says, judged[claim.name], claim.where) for claim in claims]
    table = pd.DataFrame(
        [(says, one.verdict, of_paper(one.paper), one.numbers, one.null, printed(one.paper), one.rule, where) for says, one, where in rows],
        columns=["claim", "verdict", "paper", "numbers", "null", "paper_numbers", "rule", "where"],
    )
    found = counts(table["verdict"])
    st.markdown(
        filled(
            "Of {claims} claims, **{hold}** hold for **{base}** and its family and **{fail}** do not. For **{unsure}** our numbers are "
            "inconclusive (“cannot tell”), and **{untested}** cannot be tested. Rules use 95 % intervals: a claim holds if its rule is met "
            "at both ends of every interval, and does not hold if the rule is missed at both ends of any interval. Of many intervals some "
            "miss by chance; only the rule on forgetting by every model corrects for their number. The paper states no tolerances, so "
            "those are ours. A verdict is about this family and these facts: it neither confirms nor refutes the paper's own models.",
            base=view.called(gathered.family.base),
            claims=len(claims),
            hold=found[HOLDS],
            fail=found[FAILS],
            unsure=found[UNSURE],
            untested=found[UNTESTED],
        )
    )
    st.markdown(
        "The same rules judge the numbers that the paper prints. These have no intervals, so each is taken to lie within its rounding "
        "error, half a per cent either way. A claim about a task needs a model that has learned the task."
    )
    # Numbers and rule are too long for a row; each card below has them.
    blocks.table_with_download(
        table, stamp=stamp(view, gathered, "claims"), name="claims", height="content", column_order=["verdict", "paper", "claim"],
        column_config={"paper": st.column_config.TextColumn("the paper's tables"), "claim": st.column_config.TextColumn(width=560)},
    )  # fmt: skip
    for claim in claims:
        _card(view, gathered, claim, judged[claim.name])


def _card(view: View, gathered: Gathered, claim: Claim, judged: Judged) -> None:
    lines = [filled("**Here.** {numbers}", numbers=_marked(view, gathered, judged.numbers))]
    if judged.null:
        lines.append(filled("**For comparison, the swapped subject.** {null}", null=_marked(view, gathered, judged.null)))
    if models := [gathered.family.members[one] for one in RULES[claim.name].needs if one in gathered.family.members]:
        lines.append(filled("**Models needed.** {models}", models=joined(", ", map(view.called, models))))
    lines.append(filled("**The paper's own tables: {verdict}.** {numbers}", verdict=of_paper(judged.paper), numbers=printed(judged.paper)))
    origin = stamp(view, gathered, f"claim: {claim.name}")
    with st.container(border=True):
        card(claim, Content(judged.verdict, tuple(lines), judged.rule, judged.query, judged.table, origin))
        page, label, changes = _view_of(claim.name, gathered)
        navigation.link(page, escape(label), **changes)


def _marked(view: View, gathered: Gathered, text: str) -> str:
    """The text with every objective of the family replaced by its model's name, marked by whether it learned its task."""
    names = {objective: view.label(model) for objective, model in gathered.family.members.items() if objective != BASE}
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{either})(?![\w-])", lambda found: names[found[0]], text) if names else text


#: Claim -> the models whose T-REx curves show it; none means the whole family.
_CURVES: dict[str, tuple[str, ...]] = {
    "growth is nearly exponential": (BASE,),
    "other ranks show the same": (),
    "models agree early": (BASE, "QA-SQuAD-2", "RANK-MSMARCO", "NER-CoNLL"),
    "the last layers lose most": (),
    "ranking is close to its language model": ("RANK-MSMARCO", "MLM-MSMARCO"),
}
_RELATIONS = ("some relations double", "some relations are best inside", "ranking forgets least", "a harder task keeps more",
              "language modelling keeps more than question answering")  # fmt: skip


def _view_of(name: str, gathered: Gathered) -> tuple[str, str, dict[str, Any]]:
    """The page, link text and fields of the view that a claim is about."""
    family, head = gathered.family, gathered.runs["head"].iloc[0]
    if name in _RELATIONS:
        one = {"model": family.base, "head": head, "probe_set": "trex", "k": 1, "definition": "authors"}
        return "relations", "See the relations", one | ALL_FACTS
    if name in _CURVES:
        models = tuple(family.members[one] for one in _CURVES[name] if one in family.members) or family.models
        metric = "p_at_100" if name == "other ranks show the same" else "p_at_1"
        view: dict[str, Any] = {"models": models, "heads": (head,), "probe_sets": ("trex",), "metric": metric, "average": "macro"}
        return "layer_curves", "See the curves", view | {"panels": False} | ALL_FACTS
    tuned = [model for objective, model in family.members.items() if objective != BASE]
    if name == "fine-tuning always forgets" and tuned:
        pair = {"tuned": tuned[0], "versus_model": family.base, "head": head, "probe_set": "trex", "k": 1}
        return "compare", "Compare the models", pair | ALL_FACTS
    sets = tuple(dict.fromkeys(gathered.runs["probe_set"]))
    bars = {"models": family.models, "heads": (head,), "probe_sets": sets, "k": 1, "average": "micro"}
    return "home", "See last layer and total", bars | ALL_FACTS
