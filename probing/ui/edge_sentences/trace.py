"""One sentence: each of its targets through the layers (Figure 3 of the paper)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from probing.figures.edges.traces import trace_bars
from probing.store.edges.sentence_queries import traces
from probing.ui.edge_sentences.page_view import PART_NAMES, Shown
from probing.ui.edge_sentences.sentence_search import title_of
from probing.ui.edge_sentences.words import say_missing, with_words
from probing.ui.frame import selection
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, count, filled, joined

#: Number of panels in the page's first figure, and maximum number in the second; the table has all.
FIRST, MAX_PANELS = 3, 12
#: Stored probabilities are integers up to this.
_STEPS = 255
_ALT = "Share of the right label and of the best wrong one by layer, one panel per target"


def draw(shown: Shown, sentence: str) -> None:
    """Heading, what happens in the sentence, and one panel per target."""
    if not sentence:
        return
    rows = shown.view.read(traces, shown.run_ids, shown.part, sentence, **shown.filters())
    if rows.empty:
        st.info("This model has no stored answers to the link's sentence on this part of the data.", icon=":material/link_off:")
        return
    rows = with_words(shown.view, shown.part, rows)
    st.markdown(title_of(rows.iloc[0].to_dict()))
    rows = in_tasks(shown, rows)
    targets = rows.drop_duplicates(["task", "target"])
    passing = int(targets["passes"].sum())
    if passing < len(targets):
        selection.bound(
            st.toggle,
            filled("All {n} targets of the sentence", n=len(targets)),
            "every_target",
            shown.view.page,
            help="Off: only those that pass the filters.",
        )
    kept = rows if shown.own.every_target or not passing else rows[rows["passes"]]
    answer(_said(shown, kept))
    panels = panels_of(shown, kept)
    drawn = most_revised(panels, FIRST)
    others = panels[~panels["panel"].isin(drawn["panel"])]
    more = others["panel"].nunique()
    blocks.figure(
        drawing(trace_bars, drawn),
        table=panels,
        stamp=shown.stamp(f"text {sentence[:12]}"),
        name="edge-traces",
        caption=filled(
            "Blue, upwards: the right label; orange, downwards: the wrong label with the greatest mean over all layers. Each bar is a "
            "label's probability as a share of the sum over all labels, as the probe scores labels independently. Dotted line: from here "
            "on the right label stays the most probable one.{more}",
            more=f" Drawn are the {FIRST} panels with most revisions, of {FIRST + more}." if more else "",
        ),
        alt=_ALT,
    )
    _about(shown, rows)
    if more:
        _others(shown, others, sentence)
    _table(shown, kept)


def _others(shown: Shown, others: pd.DataFrame, sentence: str) -> None:
    """The panels that the first figure leaves out, if the user wants them."""
    more = others["panel"].nunique()
    selection.bound(st.toggle, filled("Draw {more}, too", more=count(more, "other panel")), "other_panels", shown.view.page)
    if not shown.own.other_panels:
        return
    blocks.figure(
        drawing(trace_bars, most_revised(others, MAX_PANELS)),
        table=others,
        stamp=shown.stamp(f"text {sentence[:12]}, further targets"),
        name="edge-traces-more",
        caption=f"Only the {MAX_PANELS} with most revisions are drawn; the table has all." if more > MAX_PANELS else "",
        alt=_ALT,
    )


def in_tasks(shown: Shown, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows in the order of tasks, and of targets in the sentence."""
    places = rows.assign(_task=rows["task"].map(list(shown.tasks).index))
    return places.sort_values(["_task", "start1", "end1", "target", "layer"]).drop(columns="_task").reset_index(drop=True)


def _about(shown: Shown, rows: pd.DataFrame) -> None:
    """Where the sentence is from, and what is shown instead of missing words."""
    first = rows.iloc[0].to_dict()
    about = [Markdown(PART_NAMES[shown.part])]
    if isinstance(first["document"], str) and first["document"]:
        about.append(filled("from {document}", document=first["document"]))
    st.markdown(joined(" · ", about))
    say_missing(shown.view, shown.part, rows.head(1), Markdown("Spans are word positions, counted from 1"))


def has_words(row: Mapping[str, Any]) -> bool:
    """Whether the words of a sentence are available."""
    return isinstance(row["text"], str) and bool(row["text"])


