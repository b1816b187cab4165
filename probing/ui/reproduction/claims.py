"""The claims of a paper's text: one card each, with its rule, our numbers, and the verdicts on ours and on the paper's."""

import re

import streamlit as st

from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED
from probing.reports.reproduction.findings import BASE, PAPER, Finding, Judged, claims_frame
from probing.reports.reproduction.knowledge.tables import NOT_PUBLISHED
from probing.ui.frame import navigation
from probing.ui.reproduction.shown import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, code, escape, filled, joined

#: Verdict -> icon and colour.
LOOKS = {
    HOLDS: (":material/check_circle:", "green"),
    FAILS: (":material/cancel:", "orange"),
    UNSURE: (":material/help:", "blue"),
    UNTESTED: (":material/block:", "gray"),
}


def draw(shown: Shown) -> None:
    """A summary of the verdicts, then one card per claim."""
    judged, sides = shown.found.judged, list(shown.found.papers)
    table = claims_frame(judged)
    for side in sides:
        table[side] = [_of_paper(one.papers[side]) for one in judged]
    if PAPER in sides:
        table["paper_numbers"] = [_printed(one.paper) for one in judged]
    table["where"] = [one.claim.where for one in judged]
    st.markdown(_together(shown))
    st.markdown(escape(shown.section.words.printed))
    # Numbers and rule are too long for a row; each card below has them.
    blocks.table_with_download(
        table,
        stamp=shown.stamp("claims"),
        name=f"{shown.section.prefix}claims",
        height="content",
        column_order=["verdict", *sides, "claim"],
        column_config={
            PAPER: st.column_config.TextColumn("the paper's tables"),
            "claim": st.column_config.TextColumn(width=600 - 40 * len(sides)),
        },
    )
    for one in judged:
        with st.container(border=True):
            _card(shown, one)


def _together(shown: Shown) -> Markdown:
    ours, words = shown.found.ours, shown.section.words
    found = [one.found.verdict for one in shown.found.judged]
    if ours is None:
        return filled(
            "{claims} claims. {none} is stored here, so the rules judge only the published numbers.", claims=len(found), none=words.none
        )
    return filled(
        "Of {claims} claims, **{hold}** hold for **{name}**{whose} and **{fail}** do not. For **{unsure}** our numbers are inconclusive "
        "(“cannot tell”), and **{untested}** cannot be tested{why}. Rules use 95 % intervals: a claim holds if its rule is met at both "
        "ends of every interval, and does not hold if the rule is missed at both ends of any interval. Of many intervals some miss by "
        "chance{chance}. The paper states no tolerances, so those are ours. A verdict is about {scope}: it neither confirms nor refutes "
        "the paper's own{models}.",
        claims=len(found),
        hold=found.count(HOLDS),
        name=shown.view.called(ours.name),
        whose=words.whose,
        fail=found.count(FAILS),
        unsure=found.count(UNSURE),
        untested=found.count(UNTESTED),
        why=words.untested,
        chance=words.chance,
        scope=words.scope,
        models=words.models,
    )


def _card(shown: Shown, judged: Judged) -> None:
    """Draws a claim into the open container."""
    claim, rule, found, words, ours = judged.claim, judged.rule, judged.found, shown.section.words, shown.found.ours
    icon, colour = LOOKS[found.verdict]
    lines = [filled("**Here.** {numbers}", numbers=_marked(shown, found.numbers))]
    if found.null:
        lines.append(filled("**{heading}.** {null}", heading=words.null, null=_marked(shown, found.null)))
    if models := [shown.models[one] for one in rule.needs if one in shown.models and words.named]:
        lines.append(filled("**Models needed.** {models}", models=joined(", ", map(shown.view.called, models))))
    for side, one in judged.papers.items():
        heading = words.side.format(side=side)
        lines.append(filled("**{side}: {verdict}.** {numbers}", side=heading, verdict=_of_paper(one), numbers=_printed(one)))
    lines.append(filled("**Rule.** {words} {unsure}", words=rule.words, unsure=rule.unsure))
    if claim.against:
        lines.append(filled("**The paper against itself.** {against}", against=claim.against))
    st.markdown(filled("**{says}** :gray[{where}]", says=claim.says, where=claim.where))
    st.badge(escape(found.verdict), icon=icon, color=colour)  # type: ignore[arg-type]
    st.markdown(joined("\n\n", lines))
    st.caption(filled("Asked: {query}", query=code(rule.query)))
    if len(found.table):
        with st.expander("The rows that were judged", icon=":material/table:"):
            name = f"claim-{claim.name.replace(' ', '-')}"
            blocks.table_with_download(found.table, stamp=shown.stamp(f"claim: {claim.name}"), name=name)
    if ours and (target := shown.section.view_of(ours, claim.name)):
        page, label, changes = target
        navigation.link(page, escape(label), **changes)


def _marked(shown: Shown, text: str) -> str:
    """The text with objectives replaced by the names of our models, marked by whether they learned their task, if the paper asks for it."""
    names = {objective: shown.view.label(model) for objective, model in shown.models.items() if objective != BASE}
    if not names or not shown.section.words.named:
        return text
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{either})(?![\w-])", lambda found: names[found[0]], text)


def _of_paper(found: Finding) -> str:
    """A verdict on the paper's own numbers."""
    return NOT_PUBLISHED if found.verdict == UNTESTED else found.verdict


def _printed(found: Finding) -> str:
    """The paper's own numbers in a sentence."""
    if found.verdict == UNTESTED:
        return "The rule needs numbers that the paper does not print; it draws curves, and no number was read off them."
    return found.numbers
