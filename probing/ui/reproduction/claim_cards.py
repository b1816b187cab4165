"""The claims of the paper's text: a card each, with its rule, our numbers, and what the rule says of both ours and the paper's."""

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
    """What came of the claims together, then a card for each."""
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
            "Of {claims} claims, **{hold}** hold for **{base}** and its family and **{fail}** do not. For **{unsure}** our numbers cannot "
            "tell, and **{untested}** cannot be tested. A rule looks at 95 % intervals: a claim holds only if its rule is met at both ends "
            "of each, and does not hold only if it is missed at both ends of one. Some of many intervals miss by chance; only the rule on "
            "forgetting by every model corrects for their number. The paper states no tolerances, so those are ours. A "
            "verdict speaks of this family and these facts: it neither confirms nor refutes the paper's own models.",
            base=view.called(gathered.family.base),
            claims=len(claims),
            hold=found[HOLDS],
            fail=found[FAILS],
            unsure=found[UNSURE],
            untested=found[UNTESTED],
        )
    )
    st.markdown(
        "The same rules judge the numbers that the paper prints. They have no intervals; each is taken to lie within its rounding, half a "
        "per cent either way. A claim about a task needs a model that has learned it."
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
        lines.append(filled("**Beside it, the swapped subject.** {null}", null=_marked(view, gathered, judged.null)))
    if models := [gathered.family.members[one] for one in RULES[claim.name].needs if one in gathered.family.members]:
        lines.append(filled("**Models that it needs.** {models}", models=joined(", ", map(view.called, models))))
    lines.append(filled("**The paper's own tables: {verdict}.** {numbers}", verdict=of_paper(judged.paper), numbers=printed(judged.paper)))
    origin = stamp(view, gathered, f"claim: {claim.name}")
    with st.container(border=True):
        card(claim, Content(judged.verdict, tuple(lines), judged.rule, judged.query, judged.table, origin))
        page, label, changes = _view_of(claim.name, gathered)
        navigation.link(page, escape(label), **changes)


def _marked(view: View, gathered: Gathered, text: str) -> str:
    """A text in which every objective of the family is the name of its model, with the mark that says whether it learned its task."""
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
    """The page, words and fields of the view that a claim is about."""
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