def _said(shown: Shown, rows: pd.DataFrame) -> Markdown:
    """How many targets end right, with the memory baseline, and which settles last."""
    targets = rows.drop_duplicates(["task", "target"])
    at_end = rows[rows["layer"] == rows.groupby("task")["layer"].transform("max")]
    said = filled(
        "At the last layer of {model} the most probable label is right for **{right} of {all}**; the memory baseline, which knows span "
        "texts only, gives exactly the right labels for {memory}.",
        model=shown.view.called(shown.model),
        right=int(at_end["right"].sum()),
        all=count(len(targets), "target"),
        memory=int(targets["memory_right"].sum()),
    )
    settled = targets[targets["settled"] > 0].sort_values("settled", kind="stable")
    if settled.empty:
        return said
    last = settled.iloc[-1].to_dict()
    return filled(
        "{said} Last to settle: {what} as {label}, at layer {layer}.",
        said=said,
        what=title_of_target(shown, last),
        label=" + ".join(last["gold"]),
        layer=int(last["settled"]),
    )


def title_of_target(shown: Shown, row: Mapping[str, Any]) -> str:
    """ "entities: Toronto", "Semantic roles: smoked → Toronto"; without words "entities: words 2–3"."""
    spans = [(row["start1"], row["end1"])]
    if pd.notna(row["start2"]):
        spans.append((row["start2"], row["end2"]))
    words = row["text"].split(" ") if has_words(row) else None
    return f"{shown.tasks[row['task']]}: {' → '.join(_span(int(start), int(end), words) for start, end in spans)}"


def _span(start: int, end: int, words: list[str] | None) -> str:
    if words is not None:
        return " ".join(words[start:end])
    return f"word {start + 1}" if end == start + 1 else f"words {start + 1}–{end}"


def panels_of(shown: Shown, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the figure: one per target, right label and layer; a target without a right label has one per layer."""
    found = []
    for row in rows.to_dict("records"):
        total = row["p_sum"] or 1
        for place, gold in enumerate(list(row["gold"]) or [""]):
            p = row["p_gold"][place] if len(row["p_gold"]) > place else 0
            found.append(
                {
                    "panel": f"{row['task']}.{row['target']}.{place}",
                    "title": title_of_target(shown, row),
                    "task": row["task"],
                    "gold": gold or "(no label)",
                    "wrong": row["wrong"],
                    "layer": int(row["layer"]),
                    "p_gold": p / total,
                    "p_wrong": row["p_wrong"] / total,
                    "sigmoid_gold": p / _STEPS,
                    "sigmoid_wrong": row["p_wrong"] / _STEPS,
                    "right": row["right"],
                    "settled": _settled(row),
                    "revisions": int(row["revisions"]),
                }
            )
    return pd.DataFrame(found).astype({"settled": "float64"})


def most_revised(panels: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most so many panels, in their order: those whose most probable label changes most often; ties go to the first."""
    each = panels.drop_duplicates("panel").sort_values("revisions", ascending=False, kind="stable")
    return panels[panels["panel"].isin(each["panel"].head(most))]


def _settled(row: Mapping[str, Any]) -> int | None:
    return int(row["settled"]) if row["settled"] >= 0 else None


def _table(shown: Shown, rows: pd.DataFrame) -> None:
    """The targets as a table: the right label, the memory baseline, and when each settles."""
    targets = rows.drop_duplicates(["task", "target"])
    ends = rows[rows["layer"] == rows.groupby("task")["layer"].transform("max")].set_index(["task", "target"])["top"]
    table = pd.DataFrame(
        [
            {
                "target": title_of_target(shown, row),
                "right": " + ".join(row["gold"]),
                "last layer": ends[row["task"], row["target"]],
                "memory": " + ".join(row["memory"]),
                "settled": _settled(row),
                "revisions": row["revisions"],
                "mean share": row["strongest_mean"],
                "in training": bool(row["seen"]),
            }
            for row in targets.to_dict("records")
        ]
    ).astype({"settled": "Int64"})
    column = st.column_config
    blocks.table_with_download(
        table,
        stamp=shown.stamp("targets"),
        name="edge-targets",
        column_config={
            "target": column.TextColumn(pinned=True),
            "last layer": column.TextColumn(help="The most probable label at the last layer."),
            "memory": column.TextColumn(help="The commonest training label of the same span text; the majority label if there is none."),
            "settled": column.NumberColumn(help="The layer from which the right label stays the most probable one; empty: never."),
            "mean share": column.NumberColumn(format="%.2f", help="Greatest mean share of a label; ambiguous if at most 0.70."),
            "in training": column.CheckboxColumn(help="Whether the text of the span (of both spans) occurs in training."),
        },
    )
