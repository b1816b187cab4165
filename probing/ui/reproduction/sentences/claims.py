"""The claims of the paper on fine-tuning and sentence-level probing: one card each, with the verdicts on ours and on its own tables."""

import streamlit as st

from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED
from probing.reports.reproduction.sentences.claims import JudgedSentences, judged_frame
from probing.ui.reproduction.sentences.shown import Shown, published
from probing.ui.reproduction.verdict_card import Content, card, counts, of_paper, printed
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, filled


def draw(shown: Shown) -> None:
    """A summary of the verdicts, then one card per claim."""
    judged = {one.name: one for one in shown.laid.judged}
    claims = published().claims
    table = judged_frame(tuple(judged[claim.name] for claim in claims), {claim.name: claim.says for claim in claims})
    table["paper"] = [of_paper(judged[claim.name].paper) for claim in claims]
    table["paper_numbers"] = [printed(judged[claim.name].paper) for claim in claims]
    st.markdown(_together(shown, counts(table["verdict"]), len(table)))
    st.markdown(
        "The same rules judge the paper's own Tables 2 and 5. Their numbers have no intervals, so each is taken to lie within its rounding "
        "error, half a hundredth of a point either way. “Holds” therefore means that the printed numbers agree with the text, not that "
        "another seed would."
    )
    blocks.table_with_download(
        table, stamp=shown.stamp("claims"), name="interplay-claims", height="content", column_order=["verdict", "paper", "claim"],
        column_config={"paper": st.column_config.TextColumn("the paper's tables"), "claim": st.column_config.TextColumn(width=560)},
    )  # fmt: skip
    for claim in claims:
        with st.container(border=True):
            card(claim, _content(shown, judged[claim.name]))


def _together(shown: Shown, found: dict[str, int], claims: int) -> Markdown:
    if shown.laid.family is None:
        return filled("{claims} claims. Nothing is stored here, so the rules judge only the published numbers.", claims=claims)
    return filled(
        "Of {claims} claims, **{hold}** hold for **{base}** and its fine-tuned models and **{fail}** do not. For **{unsure}** our numbers "
        "are inconclusive (“cannot tell”), and **{untested}** cannot be tested here: they compare three encoders, need a model that is "
        "missing or has not learned its task, or are about the paper's own work. Rules use 95 % intervals: a claim holds if its rule is "
        "met at both ends of every interval, and does not hold if the rule is missed at both ends of any interval. Of many intervals some "
        "miss by chance. The paper states no tolerances, so those are ours. A verdict is about these models and these sentences: it "
        "neither confirms nor refutes the paper's own.",
        base=shown.view.called(shown.laid.family.base), claims=claims, hold=found[HOLDS], fail=found[FAILS], unsure=found[UNSURE],
        untested=found[UNTESTED],
    )  # fmt: skip


def _content(shown: Shown, judged: JudgedSentences) -> Content:
    lines = [filled("**Here.** {numbers}", numbers=judged.found.numbers)]
    if judged.found.null:
        lines.append(filled("**For comparison.** {null}", null=judged.found.null))
    lines.append(filled("**The paper's own tables: {verdict}.** {numbers}", verdict=of_paper(judged.paper), numbers=printed(judged.paper)))
    return Content(judged.found.verdict, tuple(lines), judged.rule, judged.query, judged.found.table, shown.stamp(f"claim: {judged.name}"))
