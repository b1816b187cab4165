"""The claims of a paper's text as a table: the verdict on each, the numbers that decide it, and what shows them."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from probing.core.claims import Claim
from probing.reports.reproduction.judge import COMPARED, Judged, claims_frame
from probing.ui.frame import navigation
from probing.ui.reproduction.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, filled, joined, with_minus

_HEAD = Markdown("| Verdict | Claim, and the numbers here |\n|:--|:--|\n")


def draw(shown: Shown, judged: Sequence[Judged]) -> None:
    """Every claim in a row, below them how verdicts are made, and all comparisons."""
    rows = claims_frame(judged).to_dict("records")
    st.markdown(joined("", [_HEAD, joined(Markdown("\n"), [_row(shown, *one) for one in zip(judged, rows, strict=True)])]))
    if not any(one.claim.check for one in judged):
        return
    st.caption(
        "A comparison holds if the whole 95 % interval of the difference fulfils it, and does not hold if no part of the interval does. A "
        "claim holds if all of its comparisons do. If something that it names is not stored, it cannot be tested. Of many intervals some "
        "miss by chance. The numbers are those of the comparison that is closest to another verdict. Claims without a verdict cannot be "
        "put as such a comparison."
    )
    blocks.folded("All comparisons", partial(_comparisons, shown, judged), key=f"{shown.section.prefix}claims.fold", icon="table")


def _row(shown: Shown, one: Judged, row: dict[str, str]) -> Markdown:
    """A row of the table: two cells of one line each."""
    claim = one.claim
    numbers, against = _numbers(row), claim.against
    return filled(
        "| {verdict} | {says} *{where}.* {link}{numbers}{against} |",
        verdict=filled("**{verdict}**", verdict=one.verdict) if one.verdict else "no verdict",
        says=claim.says,
        where=claim.where,
        link=_link(shown, claim),
        numbers=filled(" **Here:** {numbers}", numbers=numbers) if numbers else "",
        against=filled(" **The paper against itself:** {against}", against=against) if against else "",
    )


def _numbers(row: dict[str, str]) -> str:
    """What was asked, the two sides of the deciding comparison with their intervals, and what is missing."""
    sides = " against ".join(row[side] or "not defined" for side in ("first", "second"))
    numbers = [sides] if row["first"] or row["second"] else []
    numbers += [f"{words} {row[name]}" for name, words in (("difference", "difference"), ("beside", "beside it")) if row[name]]
    found = [
        row["asks"],
        f"{row['compared']}:" if row["compared"] and numbers else "",
        f"{', '.join(numbers)}." if numbers else "",
        f"Of the comparisons: {row['counts']}." if row["counts"] else "",
        f"Missing: {row['missing']}." if row["missing"] else "",
    ]
    return with_minus(" ".join(part for part in found if part))


def _link(shown: Shown, claim: Claim) -> Markdown:
    """Where the claim is shown: a figure or a table of the paper on this page, or another page."""
    _, tab, figure, panel = shown.section.fields
    if claim.shown.page:
        return Markdown(f"[See the page]({navigation.address(claim.shown.page)})")
    if claim.shown.table:
        return Markdown(f"[See the table]({navigation.address('reproduction', **{tab: 'tables'})})")
    changes = {tab: "figures", figure: claim.shown.figure, panel: ""}
    return Markdown(f"[See Figure {claim.shown.figure}]({navigation.address('reproduction', **changes)})")


def _comparisons(shown: Shown, judged: Sequence[Judged]) -> None:
    """All comparisons in one table."""
    tables = [one.compared for one in judged if len(one.compared)]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COMPARED))
    blocks.table_with_download(table, stamp=shown.stamp("comparisons of claims"), name=f"{shown.section.prefix}claims")
