"""The tables of the papers, published and ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from probing.forgetting.ways import AS_IN_BASE, MOVED
from probing.kernel.app import blocks
from probing.kernel.app.texts import escape
from probing.kernel.figures.looks import set_name
from probing.papers.bertnesia import NOT_PUBLISHED
from probing.papers.edge_probing import CALLED
from probing.papers.interplay import NOT_READ, TEST_SET, called
from probing.papers.page_figures import PaperView, labels

#: The text of a cell that was not published; the CSV has the words.
NONE = "none"
_number, _text = st.column_config.NumberColumn, st.column_config.TextColumn
_ENCODERS = ("BERT", "RoBERTa", "ALBERT")


@dataclass(frozen=True)
class Table:
    """A table of ``Reproduction.tables``.

    ``columns`` are shown, the file has all; ``caption`` has at most two lines; ``worded`` gives the table for the page.
    """

    name: str
    title: str
    columns: Mapping[str, Any]
    caption: str = ""
    worded: Callable[[PaperView, pd.DataFrame], pd.DataFrame] = lambda paper_view, table: table
    height: int | str = "content"

    def draw(self, paper_view: PaperView) -> None:
        """Draws it; a table of ours without stored results is left out, as the top of the page states that."""
        if self.name not in paper_view.found.tables:
            return
        st.header(escape(self.title))
        table = paper_view.found.tables[self.name]
        blocks.table_with_download(
            table,
            shown=self.worded(paper_view, table),
            stamp=paper_view.stamp(self.title),
            name=f"{paper_view.paper.name}-{self.name}",
            column_config=dict(self.columns),
            column_order=[name for name in self.columns if name in table] or None,
            height=self.height,
        )
        if self.caption:
            st.caption(escape(self.caption))


def _facts(paper_view: PaperView, table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(ours=table["ours"].map(set_name))


def _briefly(paper_view: PaperView, table: pd.DataFrame) -> pd.DataFrame:
    """Table 2 or 3 with the marks of our models and short words; shares are per cent, and two of them are one text."""
    brief = _labelled(paper_view, table).assign(published=table["published"].replace(NOT_PUBLISHED, NONE))
    if "authors" in brief:
        per_cent = [share if share == NONE else f"{100 * float(share):.0f}" for share in brief["published"]]
        brief = brief.assign(published=per_cent, authors=100 * brief["authors"])
    for shares in (("last_micro", "total_micro"), ("last_macro", "total_macro"), ("inner_own", "inner_swapped")):
        if set(shares) <= set(table):
            brief[shares[0]] = [_both(*pair) for pair in zip(*(table[share] for share in shares), strict=True)]
    return brief


def _both(first: float, second: float) -> str | None:
    return f"{first:.1f} / {second:.1f}" if pd.notna(first) and pd.notna(second) else None


def _called(paper_view: PaperView, table: pd.DataFrame) -> pd.DataFrame:
    """A table of edge probing with readable names of tasks and encoders."""
    table = table.assign(task=table["task"].map(CALLED))
    return table.assign(encoder=table["encoder"].map(labels(paper_view))) if "encoder" in table else table


def _labelled(paper_view: PaperView, table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(model=[paper_view.view.label(model) if model else "" for model in table["model"]])


def _outcomes(paper_view: PaperView, table: pd.DataFrame) -> pd.DataFrame:
    """One row per model, one column per outcome."""
    wide = table.pivot(index="model", columns="part", values="per_100")[list(dict.fromkeys(table["part"]))].round(1)
    # In whole they are cut at the usual widths of windows.
    wide = wide.rename(columns={AS_IN_BASE: "a layer, as in base", MOVED: "a new layer"})
    return (
        wide.sort_values(wide.columns[0])
        .reset_index()
        .assign(model=lambda rows: rows["model"].map(paper_view.view.label))
    )


def _changes(paper_view: PaperView, table: pd.DataFrame) -> pd.DataFrame:
    """The changes with names of poolings and groups of layers, and a word for cells that were not read."""
    cells = {name: [NOT_READ if pd.isna(value) else f"{value:+.2f}" for value in table[name]] for name in _ENCODERS}
    return called(table).assign(**cells)


_ROW, _TASK, _TUNED = (
    _text("model, paper", pinned=True),
    _text("task", pinned=True),
    _text("fine-tuned on", pinned=True),
)
_POINTS = {
    "ours": "ours",
    "low": "from",
    "high": "to",
    "control": "control",
    "seed_low": "seeds from",
    "seed_high": "seeds to",
}
TABLES: Mapping[str, tuple[Table, ...]] = {
    "bertnesia": (
        Table(
            "table-3",
            "Table 3: right first answers at the last layer / at any layer, % (P@1)",
            {"row": _ROW, "model": "model, here", "probe_set": "probe set", "published": "paper", "last_micro": "here"}
            | {
                "majority_micro": _number("here: commonest answer", format="%.1f"),
                "inner_own": "here: inner layers, own / other name",
            }
            | {"last_macro": "here: mean of relations", "comparable": "comparable?"},
            "Here: over facts (micro), as the published table probably is. Other sentences are other facts. none: not"
            " published.",
            _briefly,
            320,
        ),
        Table(
            "table-2",
            "Table 2: T-REx relations that are better inside than at the last layer",
            {
                "row": _ROW,
                "model": "model, here",
                "k": "P@k",
                "published": "paper, %",
                "authors": _number("here, %", format="%.0f"),
            }
            | {
                "published_count": "paper: number",
                "authors_count": "here: number",
                "caption_count": "here: any difference",
            }
            | {"strict_count": "here: clear difference", "relations": "here: of relations"},
            "Number: by the authors' code. Any: some inner layer knows more. Clear: by 2 % of the facts and McNemar's"
            " test. none: not published.",
            _briefly,
            285,
        ),
        Table(
            "table-1",
            "Table 1: facts",
            {
                "probe_set": _text("probe set", pinned=True),
                "part": "part",
                "published_facts": "paper: facts",
                "probed": "here: facts",
            }
            | {
                "read": "here: read",
                "published_relations": "paper: relations",
                "relations": "here: relations",
                "ours": "here: from",
            }
            | {"comparable": "comparable?", "left_out": "here: left out, by reason"},
            "Read: those asked and those left out, because the answer is several tokens. Our sentences stand for"
            " ConceptNet and SQuAD.",
            _facts,
        ),
    ),
    "edge-probing": (
        Table(
            "scores",
            "F1 by layer, %",
            {"task": _TASK, "encoder": "encoder", **{f"P({layer})": _number(format="%.2f") for layer in range(25)}},
            "Micro F1 on the development part. P(l) reads layers 0 to l. The published numbers are from the authors'"
            " notebook.",
            _called,
            390,
        ),
        Table(
            "data",
            "Training data",
            {
                "task": _TASK,
                "published_data": "paper: data",
                "published_targets": "paper: targets",
                "published_labels": "paper: labels",
            }
            | {"source": "here: data", "targets": "here: targets", "labels": "here: labels"},
            "Relations: the same data. Dependencies: a later version. The paper's other data need a licence; give them"
            " in jiant's format.",
            _called,
        ),
    ),
    "interplay": (
        Table(
            "scores",
            "Table 1: task scores, %",
            {"tuned": _TUNED, **{name: _number(name, format="%.1f") for name in (*_ENCODERS, "ours")}}
            | {"low": _number("from", format="%.1f"), "high": _number("to", format="%.1f")}
            | {
                "baseline": _number("to beat", format="%.1f"),
                "baseline_name": "baseline",
                "metric": "score",
                "model": "model here",
            }
            | {TEST_SET: _number("Devlin (test set)", format="%.1f"), "why": "empty because"},
            "On the development sets, except Devlin's, whose numbers are on the test set and not comparable.",
            _labelled,
        ),
        Table(
            "changes",
            "Tables 2 and 5: change of accuracy, points",
            {"tuned": _TUNED, "task": "task", "pooling": "pooling", "group": "layers"}
            | {name: _text(name, alignment="right") for name in _ENCODERS}
            | {name: _number(heading, format="%+.2f") for name, heading in _POINTS.items()}
            | {"why": "remark"},
            "Means over the lower and the upper half of the layers, with the widest 95 % interval. not read: six cells"
            " of uncertain order.",
            _changes,
            320,
        ),
        Table(
            "settings",
            "Table 3: settings of fine-tuning",
            {},
            "Ours are the defaults of finetune; an empty cell is a setting that it does not have.",
            height=250,
        ),
        Table(
            "data",
            "Table 4: data of fine-tuning",
            {"tuned": "fine-tuned on", "training": "training, as printed", "validation": "development, as printed"},
        ),
    ),
    "forgetting": (
        Table(
            "outcome",
            "Of 100 facts that the base knew",
            {},
            "Kept, the first way that brings it back, or not recovered. Guesses come back by these ways, too.",
            _outcomes,
        ),
    ),
}
