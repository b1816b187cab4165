"""The sentences behind a change: those that turned right or wrong from the base to the fine-tuned model."""

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from probing.changes.page_beyond_sentence_words import say_missing, with_words
from probing.choices_compare import WAYS, CompareSelection
from probing.kernel.app import blocks, selection
from probing.kernel.app.selection import open_later
from probing.kernel.app.texts import filled
from probing.sentences.examples import FIRST, POOLINGS
from probing.sentences.figures import POOLING_NAMES
from probing.sentences.report_changes import turned_sentences
from probing.sentences.store import sentence_runs, sentence_tasks

if TYPE_CHECKING:
    from probing.changes.page_beyond import TuningView

_WAYS = dict(zip(WAYS, ("both", "turned wrong", "turned right"), strict=True))


def stored(tuning_view: "TuningView") -> bool:
    """Whether single sentences of the model are stored, and not counts alone."""
    runs = tuning_view.read(sentence_runs)
    return bool(runs.loc[runs["model"] == tuning_view.model, "answered"].astype(bool).any())


def draw(tuning_view: "TuningView", table: pd.DataFrame) -> None:
    """The choice of a cell, and the list of its sentences; the table is of ``accuracy_changes.changes``."""
    st.header("Sentences that turned right or wrong")
    task, pooling, layer, way = _chosen(tuning_view, table)
    sentences = tuning_view.read(
        turned_sentences, tuning_view.model, task, pooling, layer, protocol=tuning_view.protocol
    )
    if sentences.empty:
        st.info("Both probes are right on the same sentences.", icon=":material/info:")
        return
    sentences = with_words(
        sentences if way == "both" else sentences[sentences["turned"] == way], task, tuning_view.protocol
    )
    readable = sentences[sentences["text"].notna() & (sentences["text"] != "")].reset_index(drop=True)
    if len(readable) < len(sentences):
        sources = tuning_view.read(sentence_tasks).set_index("task")["source"]
        say_missing(task, str(sources.get(task, "")))
    elif sentences.empty:
        st.info("No sentence turned this way.", icon=":material/info:")
    if len(readable):
        _list(tuning_view, readable, f"{tuning_view.titles[task]}, {POOLING_NAMES[pooling]}, layer {layer}")


def _chosen(tuning_view: "TuningView", table: pd.DataFrame) -> tuple[str, str, int, str]:
    """The cell of the link, the map or the menus, else that of the largest change (ties: first token); and the way."""
    own, page = selection.of(CompareSelection), tuning_view.view.page
    ranked = table.assign(_size=-table["change"].abs(), _pooling=table["pooling"] != FIRST)
    ranked = ranked.sort_values(["_size", "_pooling"], kind="stable")
    tasks = list(dict.fromkeys(table["task"]))
    task = own.gone_task if own.gone_task in tasks else ranked["task"].iloc[0]
    ranked = ranked[ranked["task"] == task]
    poolings = [pooling for pooling in POOLINGS if pooling in set(ranked["pooling"])]
    pooling = own.gone_pooling if own.gone_pooling in poolings else ranked["pooling"].iloc[0]
    ranked = ranked[ranked["pooling"] == pooling]
    layers = sorted(ranked["layer"].astype(int))
    wish = own.gone_layer
    layer = int(ranked["layer"].iloc[0]) if wish is None or wish not in layers else wish
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        resets = {"gone_pooling": "", "gone_layer": None}
        selection.bound(
            st.selectbox,
            "Property",
            "gone_task",
            page,
            value=task,
            options=tasks,
            format_func=tuning_view.titles.__getitem__,
            resets=resets,
        )
        selection.bound(
            st.selectbox,
            "Read from",
            "gone_pooling",
            page,
            value=pooling,
            options=poolings,
            format_func=POOLING_NAMES.__getitem__,
        )
        selection.bound(st.selectbox, "Layer", "gone_layer", page, value=layer, options=layers)
        way = selection.bound(
            st.segmented_control,
            "Sentences",
            "turned_way",
            page,
            options=list(WAYS),
            required=True,
            format_func=_WAYS.__getitem__,
        )
    return str(task), str(pooling), layer, way


def _list(tuning_view: "TuningView", table: pd.DataFrame, where: str) -> None:
    """The sentences; a row opens the page that asks the model."""
    key = f"compare.turned.{tuning_view.model}.{where}"

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            text = str(table["text"].iloc[rows[0]])
            open_later("ask", afresh=True, ask_view="sentence", whole=text, live_model=tuning_view.model)

    top = table[["text", "turned", "gold", "base_said", "tuned_said"]].set_axis(
        [
            "sentence",
            "turned",
            "right",
            tuning_view.view.label(tuning_view.base),
            tuning_view.view.label(tuning_view.model),
        ],
        axis="columns",
    )
    blocks.table_with_download(
        table,
        shown=top,
        name="sentence-turned",
        column_config={"sentence": st.column_config.TextColumn(width="large")},
        height=min(38 + 35 * len(top), 320),
        key=key,
        on_select=picked,
        selection_mode="single-row",
        stamp=tuning_view.stamp(f"sentences that turned, {where}"),
    )
    st.caption(filled("Select a sentence to ask {model} about it.", model=tuning_view.view.name(tuning_view.model)))
