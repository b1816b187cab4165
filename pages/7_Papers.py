"""Papers: the claims, tables and figures of four papers, with our numbers next to theirs."""

from collections.abc import Mapping, Sequence
from html import escape as text
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from probing.choices import PAPERS_TABS as TABS
from probing.choices import PapersSelection
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.frame import View, derived, show
from probing.kernel.app.texts import Markdown, filled, with_minus
from probing.kernel.figures import theme
from probing.kernel.figures.looks import common_head, set_name
from probing.kernel.models.names import HEADS
from probing.kernel.published import Claim
from probing.papers import page_tables
from probing.papers.claims import FAILS, HOLDS, UNSURE, UNTESTED, Judged, Reproduction, claims_frame
from probing.papers.page_figures import FIGURES, PaperView
from probing.papers.page_tables import TABLES
from probing.papers.papers import (
    COUNTED,
    OPEN,
    PAPERS,
    counts,
    lacking,
    on_a_line,
    reproduced,
    telling_first,
    tiles,
    with_comparisons,
)

#: Paper -> what is said, and the command, if none of ours is stored.
MISSING = {
    "bertnesia": ("No run on its facts is stored.", blocks.PROBE_COMMAND),
    "edge-probing": ("No cumulative probe is stored.", "python -m probing edges train --model nesia-mini --tasks all"),
    "interplay": ("No sentence probe is stored.", "python -m probing reproduce --paper interplay --family nesia-mini"),
    "forgetting": (
        "No recovery of lost facts is stored.",
        "python -m probing forgetting recover --model nesia-mini-qa-squad-1",
    ),
}
COLOURS = {HOLDS: theme.KEPT, FAILS: theme.NOT_BACK, OPEN: theme.NEUTRAL}
CAPTION = (
    "Green: holds here; red: does not; grey: undecided. Hollow: the paper's numbers, or what it claims; filled: ours;"
    " tick: 0. Click for all."
)
HOW = (
    "A comparison holds if the whole 95 % interval of the difference fulfils it, and fails if no part of the interval"
    " does. A claim holds if all of its comparisons hold. If a model, a model that learned its task, or a probe set is"
    " missing, or neither side has 1 % of what the base knows, a comparison cannot be made. What fine-tuning does is"
    " compared beside the control, which was trained on without a task. A line has the least and the most of the"
    " differences, or of the values of a claim that is only shown. Of many intervals some miss by chance. Here: the"
    " comparison that is closest to another verdict. The models here are small and read other sentences than the"
    " paper's, so levels differ; patterns can be compared."
)
ALL_PANELS = "all"


def offered_heads(view: View, family: Any) -> tuple[list[str], str]:
    """The heads that a family was read with, and the one that most of its models have."""
    there = set(view.runs.loc[view.runs["model"].isin(family.models), "head"])
    heads = [head for head in HEADS if head in there] + sorted(there - set(HEADS))
    return heads, common_head(view.runs[view.runs["model"].isin(family.members.values())], heads)


def choose(view: View) -> tuple[str, ...]:
    """Draws the bar; returns the subject that is compared with the paper, and its heads. Empty if nothing is stored."""
    own = selection.of(PapersSelection)
    there: Mapping[str, Any] = view.read(PAPERS[own.paper].subjects) if view.database is not None else {}
    if own.papers_subject and own.papers_subject not in there:
        blocks.say_ignored([own.papers_subject])
    chosen = own.papers_subject if own.papers_subject in there else next(iter(there), "")
    with filters.bar(view, own=("papers_subject", "papers_head")) as place:
        selection.bound("paper", resets={"figure": "", "panel": "", "papers_subject": "", "papers_head": ""})
        if not chosen:
            return ()
        with place:
            selection.bound("papers_subject", value=chosen, options=list(there), format_func=view.label)
            if own.paper != "bertnesia":
                return (chosen,)
            heads, usual = offered_heads(view, there[chosen])
            head = own.papers_head if own.papers_head in heads else usual
            selection.bound("papers_head", value=head, options=heads)
    return (chosen, head)


def say(judged: Sequence[Judged]) -> None:
    """The one sentence: how many comparisons hold."""
    n = counts(judged)
    words = "Of {claims} claims {checked} {name} numbers that can be compared"
    made = ": of their comparisons {hold} here, {fail}, {open} are within chance or cannot be made."
    words += made if n["checked"] else "."
    hold, fail = (f"{n[verdict]} {COUNTED[verdict][n[verdict] != 1]}" for verdict in (HOLDS, FAILS))
    named = {"claims": n["claims"], "checked": n["checked"], "name": "names" if n["checked"] == 1 else "name"}
    blocks.sentence(words, **named, hold=hold, fail=fail, open=n[UNSURE] + n[UNTESTED])


def target(claim: Claim) -> tuple[str, str]:
    """Title and address of what shows a claim."""
    place = claim.shown
    if place.page:
        return "See the page", selection.address(place.page, **({f"{place.page}_tab": place.tab} if place.tab else {}))
    if place.table:
        return "See the table", selection.address("papers", papers_tab="tables")
    return f"See Figure {place.figure}", selection.address(
        "papers", papers_tab="figures", figure=str(place.figure), panel=""
    )


