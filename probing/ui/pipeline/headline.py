"""The page's answer, first: what comes early and late, and how much the layers add."""

import pandas as pd
import streamlit as st

from probing.core.edges.order import UNRESOLVED
from probing.ui.pipeline import order
from probing.ui.pipeline.shown import Shown
from probing.ui.widgets.markdown import Markdown, filled, joined


def draw(shown: Shown) -> None:
    """Order of the first model's tasks, and the task that gains most, beside its yardsticks."""
    table = shown.summary
    model = order.model_of(shown)
    mine = table[table["model"] == model].dropna(subset=["f1_last"])
    if mine.empty:
        return
    st.markdown(joined(" ", [_order(shown, model, mine), _gain(shown, model, mine)]))
    st.markdown(
        "The probes were stopped by the dev part, as in the paper, so its F1s are a little too good; the test part stands beside it in the "
        "table."
        if shown.own.edge_part == "dev"
        else "The test part took no part in training or stopping."
    )


def _order(shown: Shown, model: str, mine: pd.DataFrame) -> Markdown:
    """The earliest and the latest task, where their order is resolved."""
    found = mine.dropna(subset=["expected_layer"]).sort_values("expected_layer")
    called = shown.view.called(model)
    if len(found) < 2:
        return filled(
            "**{model} resolves no order of tasks**: fewer than two tasks gain clearly from its layers.", model=called,
        )  # fmt: skip
    first, last = found.iloc[0].to_dict(), found.iloc[-1].to_dict()
    pairs = order.pairs_of(shown, model)
    apart = pairs[
        (pairs["verdict"] != UNRESOLVED)
        & pairs["first"].isin([first["task"], last["task"]])
        & pairs["second"].isin([first["task"], last["task"]])
    ]
    ends = filled(
        "{first} at {one} and {last} at {other}",
        first=_title(shown, first),
        one=_layer(first),
        last=_title(shown, last),
        other=_layer(last),
    )
    if apart.empty:
        return filled(
            "**The order of the tasks is not resolved** for {model}: even the earliest and the latest, {ends}, do not lie clearly apart.",
            model=called, ends=ends,
        )  # fmt: skip
    return filled(
        "**{first} comes first and {last} last** of the {n} tasks that {model} resolves: expected layers are {ends} of {depth}.",
        model=called, ends=ends,
        first=_title(shown, first).capitalize(), last=_title(shown, last), depth=int(first["last"]), n=len(found),
    )  # fmt: skip


def _title(shown: Shown, row: dict) -> str:
    title = shown.tasks[row["task"]]
    return title if title.isupper() else title[:1].lower() + title[1:]


def _layer(row: dict) -> Markdown:
    if pd.isna(row["expected_layer_low"]):
        return filled("layer {value:.1f}", value=row["expected_layer"])
    return filled(
        "layer {value:.1f} ({low:.1f} to {high:.1f})", value=row["expected_layer"], low=row["expected_layer_low"],
        high=row["expected_layer_high"],
    )  # fmt: skip


def _gain(shown: Shown, model: str, mine: pd.DataFrame) -> Markdown:
    """The task that gains most from the layers, with what memory, the majority label and a random encoder reach."""
    row = mine.iloc[int((mine["f1_last"] - mine["f1_first"]).argmax())].to_dict()
    yardsticks = [
        filled("{name} {share:.1f} %", name=name, share=row[column] * 100)
        for column, name in (("memory", "the memory baseline"), ("majority", "one label for all"), ("random", "a random encoder"))
        if pd.notna(row.get(column))
    ]  # fmt: skip
    said = filled(
        "Most is gained for {task}: from word embeddings alone to all layers F1 rises from **{first:.1f} %** to **{last:.1f} %**",
        task=_title(shown, row), first=row["f1_first"] * 100, last=row["f1_last"] * 100,
    )  # fmt: skip
    if not yardsticks:
        return filled("{said}; no baseline is stored.", said=said)
    return filled("{said}; beside it {yardsticks} (baselines).", said=said, yardsticks=joined(", ", yardsticks))
