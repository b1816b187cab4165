"""The reproduction page: the family that is compared with the paper, and Tables 1 to 3."""

import pandas as pd
import streamlit as st

from probing.core.head_kinds import HEADS
from probing.core.knowledge.published import PublishedKnowledge
from probing.core.registry import read_registry
from probing.figures.model_looks import mark
from probing.figures.shown_runs import set_name
from probing.reports.reproduction.evidence import BASE
from probing.reports.reproduction.tables import NOT_PUBLISHED, Family, Gathered, Reproduction, families, lay_beside
from probing.store.database import Database
from probing.ui.frame import reads, selection
from probing.ui.frame.page import View
from probing.ui.reproduction.selection import ReproductionSelection
from probing.ui.widgets import blocks
from probing.ui.widgets.learned import mark_key
from probing.ui.widgets.markdown import Markdown, count, filled

#: The paper's own base; any other base is another model, whose numbers need not match.
PAPERS_BASE = "bert-base-uncased"
#: The text of a cell that was not published; the CSV has the words.
NONE = "none"


@st.cache_data(max_entries=1, show_spinner=False)
def published() -> PublishedKnowledge:
    """The paper's numbers; they change only with the program."""
    return PublishedKnowledge.read()


@st.cache_data(max_entries=8, show_spinner="Counting the facts that the family knows …", hash_funcs=reads.BY_DATA)
def _laid_beside(database: Database, base: str, head: str, _family: Family) -> Reproduction:
    return lay_beside(database, _family, head, published())


def choose_family(view: View) -> Reproduction:
    """The choice of family and head; reports missing models, and returns the family's numbers."""
    own = selection.of(ReproductionSelection)
    found = {family.base: family for family in families(view.runs, read_registry(), published())}
    if own.family and own.family not in found:
        st.info(filled("Ignored, not in these results: {family}", family=own.family), icon=":material/link_off:")
    family = found.get(own.family) or next(iter(found.values()))
    there = set(view.runs.loc[view.runs["model"].isin(family.models), "head"])
    heads = [head for head in HEADS if head in there] + sorted(there - set(HEADS))
    head = own.family_head if own.family_head in heads else heads[0]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        selection.bound(
            st.selectbox, "Family", "family", view.page, value=family.base, options=list(found),
            format_func=lambda base: f"{view.label(base)} and {count(len(found[base].models) - 1, 'model')} fine-tuned from it", width=420,
        )  # fmt: skip
        selection.bound(st.segmented_control, "Heads", "family_head", view.page, value=head, options=heads, required=True)
    _say_what_it_is(view, family)
    assert view.database is not None
    laid = _laid_beside(view.database, family.base, head, family)
    if laid.gathered.runs.empty:
        words = "{base} was not probed with LAMA's templates or ours through {head} heads, so nothing can be compared with the paper."
        st.info(filled(words, base=view.called(family.base), head=head), icon=":material/info:")
        st.stop()
    return laid


def _say_what_it_is(view: View, family: Family) -> None:
    paper = published()
    missing = [model.name for model in paper.models if model.objective not in family.members]
    words = filled(
        "PublishedKnowledge: {authors}, *{title}*, {venue}, <{url}>.",
        authors=paper.authors,
        title=paper.title,
        venue=paper.venue,
        url=Markdown(paper.url),
    )
    if family.base != PAPERS_BASE:
        words += filled(
            " Ours: **{base}, which is not BERT-base**. It is another model, trained on other text; its numbers are not expected "
            "to match. The pattern can be compared: which models know less, at which layers, and what share of their knowledge "
            "they lost.",
            base=view.called(family.base),
        )
    else:
        words += " Ours: the same base, with our heads and, unless a LAMA folder was probed, with our templates and the shipped facts."
    st.markdown(words)
    if missing:
        st.caption(filled("Not in this family, so its cells stay empty: {names}.", names=", ".join(missing)))


def tables(view: View, ours: Reproduction) -> None:
    """Tables 1, 2 and 3."""
    _table_1(view, ours)
    _table_2(view, ours)
    _table_3(view, ours)


def stamp(view: View, gathered: Gathered, what: str, rows: pd.DataFrame | None = None):
    """The origin of a table or figure of this page, which has no filters."""
    # Rows that were not probed have no run.
    runs = tuple((gathered.runs if rows is None else rows)["run_id"].dropna().drop_duplicates())
    head = ", ".join(dict.fromkeys(gathered.runs["head"]))
    return view.stamp(f"{what}, family {gathered.family.base}, {head} heads, all facts", runs)


def _what_marks_mean(view: View, gathered: Gathered) -> None:
    if words := mark_key(view, gathered.family.models):
        st.caption(filled("{words}", words=words))


def _table_1(view: View, ours: Reproduction) -> None:
    st.markdown("## Table 1: the facts")
    gathered, table = ours.gathered, ours.table_1.assign(ours=ours.table_1["ours"].map(set_name))
    base = gathered.runs[gathered.runs["objective"] == BASE]
    number = st.column_config.NumberColumn
    blocks.table_with_download(
        table, stamp=stamp(view, gathered, "Table 1", base), name="table-1",
        column_order=["probe_set", "part", "published_facts", "probed", "read", "published_relations", "relations", "comparable"],
        column_config={
            "probe_set": st.column_config.TextColumn("probe set", pinned=True),
            "published_facts": number("paper", help="Facts, as published."),
            "probed": number("ours", help="Facts that were probed here."), "read": number("read", help="Probed or left out."),
            "published_relations": number("relations", help="Relations, as published."), "relations": "relations here",
            "ours": "facts from", "comparable": "comparable?", "left_out": "left out, by reason",
        },
    )  # fmt: skip
    left = table[table["left_out"].ne("") & table["left_out"].ne("none")]
    if len(left):
        st.caption(filled("Left out: {sets}.", sets="; ".join(f"{row.probe_set} {row.left_out}" for row in left.itertuples())))
    st.caption(
        filled(
            "Facts of {base}: read = ours + left out. A fact is left out if its answer is not a single token of the "
            "vocabulary, so a small vocabulary leaves fewer facts. ConceptNet and SQuAD are not shipped: **our own sentences "
            "replace them and are not the same facts**, so those cells are not comparable. The paper gives no number "
            "of relations for them.",
            base=view.called(gathered.family.base),
        )
    )


