"""A claim as a card: verdict, numbers, rule and the rows that were judged, the same for every paper."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from probing.core.published import Claim
from probing.reports.reproduction.decisions import FAILS, HOLDS, UNSURE, UNTESTED
from probing.reports.reproduction.evidence import Finding
from probing.reports.reproduction.tables import NOT_PUBLISHED
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.markdown import Markdown, code, escape, filled, joined

#: Verdict -> icon and colour.
LOOKS = {
    HOLDS: (":material/check_circle:", "green"),
    FAILS: (":material/cancel:", "orange"),
    UNSURE: (":material/help:", "blue"),
    UNTESTED: (":material/block:", "gray"),
}


@dataclass(frozen=True)
class Content:
    """The content of a card.

    Attributes:
        verdict: on our numbers.
        lines: paragraphs above the rule.
        rule: in words.
        query: how the rows were taken from the results.
        table: the rows that were judged.
        stamp: their origin.
    """

    verdict: str
    lines: tuple[Markdown, ...]
    rule: str
    query: str
    table: pd.DataFrame
    stamp: Stamp


def card(claim: Claim, content: Content) -> None:
    """Draws a card into the open container."""
    icon, colour = LOOKS[content.verdict]
    st.markdown(filled("**{says}** :gray[{where}]", says=claim.says, where=claim.where))
    st.badge(escape(content.verdict), icon=icon, color=colour)  # type: ignore[arg-type]
    st.markdown(joined("\n\n", content.lines))
    st.markdown(filled("**Rule.** {rule}", rule=content.rule))
    if claim.against:
        st.markdown(filled("**The paper against itself.** {against}", against=claim.against))
    st.caption(filled("Asked: {query}", query=code(content.query)))
    if len(content.table):
        with st.expander("The rows that were judged", icon=":material/table:"):
            blocks.table_with_download(content.table, stamp=content.stamp, name=f"claim-{claim.name.replace(' ', '-')}")


def of_paper(found: Finding) -> str:
    """A verdict on the paper's own numbers."""
    return NOT_PUBLISHED if found.verdict == UNTESTED else found.verdict


def printed(found: Finding) -> str:
    """The paper's own numbers in a sentence."""
    if found.verdict == UNTESTED:
        return "The rule needs numbers that the paper does not print; it draws curves, and no number was read off them."
    return found.numbers


def counts(verdicts: pd.Series) -> dict[str, int]:
    """Number of claims by outcome."""
    return {verdict: int((verdicts == verdict).sum()) for verdict in LOOKS}
