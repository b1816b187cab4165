"""The claims of a paper's text: one card each, with its rule, our numbers, and the verdicts on ours and on the paper's."""

import re
from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from probing.figures.verdict_bars import verdict_bars
from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED
from probing.reports.reproduction.findings import BASE, PAPER, Finding, Judged, claims_frame
from probing.reports.reproduction.knowledge.tables import NOT_PUBLISHED
from probing.ui.frame import navigation, selection
from probing.ui.reproduction.page_view import Shown
from probing.ui.reproduction.selection import VERDICTS
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, code, escape, filled, joined, with_minus

#: Verdict -> icon and colour.
LOOKS = {
    HOLDS: (":material/check_circle:", "green"),
    FAILS: (":material/cancel:", "orange"),
    UNSURE: (":material/help:", "blue"),
    UNTESTED: (":material/block:", "gray"),
}
#: Verdict -> colour of its part of a bar.
COLOURS = {HOLDS: "#009E73", FAILS: "#D55E00", UNSURE: "#56B4E9", UNTESTED: "#9AA0A6"}


def draw(shown: Shown) -> None:
    """A summary of the verdicts, their counts as bars, and the claims by verdict, each folded."""
    judged = shown.found.judged
    st.markdown(_lead(shown))
    _bars(shown)
    wanted = _filter(judged)
    for one in judged:
        if wanted in ("", one.found.verdict):
            icon, _ = LOOKS[one.found.verdict]
            with st.expander(filled("**{verdict}**: {says}", verdict=one.found.verdict, says=one.claim.says), icon=icon):
                _card(shown, one)
    with st.expander("How the verdicts are made", icon=":material/gavel:"):
        st.markdown(joined("\n\n", [one for one in (_rules(shown), escape(shown.section.words.printed)) if one]))
    blocks.folded("All claims as a table", partial(_table, shown), key=f"{shown.section.prefix}claims.fold", icon="table")


def _filter(judged: Sequence[Judged]) -> str:
    """The choice of a verdict; ``""`` for all."""
    found = [one.found.verdict for one in judged]
    options = [name for name, verdict in VERDICTS.items() if verdict in found]
    chosen = selection.bound(
        st.pills,
        "Show the claims with the verdict",
        "verdict",
        "reproduction",
        options=["", *options],
        required=True,
        format_func=lambda name: f"{VERDICTS[name]}: {found.count(VERDICTS[name])}" if name else f"all: {len(found)}",
    )
    return VERDICTS[chosen] if chosen in options else ""


def _bars(shown: Shown) -> None:
    """The number of claims by verdict, for our results and for each set of published numbers."""
    judged = shown.found.judged
    sides = {side: [one.papers[side].verdict for one in judged] for side in shown.found.papers}
    if shown.found.ours:
        sides = {shown.view.label(shown.found.ours.name): [one.found.verdict for one in judged]} | sides
    counts = pd.DataFrame(
        [(side, verdict, found.count(verdict)) for side, found in sides.items() for verdict in LOOKS], columns=["side", "verdict", "claims"]
    )
    blocks.figure(
        drawing(verdict_bars, counts, colours=COLOURS),
        table=counts,
        stamp=shown.stamp("claims by verdict"),
        name=f"{shown.section.prefix}verdicts",
        caption="Every claim of the text, judged by a rule on our numbers and, where they are printed, on the published ones.",
        alt="Number of claims by verdict",
    )


def _table(shown: Shown) -> None:
    """All claims in one table, with the numbers that were judged."""
    judged, sides = shown.found.judged, list(shown.found.papers)
    table = claims_frame(judged)
    for side in sides:
        table[side] = [_of_paper(one.papers[side]) for one in judged]
    if PAPER in sides:
        table["paper_numbers"] = [_printed(one.paper) for one in judged]
    table["where"] = [one.claim.where for one in judged]
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


def _lead(shown: Shown) -> Markdown:
    """How many claims hold."""
    ours, words = shown.found.ours, shown.section.words
    found = [one.found.verdict for one in shown.found.judged]
    if ours is None:
        return filled(
            "{claims} claims. {none} is stored here, so the rules judge only the published numbers.", claims=len(found), none=words.none
        )
    return filled(
        "Of {claims} claims, **{hold}** {verb} for **{name}**{whose} and **{fail}** {other} not.",
        claims=len(found),
        verb="holds" if found.count(HOLDS) == 1 else "hold",
        other="does" if found.count(FAILS) == 1 else "do",
        hold=found.count(HOLDS),
        name=shown.view.called(ours.name),
        whose=words.whose,
        fail=found.count(FAILS),
    )


def _rules(shown: Shown) -> Markdown:
    """How a rule decides, and what its verdict is about; empty without results of ours."""
    words = shown.section.words
    if shown.found.ours is None:
        return Markdown("")
    found = [one.found.verdict for one in shown.found.judged]
    return filled(
        "For **{unsure}** our numbers are inconclusive (“cannot tell”), and **{untested}** cannot be tested{why}. "
        "Rules use 95 % intervals: a claim holds if its rule is met at both ends of every interval, and does not hold if the rule is "
        "missed at both ends of any interval. Of many intervals some miss by chance{chance}. The paper states no tolerances, so those are "
        "ours. A verdict is about {scope}: it neither confirms nor refutes the paper's own{models}.",
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
        lines.append(filled("**{side}: {verdict}.** {numbers}", side=heading, verdict=_of_paper(one), numbers=with_minus(_printed(one))))
    lines.append(filled("**Rule.** {words} {unsure}", words=rule.words, unsure=rule.unsure))
    if claim.against:
        lines.append(filled("**The paper against itself.** {against}", against=claim.against))
    st.badge(escape(found.verdict), icon=icon, color=colour)  # type: ignore[arg-type]
    st.caption(escape(claim.where))
    st.markdown(joined("\n\n", lines))
    st.caption(filled("Asked: {query}", query=code(rule.query)))
    if len(found.table):
        with st.popover("The rows that were judged", icon=":material/table:"):
            name = f"claim-{claim.name.replace(' ', '-')}"
            blocks.table_with_download(found.table, stamp=shown.stamp(f"claim: {claim.name}"), name=name)
    if ours and (target := shown.section.view_of(ours, claim.name)):
        page, label, changes = target
        navigation.link(page, escape(label), **changes)


def _marked(shown: Shown, text: str) -> str:
    """The text with the names of our models as pages have them, marked by whether they learned their task.

    Objectives stand for models, too, if the paper asks for it.
    """
    models = {one: one for one in shown.view.runs["model"].unique()} if "model" in shown.view.runs else {}
    if shown.section.words.named:
        models |= {objective: model for objective, model in shown.models.items() if objective != BASE}
    names = {name: shown.view.label(model) for name, model in models.items()}
    if not names:
        return with_minus(text)
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{either})(?![\w-])", lambda found: names[found[0]], with_minus(text))


def _of_paper(found: Finding) -> str:
    """A verdict on the paper's own numbers."""
    return NOT_PUBLISHED if found.verdict == UNTESTED else found.verdict


def _printed(found: Finding) -> str:
    """The paper's own numbers in a sentence."""
    if found.verdict == UNTESTED:
        return "The rule needs numbers that the paper does not print; it draws curves, and no number was read off them."
    return found.numbers