def _table_2(view: View, ours: Reproduction) -> None:
    st.markdown("## Table 2: forgotten T-REx relations")
    number = st.column_config.NumberColumn
    blocks.table_with_download(
        ours.table_2, shown=briefly(ours.table_2, view), stamp=stamp(view, ours.gathered, "Table 2", ours.gathered.forgotten),
        name="table-2", height="content",
        column_order=[
            "row", "k", "published", "authors", "published_count", "authors_count", "caption_count", "strict_count", "relations", "model",
        ],
        column_config={
            "row": st.column_config.TextColumn("", pinned=True), "model": "here", "k": "P@k", "published": "paper",
            "authors": number("ours", format="%.2f", help="“Authors”: counted as the published cells are."),
            "published_count": number("of 42", help="PublishedKnowledge number of forgotten relations."),
            "authors_count": number("ours of 42", help="“Authors”: counted as the published cells are."),
            "caption_count": "caption", "strict_count": "strict", "relations": number("relations", help="T-REx relations here."),
        },
    )  # fmt: skip
    st.caption(
        "Only **authors** (“ours”) compares with the published cells: best inner layer above the last and an unpaired t-test p ≤ 0.05, "
        "divided by 42 as in the authors' code, which counts one key too many. *Caption*: any inner layer's mean above the last's. "
        "*Strict*: exact McNemar of every inner layer against the last, Benjamini-Hochberg over relations × layers, a drop of at least 2 "
        "points. Both are numbers of relations; “relations” is how many there are here. “none”: **not published**, which is not 0."
    )
    _what_marks_mean(view, ours.gathered)


def _table_3(view: View, ours: Reproduction) -> None:
    st.markdown("## Table 3: the last layer and all layers, P@1 in per cent")
    gathered, table = ours.gathered, ours.table_3.assign(ours=ours.table_3["ours"].map(set_name))
    decimals = st.column_config.NumberColumn
    blocks.table_with_download(
        table, shown=briefly(table, view), stamp=stamp(view, gathered, "Table 3, P@1 in per cent", gathered.total), name="table-3",
        height="content",
        column_order=["row", "probe_set", "published", "ours_micro", "majority_micro", "inner", "ours_macro", "comparable"],
        column_config={
            "row": st.column_config.TextColumn("", pinned=True), "model": "model here", "probe_set": "probe set",
            "published": st.column_config.TextColumn("paper", help="Last layer / all layers, as published."),
            "ours_micro": st.column_config.TextColumn("ours", help="Last layer / all layers, over facts."),
            "ours_macro": st.column_config.TextColumn("ours, macro", help="Last layer / all layers, the mean over relations."),
            "majority_micro": decimals("majority", format="%.1f", help="What always giving a relation's most frequent answer gets right."),
            "majority_macro": decimals("majority, macro", format="%.1f"),
            "inner": st.column_config.TextColumn(
                "inner layers",
                help="Of the facts that the last layer misses with both prompts: found by some inner layer with the own subject / with a "
                "swapped subject.",
            ),
            "ours": "facts from", "comparable": "comparable?",
            "last_micro": decimals("last, micro", format="%.1f"), "total_micro": decimals("total, micro", format="%.1f"),
            "last_macro": decimals("last, macro", format="%.1f"), "total_macro": decimals("total, macro", format="%.1f"),
        },
    )  # fmt: skip
    st.caption(
        "Cells are last layer / all layers. “Ours” is *micro*, over facts; *macro* is the mean over relations. The authors' code pools "
        "facts for Figure 1, so the published table is **probably micro**; the paper does not say. “none”: NER-CoNLL was **not published** "
        "here, which is not 0. Cells marked “other sentences” are our own clozes and not LAMA's facts: they are not comparable with the "
        "published numbers."
    )
    st.caption(
        "Two yardsticks. **Majority**, for the last layer: the share that always giving a relation's most frequent answer gets right. "
        "**Inner layers**, for all layers: of the facts that the last layer misses with both prompts, the share that some inner layer "
        "finds with their own subject / with a swapped one. The second number shows guessing. The paper has no such control."
    )
    _what_marks_mean(view, gathered)


def briefly(table: pd.DataFrame, view: View) -> pd.DataFrame:
    """Table 2 or 3 in a form that fits a phone: rows with the marks of their models, short words, and two shares in one text."""
    names = list(zip(table["row"], table["model"], strict=True))
    shown = table.assign(
        row=[row + mark(row, view.verdicts.get(model)) for row, model in names],
        model=[view.label(model) if model else "" for _, model in names],
        published=table["published"].replace(NOT_PUBLISHED, NONE),
    )
    for average in ("micro", "macro"):
        if f"last_{average}" in table.columns:
            pairs = zip(table[f"last_{average}"], table[f"total_{average}"], strict=True)
            shown[f"ours_{average}"] = [_both(*pair) for pair in pairs]
    if "inner_own" in table.columns:
        shown["inner"] = [_both(*pair) for pair in zip(table["inner_own"], table["inner_swapped"], strict=True)]
    return shown


def _both(first: float, second: float) -> str | None:
    return f"{first:.1f} / {second:.1f}" if pd.notna(first) and pd.notna(second) else None
