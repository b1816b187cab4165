"""The claims of the paper on edge probing: one card each, with the verdicts on our encoder and on both of the paper's."""

import streamlit as st

from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED
from probing.reports.reproduction.edges.claims import JudgedEdge, judged_frame
from probing.reports.reproduction.evidence import Finding
from probing.ui.frame import navigation
from probing.ui.reproduction.edges.shown import Shown, published
from probing.ui.reproduction.verdict_card import Content, card, counts, of_paper, printed
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, filled, joined

#: Claim whose numbers are stored predictions for single targets.
_OF_SENTENCES = "single sentences leave the order"


def draw(shown: Shown) -> None:
    """A summary of the verdicts, then one card per claim."""
    judged = {one.name: one for one in shown.laid.judged}
    claims = published().claims
    table = judged_frame(tuple(judged[claim.name] for claim in claims), {claim.name: claim.says for claim in claims})
    papers = list(shown.laid.papers)
    for title in papers:
        table[title] = [of_paper(judged[claim.name].papers[title]) for claim in claims]
    st.markdown(_together(shown, counts(table["verdict"]), len(table)))
    st.markdown(
        filled(
            "The same rules judge the published numbers of {papers}. These have no intervals, so each is taken to lie within its rounding "
            "error, half a hundredth of a point either way. “Holds” therefore means that the printed numbers agree with the text, not that "
            "another seed would.",
            papers=joined(" and ", papers),
        )
    )
    blocks.table_with_download(
        table, stamp=shown.stamp("claims"), name="edge-claims", height="content", column_order=["verdict", *papers, "claim"],
        column_config={"claim": st.column_config.TextColumn(width=520)},
    )  # fmt: skip
    for claim in claims:
        with st.container(border=True):
            card(claim, _content(shown, judged[claim.name]))
            _link(shown, claim.name)


def _together(shown: Shown, found: dict[str, int], claims: int) -> Markdown:
    if shown.laid.ours is None:
        return filled("{claims} claims. No encoder is stored here, so the rules judge only the published numbers.", claims=claims)
    return filled(
        "Of {claims} claims, **{hold}** hold for **{encoder}** and **{fail}** do not. For **{unsure}** our numbers are inconclusive "
        "(“cannot tell”), and **{untested}** cannot be tested. Rules use 95 % intervals: a claim holds if its rule is met at both ends of "
        "every interval, and does not hold if the rule is missed at both ends of any interval. Of many intervals some miss by chance; only "
        "the order of tasks corrects for their number. The paper states no tolerances, so those are ours. A verdict is about this encoder "
        "and these data: it neither confirms nor refutes the paper's own.",
        encoder=shown.view.called(shown.laid.ours.name), claims=claims, hold=found[HOLDS], fail=found[FAILS], unsure=found[UNSURE],
        untested=found[UNTESTED],
    )  # fmt: skip


def _content(shown: Shown, judged: JudgedEdge) -> Content:
    lines = [filled("**Here.** {numbers}", numbers=judged.found.numbers)]
    if judged.found.null:
        lines.append(filled("**For comparison.** {null}", null=judged.found.null))
    lines += [_of_paper(title, found) for title, found in judged.papers.items()]
    table = judged.found.table if shown.laid.ours else judged.found.table.iloc[:0]
    return Content(judged.found.verdict, tuple(lines), judged.rule, judged.query, table, shown.stamp(f"claim: {judged.name}"))


def _of_paper(title: str, found: Finding) -> Markdown:
    return filled("**{title}, published numbers: {verdict}.** {numbers}", title=title, verdict=of_paper(found), numbers=printed(found))


def _link(shown: Shown, name: str) -> None:
    """The link to the page that shows what the claim is about."""
    if shown.laid.ours is None:
        return
    if name == _OF_SENTENCES:
        navigation.link("edge_sentences", "See single sentences")
    else:
        navigation.link("pipeline", "See the layers", edge_models=(shown.laid.ours.name,))
