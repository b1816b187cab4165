"""Tables 1 to 5: task scores, changes of accuracy cell by cell, and settings, published and ours."""

import pandas as pd
import streamlit as st

from probing.reports.reproduction.sentences import tables as report
from probing.ui.reproduction.page_view import Shown, Table
from probing.ui.widgets.markdown import Markdown

_number, _text = st.column_config.NumberColumn, st.column_config.TextColumn
_NAMES, _TUNED = ("BERT", "RoBERTa", "ALBERT"), _text("fine-tuned on", pinned=True)


def _labelled(shown: Shown, table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(model=[shown.view.label(model) if model else "" for model in table["model"]])


def _called(shown: Shown, table: pd.DataFrame) -> pd.DataFrame:
    """The table with the names of poolings and groups of layers, and a word for cells that were not read."""
    cells = {name: [report.NOT_READ if pd.isna(value) else f"{value:+.2f}" for value in table[name]] for name in _NAMES}
    return report.called(table).assign(**cells)


TABLE_1 = Table(
    "scores",
    "table-1",
    "Table 1",
    heading=Markdown("## Table 1: task scores, per cent"),
    worded=_labelled,
    options={"height": "content"},
    columns={"tuned": _TUNED}
    | {name: _number(name, format="%.1f") for name in (*_NAMES, "ours")}
    | {report.TEST_SET: _number("Devlin (test set)", format="%.1f", help="BERT-base-cased on the test set, from the leaderboards.")}
    | {"low": _number("from", format="%.1f", help="95 % interval of ours."), "high": _number("to", format="%.1f")}
    | {"baseline": _number("to beat", format="%.1f"), "baseline_name": "baseline", "why": "empty because"},
    caption=Markdown(
        "Published numbers are on the development set, except Devlin's, which are on the test set and not comparable with the others. "
        "Ours are on the same development sets. A model whose score does not clearly beat its baseline was trained and did not learn."
    ),
)
TABLES_2_AND_5 = Table(
    "changes",
    "tables-2-and-5",
    "Tables 2 and 5",
    heading=Markdown("## Tables 2 and 5: change of accuracy, points"),
    worded=_called,
    options={"height": 560},
    columns={"tuned": _TUNED, "group": "layers", "why": "remark"}
    | {name: _text(name, alignment="right") for name in _NAMES}
    | {"ours": _number("ours", format="%+.2f"), "low": _number("from", format="%+.2f"), "high": _number("to", format="%+.2f")}
    | {"control": _number("control", format="%+.2f", help="A model that was trained further on its own text.")}
    | {"seed_low": _number("seeds from", format="%+.2f"), "seed_high": _number("seeds to", format="%+.2f")},
    caption=Markdown(
        "Change after fine-tuning, averaged over the layers 0 to half the depth, rounded down (the paper's 0 to 6 of 12), and over the "
        "rest. With CLS-pooling layer 0 is one vector for all sentences: its change is 0 and is part of the average, here as in the paper. "
        "Ends of the interval are the means of the layers' ends (Newcombe's, paired over the same sentences): the widest that any "
        "dependence between layers allows. Six cells of RoBERTa on coordination-inversion are in no certain order in the available "
        "text and are not used."
    ),
)
TABLE_3 = Table(
    "settings",
    "table-3",
    "Table 3",
    heading=Markdown("## Tables 3 and 4: settings and data of fine-tuning"),
    columns={"setting": _text("setting", pinned=True)},
    options={"height": "content"},
    caption=Markdown(
        "Ours are the defaults of `finetune`; an empty cell is a setting that `finetune` does not have. QA-SQuAD-1 has BERTnesia's."
    ),
)
TABLE_4 = Table(
    "data",
    "table-4",
    "Table 4",
    options={"height": "content"},
    columns={"tuned": "fine-tuned on", "training": "training, as printed", "validation": "development, as printed"},
)
TABLES = (TABLE_1, TABLES_2_AND_5, TABLE_3, TABLE_4)
