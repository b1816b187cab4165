"""The sentences behind a change: those that turned right or wrong from the base to the fine-tuned model."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from probing.core.sentences.example import FIRST, POOLINGS
from probing.figures.sentences.looks import POOLING_NAMES
from probing.reports.sentences.accuracy_changes import turned_sentences
from probing.ui.frame import navigation, selection
from probing.ui.sentence_probes.change import Changed, joined_sentences, majority_of
from probing.ui.sentence_probes.page_view import Shown
from probing.ui.sentence_probes.words import say_missing, with_words
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown, count, filled

_WAYS = {"both": "both", "wrong": "turned wrong", "right": "turned right"}
_HEADINGS = {
    "sentence": st.column_config.TextColumn(width="large"),
    "turned": st.column_config.TextColumn(help="Whether the fine-tuned model's probe is wrong where the base's was right, or the reverse."),
}


@dataclass(frozen=True)
class Cell:
    """One task, pooling and layer of a fine-tuned model and its base.

    Attributes:
        task, pooling, layer: the cell.
        row: its row of ``changes``.
    """

    task: str
    pooling: str
    layer: int
    row: dict


def draw(shown: Shown, changed: Changed | None) -> None:
    """The choice of a cell, its counts, the list, and the sentence that is chosen in it."""
    if changed is None:
        return
    shown.view.contents.section("Sentences that turned right or wrong")
    cell = _chosen(shown, changed)
    st.markdown(_counts(shown, changed, cell))
    table = shown.view.read(turned_sentences, changed.model, cell.task, cell.pooling, cell.layer, protocol=shown.protocol)
    if table.empty:
        _none(shown, cell)
        return
    table = with_words(table, cell.task, shown.protocol)
    way = selection.bound(
        st.segmented_control,
        "Sentences",
        "turned_way",
        shown.view.page,
        options=list(_WAYS),
        required=True,
        format_func=_WAYS.__getitem__,
        resets={"turned_example": ""},
    )
    kept = table if way == "both" else table[table["turned"] == way]
    kept = kept.reset_index(drop=True)
    if kept.empty:
        st.info("No sentence turned this way.", icon=":material/info:")
        return
    _list(shown, changed, cell, kept)
    _one(shown, changed, cell, kept)


def _chosen(shown: Shown, changed: Changed) -> Cell:
    """The cell chosen by the link, the map or the menus; else the one that changed most."""
    own, page, table = shown.own, shown.view.page, changed.table
    usual = _usual(table)
    tasks = list(dict.fromkeys(table["task"]))
    task = own.turned_task if own.turned_task in tasks else usual["task"]
    cells = table[table["task"] == task]
    poolings = [pooling for pooling in POOLINGS if pooling in set(cells["pooling"])]
    of_task = _usual(cells)
    pooling = own.turned_pooling if own.turned_pooling in poolings else of_task["pooling"]
    layers = sorted(int(layer) for layer in cells.loc[cells["pooling"] == pooling, "layer"])
    layer = own.turned_layer if own.turned_layer in layers else int(_usual(cells[cells["pooling"] == pooling])["layer"])
    first_page = {"turned_example": ""}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        selection.bound(
            st.selectbox,
            "Task",
            "turned_task",
            page,
            value=task,
            options=tasks,
            format_func=shown.tasks.__getitem__,
            resets={**first_page, "turned_pooling": "", "turned_layer": None},
        )
        selection.bound(
            st.selectbox,
            "Vector",
            "turned_pooling",
            page,
            value=pooling,
            options=poolings,
            format_func=POOLING_NAMES.__getitem__,
            resets=first_page,
        )
        selection.bound(
            st.selectbox,
            "At layer",
            "turned_layer",
            page,
            value=layer,
            options=layers,
            resets=first_page,
            format_func=lambda layer: "0 (embeddings)" if layer == 0 else str(layer),
        )
    row = cells[(cells["pooling"] == pooling) & (cells["layer"] == layer)].iloc[0].to_dict()
    return Cell(task, pooling, layer, row)


def _usual(table: pd.DataFrame) -> dict:
    """The cell that changed most; ties go to the first token, then to the first cell."""
    ranked = table.assign(_size=-table["change"].abs(), _pooling=table["pooling"] != FIRST)
    return ranked.sort_values(["_size", "_pooling"], kind="stable").iloc[0].to_dict()


def _counts(shown: Shown, changed: Changed, cell: Cell) -> Markdown:
    row = cell.row
    said = filled(
        "{title}, {pooling}, layer {layer}: **{wrong} turned wrong** and **{right:,} turned right** from {base} to {model}: accuracy "
        "{before:.1f} % to {after:.1f} %, {change:+.1f} points ({low:+.1f} to {high:+.1f}).",
        title=shown.tasks[cell.task],
        pooling=POOLING_NAMES[cell.pooling],
        layer=cell.layer,
        wrong=count(int(row["only_base"]), "sentence"),
        right=int(row["only_tuned"]),
        base=shown.view.called(changed.base),
        model=shown.view.called(changed.model),
        before=row["base_accuracy"] * 100,
        after=row["accuracy"] * 100,
        change=row["change"] * 100,
        low=row["low"] * 100,
        high=row["high"] * 100,
    )
    control = (
        filled(" The control changes by {points:+.1f} points here.", points=row["control_change"] * 100)
        if pd.notna(row.get("control_change"))
        else Markdown("")
    )
    beside = filled("The majority baseline is {share:.1f} %.", share=majority_of(shown, cell.task) * 100)
    return joined_sentences(said, beside) + control


def _none(shown: Shown, cell: Cell) -> None:
    """Explains why no sentence is listed."""
    if not (cell.row["only_base"] or cell.row["only_tuned"]):
        st.info("Both probes are right on the same sentences.", icon=":material/info:")
        return
    st.info("These results store only counts, not the answers to single sentences.", icon=":material/info:")


def _list(shown: Shown, changed: Changed, cell: Cell, table: pd.DataFrame) -> None:
    keys = list(table["example"])
    key = f"sentence_probes.turned.{changed.model}.{cell.task}.{cell.pooling}.{cell.layer}.{shown.own.turned_way}"

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            selection.update(turned_example=keys[rows[0]])

    where = f"{shown.tasks[cell.task]}, {POOLING_NAMES[cell.pooling]}, layer {cell.layer}"
    top = pd.DataFrame(
        {
            "sentence": [named(row) for row in table.to_dict("records")],
            "turned": table["turned"],
            "label": table["gold"],
            "base said": table["base_said"],
            "fine-tuned said": table["tuned_said"],
        }
    )
    blocks.table_with_download(
        table,
        shown=top,
        name="sentence-turned",
        column_config=_HEADINGS,
        height=min(38 + 35 * len(top), 320),
        key=key,
        on_select=picked,
        selection_mode="single-row",
        stamp=shown.stamp(f"sentences that turned, {where}", (changed.model,)),
    )
    say_missing(table, cell.task, shown.source(cell.task))


def named(row: dict) -> str:
    """A sentence by its words, or by its hash if they are not available."""
    return str(row["text"]) if isinstance(row["text"], str) and row["text"] else f"text {row['example']}"


def _one(shown: Shown, changed: Changed, cell: Cell, table: pd.DataFrame) -> None:
    """The chosen sentence, and the link to Live."""
    chosen = table[table["example"] == shown.own.turned_example]
    row = (chosen if len(chosen) else table).iloc[0].to_dict()
    st.markdown(
        filled(
            "**{sentence}**  \nis {gold}; {base} predicted {before}, {model} predicts {after}.",
            sentence=named(row),
            gold=row["gold"],
            base=shown.view.called(changed.base),
            before=row["base_said"],
            model=shown.view.called(changed.model),
            after=row["tuned_said"],
        )
    )
    if isinstance(row["text"], str) and row["text"]:
        navigation.link("ask", "Ask this sentence", afresh=True, ask_view="sentence", whole=row["text"], live_model=changed.model)
