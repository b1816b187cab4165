"""Tables 1 to 5: task scores, changes of accuracy cell by cell, and settings, published and ours."""

import streamlit as st

from probing.reports.reproduction.sentences import tables as report
from probing.ui.reproduction.sentences.shown import Shown, published
from probing.ui.widgets import blocks


def draw(shown: Shown) -> None:
    """The three tables, and how to read them."""
    _scores(shown)
    _changes(shown)
    _settings(shown)


def _names() -> list[str]:
    return [model.name for model in published().models]


def _scores(shown: Shown) -> None:
    st.markdown("## Table 1: task scores, per cent")
    table = shown.laid.scores
    number = st.column_config.NumberColumn
    model = {name: shown.view.label(name) for name in table["model"] if name}
    blocks.table_with_download(
        table, shown=table.assign(model=table["model"].map(model).fillna("")), stamp=shown.stamp("Table 1"), name="interplay-table-1",
        height="content",
        column_config={"tuned": st.column_config.TextColumn("fine-tuned on", pinned=True)}
        | {name: number(name, format="%.1f") for name in (*_names(), "ours")}
        | {report.TEST_SET: number("Devlin (test set)", format="%.1f", help="BERT-base-cased on the test set, from the leaderboards.")}
        | {"low": number("from", format="%.1f", help="95 % interval of ours."), "high": number("to", format="%.1f")}
        | {"baseline": number("to beat", format="%.1f"), "baseline_name": "baseline", "why": "empty because"},
    )  # fmt: skip
    st.caption(
        "Published numbers are on the development set, except Devlin's, which are on the test set and not comparable with the others. "
        "Ours are on the same development sets. A model whose score does not clearly beat its baseline was trained and did not learn: "
        "no claim about its task is judged on it."
    )


def _changes(shown: Shown) -> None:
    st.markdown("## Tables 2 and 5: change of accuracy, points")
    table = shown.laid.changes
    number = st.column_config.NumberColumn
    named = report.called(table)
    for name in _names():
        named[name] = [report.NOT_READ if value != value else f"{value:+.2f}" for value in table[name]]
    blocks.table_with_download(
        table, shown=named, stamp=shown.stamp("Tables 2 and 5"), name="interplay-tables-2-and-5", height=560,
        column_config={"tuned": st.column_config.TextColumn("fine-tuned on", pinned=True), "group": "layers", "why": "remark"}
        | {name: st.column_config.TextColumn(name, alignment="right") for name in _names()}
        | {"ours": number("ours", format="%+.2f"), "low": number("from", format="%+.2f"), "high": number("to", format="%+.2f")}
        | {"control": number("control", format="%+.2f", help="A model that was trained further on its own text.")}
        | {"seed_low": number("seeds from", format="%+.2f"), "seed_high": number("seeds to", format="%+.2f")},
    )  # fmt: skip
    st.caption(
        "Change after fine-tuning, averaged over the layers 0 to half the depth, rounded down (the paper's 0 to 6 of 12), and over the "
        "rest. With CLS-pooling layer 0 is one vector for all sentences: its change is 0 and is part of the average, here as in the paper. "
        "Ends of the interval are the means of the layers' ends (Newcombe's, paired over the same sentences): the widest that any "
        "dependence between layers allows. Six cells of RoBERTa on coordination-inversion are in no certain order in the available text "
        "and are not used."
    )


def _settings(shown: Shown) -> None:
    st.markdown("## Tables 3 and 4: settings and data of fine-tuning")
    blocks.table_with_download(
        shown.laid.settings, stamp=shown.stamp("Table 3"), name="interplay-table-3", height="content",
        column_config={"setting": st.column_config.TextColumn("setting", pinned=True)},
    )  # fmt: skip
    st.caption("Ours are the defaults of `finetune`; an empty cell is a setting that `finetune` does not have. QA-SQuAD-1 has BERTnesia's.")
    blocks.table_with_download(
        shown.laid.data, stamp=shown.stamp("Table 4"), name="interplay-table-4", height="content",
        column_config={"tuned": "fine-tuned on", "training": "training, as printed", "validation": "development, as printed"},
    )  # fmt: skip