def tile(judgement: Judged, short: dict[str, str], whole: dict[str, str]) -> str:
    here = f'<span class="here">Here {text(short["here"])}</span>' if short["here"] else ""
    asks = f"<p>Asked here: {text(whole['asks'])}</p>" if whole["asks"] else ""
    numbers = ", ".join(f"{name} {whole[name]}" for name in ("first", "second", "difference") if whole[name])
    compared = f"{set_name(whole['compared'])}: " if whole["compared"] else ""
    decides = f"<p>{text(with_minus(compared + numbers))}.</p>" if numbers else ""
    not_here = f"<p>Not here: {text(lacking(judgement))}.</p>" if short["verdict"] == OPEN and whole["missing"] else ""
    against = f"<p>The paper against itself: {text(whole['against'])}</p>" if whole["against"] else ""
    words, address = target(judgement.claim)
    marks = "".join(f'<i class="{of}" style="{place}"></i>' for of, place in on_a_line(short).items())
    line = f'<span class="line" aria-hidden="true">{marks}</span>' if marks else ""
    return (
        f'<details style="--verdict: {COLOURS[short["verdict"]]}"><summary><b>{text(short["claim"])}</b>'
        f"<span>{text(short['verdict'].capitalize())} · paper: {text(short['paper'])}</span>{line}{here}"
        f'<span class="why">{text(short["reason"])}</span></summary>'
        f'<div class="more"><p>{text(whole["claim"])} <i>{text(whole["where"])}.</i></p>{asks}{decides}{not_here}'
        f'{against}<p><a href="{text(address)}" target="_blank">{words}</a></p></div></details>'
    )


Tile = tuple[Judged, dict[str, str], dict[str, str]]


@derived
def claims_of(view: View, name: str, *chosen: str) -> tuple[Reproduction, list[Tile], pd.DataFrame]:
    """A paper beside our results; its claims, those decided first, with what their tiles say; the table behind them."""
    compared, judged = view.read(reproduced, name, *chosen) if view.database is not None else reproduced(None, name)
    judged = telling_first(judged)
    whole = claims_frame(judged).assign(against=[judgement.claim.against for judgement in judged])
    rows = zip(judged, tiles(judged).to_dict("records"), whole.to_dict("records"), strict=True)
    return compared, list(rows), with_comparisons(judged)


def picture(paper_view: PaperView, claims: Sequence[Tile], table: pd.DataFrame) -> None:
    """One tile per claim, with the quiet row."""
    st.html(Path(page_tables.__file__).with_name("tiles.css"))
    st.html(f'<div class="claims">{"".join(tile(*claim) for claim in claims)}</div>')
    paper = paper_view.numbers
    how = filled(
        "{how}\n\n{authors}, *{title}*, {venue}, <{url}>.",
        how=Markdown(HOW),
        authors=paper.authors,
        title=paper.title,
        venue=paper.venue,
        url=Markdown(paper.url),
    )
    blocks.files(
        None,
        table=table,
        stamp=paper_view.stamp("claims"),
        name=f"{paper_view.paper.name}-claims",
        caption=CAPTION,
        how=how,
    )


def choose_panel(panels: Mapping[str, str]) -> str:
    """Draws the choice of one panel, or of all, if there are several; ``""`` for all."""
    titles = {**panels, ALL_PANELS: "All"} if len(panels) > 1 else panels
    panel = selection.of(PapersSelection).panel
    if panel and panel not in titles:
        blocks.say_ignored([panel], of="this figure")
    if len(panels) < 2:
        return ""
    chosen = selection.bound("panel", options=titles)
    return "" if chosen == ALL_PANELS else chosen


def draw_figure(paper_view: PaperView) -> None:
    """The choice of a figure and of a panel; draws ours, and says what the paper's shows."""
    figures = FIGURES[paper_view.paper.name]
    titles = figures.titles(paper_view)
    figure_wanted = selection.of(PapersSelection).figure
    if figure_wanted and figure_wanted not in titles:
        blocks.say_ignored([figure_wanted], of="this paper")
    with st.container(horizontal=True):
        number = selection.bound("figure", resets={"panel": ""}, options=titles)
        panel = choose_panel(figures.panels(paper_view, number))
    figures.draw(paper_view, number, panel)
    if sentence := next((figure.shows for figure in paper_view.numbers.figures if str(figure.number) == number), ""):
        blocks.caption("The paper's figure: {said}", said=sentence)


def draw(view: View) -> None:
    sentence_place = st.container()
    chosen = choose(view)
    name = selection.of(PapersSelection).paper
    compared, claims, table = claims_of(view, name, *chosen)
    with sentence_place:
        say([judged for judged, *_ in claims])
    if not compared.ours or not compared.ours.run_ids:
        blocks.missing(*MISSING[name])
    paper_view = PaperView(view, PAPERS[name], compared)
    picture(paper_view, claims, table)
    draw_tab(paper_view, name)


@st.fragment
def draw_tab(paper_view: PaperView, name: str) -> None:
    tabs = TABS if name in FIGURES else {"tables": TABS["tables"]}
    with selection.open_tab("papers_tab", tabs, "papers") as tab:
        if tab == "tables":
            for paper_table in TABLES[name]:
                paper_table.draw(paper_view)
        else:
            draw_figure(paper_view)


show("papers", "Papers", "What of the papers holds here?", draw, needs_results=False)
