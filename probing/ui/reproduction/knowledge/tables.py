"""BERTnesia's Tables 1 to 3, published and ours."""

import pandas as pd
import streamlit as st

from probing.core.tasks.objectives import BASE
from probing.figures.model_looks import mark
from probing.figures.shown_runs import set_name
from probing.reports.reproduction.knowledge.tables import NOT_PUBLISHED
from probing.ui.reproduction.page_view import Shown, Table
from probing.ui.widgets.markdown import Markdown, filled
from probing.ui.widgets.task_marks import marks_once

#: The text of a cell that was not published; the CSV has the words.
NONE = "none"
_number, _text = st.column_config.NumberColumn, st.column_config.TextColumn


def _what_marks_mean(shown: Shown) -> None:
    if words := marks_once(shown.view, shown.about.family.models):
        st.caption(filled("{words}", words=words))


def _who_is_missing(shown: Shown) -> None:
    members = shown.about.family.members
    if missing := [model.name for model in shown.numbers.models if model.objective not in members]:
        st.caption(filled("Not in this family, so its cells stay empty: {names}.", names=", ".join(missing)))


def _named_sets(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(ours=table["ours"].map(set_name))


def _left_out(shown: Shown) -> None:
    table = shown.found.tables["table-1"]
    left = table[table["left_out"].ne("") & table["left_out"].ne("none")]
    if len(left):
        st.caption(filled("Left out: {sets}.", sets="; ".join(f"{row.probe_set} {row.left_out}" for row in left.itertuples())))
    st.caption(
        filled(
            "Facts of {base}: read = ours + left out. A fact is left out if its answer is not a single token of the "
            "vocabulary, so a small vocabulary leaves fewer facts. ConceptNet and SQuAD are not shipped: **our own sentences "
            "replace them and are not the same facts**, so those cells are not comparable. The paper gives no number "
            "of relations for them.",
            base=shown.view.called(shown.about.family.base),
        )
    )


def _briefly(shown: Shown, table: pd.DataFrame) -> pd.DataFrame:
    """Table 2 or 3 in a form that fits a phone: rows with the marks of their models, short words, and two shares in one text."""
    view, names = shown.view, list(zip(table["row"], table["model"], strict=True))
    brief = table.assign(
        row=[view.label(model) if row == model else row + mark(row, view.verdicts.get(model)) for row, model in names],
        model=[view.label(model) if model else "" for _, model in names],
        published=table["published"].replace(NOT_PUBLISHED, NONE),
    )
    for average in ("micro", "macro"):
        if f"last_{average}" in table.columns:
            pairs = zip(table[f"last_{average}"], table[f"total_{average}"], strict=True)
            brief[f"ours_{average}"] = [_both(*pair) for pair in pairs]
    if "inner_own" in table.columns:
        brief["inner"] = [_both(*pair) for pair in zip(table["inner_own"], table["inner_swapped"], strict=True)]
    return brief


def _both(first: float, second: float) -> str | None:
    return f"{first:.1f} / {second:.1f}" if pd.notna(first) and pd.notna(second) else None


TABLE_1 = Table(
    "table-1",
    "table-1",
    "Table 1",
    heading=Markdown("## Table 1: the facts"),
    written=_named_sets,
    rows=lambda shown: (runs := shown.about.runs)[runs["objective"] == BASE],
    options={
        "column_order": ["probe_set", "part", "published_facts", "probed", "read", "published_relations", "relations", "comparable"],
    },
    columns={
        "probe_set": _text("probe set", pinned=True),
        "published_facts": _number("paper", help="Facts, as published."),
        "probed": _number("ours", help="Facts that were probed here."),
        "read": _number("read", help="Probed or left out."),
        "published_relations": _number("relations", help="Relations, as published."),
        "relations": "relations here",
        "ours": "facts from",
        "comparable": "comparable?",
        "left_out": "left out, by reason",
    },
)
TABLE_2 = Table(
    "table-2", "table-2", "Table 2", heading=Markdown("## Table 2: forgotten T-REx relations"), worded=_briefly,
    rows=lambda shown: shown.about.forgotten,
    options={
        "height": "content",
        "column_order": [
            "row", "k", "published", "authors", "published_count", "authors_count", "caption_count", "strict_count", "relations", "model",
        ],
    },
    columns={
        "row": _text("row", pinned=True), "model": "here", "k": "P@k", "published": "paper",
        "authors": _number("ours", format="%.2f", help="“Authors”: counted as the published cells are."),
        "published_count": _number("of 42", help="Published number of forgotten relations."),
        "authors_count": _number("ours of 42", help="“Authors”: counted as the published cells are."),
        "caption_count": "caption", "strict_count": "strict", "relations": _number("relations", help="T-REx relations here."),
    },
    caption=Markdown(
        "Only **authors** (“ours”) compares with the published cells: best inner layer above the last and an unpaired t-test p ≤ 0.05, "
        "divided by 42 as in the authors' code, which counts one key too many. *Caption*: any inner layer's mean above the last's. "
        "*Strict*: exact McNemar of every inner layer against the last, Benjamini-Hochberg over relations × layers, a drop of at least 2 "
        "points. Both are numbers of relations; “relations” is how many there are here. “none”: **not published**, which is not 0."
    ),
)  # fmt: skip
TABLE_3 = Table(
    "table-3", "table-3", "Table 3, P@1 in per cent", heading=Markdown("## Table 3: the last layer and all layers, P@1 in per cent"),
    written=_named_sets, worded=_briefly, rows=lambda shown: shown.about.total,
    options={
        "height": "content",
        "column_order": ["row", "probe_set", "published", "ours_micro", "majority_micro", "inner", "ours_macro", "comparable"],
    },
    columns={
        "row": _text("row", pinned=True), "model": "model here", "probe_set": "probe set",
        "published": _text("paper", help="Last layer / all layers, as published."),
        "ours_micro": _text("ours", help="Last layer / all layers, over facts."),
        "ours_macro": _text("ours, macro", help="Last layer / all layers, the mean over relations."),
        "majority_micro": _number("majority", format="%.1f", help="What always giving a relation's most frequent answer gets right."),
        "majority_macro": _number("majority, macro", format="%.1f"),
        "inner": _text(
            "inner layers",
            help="Of the facts that the last layer misses with both prompts: found by some inner layer with the own subject / with a "
            "swapped subject.",
        ),
        "ours": "facts from", "comparable": "comparable?",
        "last_micro": _number("last, micro", format="%.1f"), "total_micro": _number("total, micro", format="%.1f"),
        "last_macro": _number("last, macro", format="%.1f"), "total_macro": _number("total, macro", format="%.1f"),
    },
    caption=Markdown(
        "Cells are last layer / all layers. “Ours” is *micro*, over facts; *macro* is the mean over relations. The authors' code pools "
        "facts for Figure 1, so the published table is **probably micro**; the paper does not say. “none”: NER-CoNLL was **not published** "
        "here, which is not 0. Cells marked “other sentences” are our own clozes and not LAMA's facts: they are not comparable with the "
        "published numbers.\n\n"
        "Two yardsticks. **Majority**, for the last layer: the share that always giving a relation's most frequent answer gets right. "
        "**Inner layers**, for all layers: of the facts that the last layer misses with both prompts, the share that some inner layer "
        "finds with their own subject / with a swapped one. The second number shows guessing. The paper has no such control."
    ),
)  # fmt: skip
TABLES = (TABLE_1, _left_out, _who_is_missing, TABLE_2, _what_marks_mean, TABLE_3, _what_marks_mean)
