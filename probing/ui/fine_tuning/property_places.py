"""Where each property of the base's layers is read after fine-tuning."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.sentences.example import POOLINGS
from probing.core.sentences.fates import AS_BEFORE, BOUND, ELSEWHERE, FATES, NEW_READER, NOT_FOUND, SAME_LAYER, UNDECIDED
from probing.figures.sentences.fate_bars import fate_bars
from probing.figures.sentences.looks import POOLING_NAMES
from probing.reports.sentences.property_places import NO_PREDICTIONS, NOT_TRAINED, where_gone_shares
from probing.ui.choices.compare import CompareSelection
from probing.ui.fine_tuning.page_view import TRAIN_COMMAND, Shown
from probing.ui.frame import navigation, selection
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, filled, joined
from probing.ui.widgets.paper.calls import plot

#: Fate -> its meaning, in the order in which fates are tested.
MEANS = {
    AS_BEFORE: "the base's probe holds on the fine-tuned model, unchanged",
    NEW_READER: "a new probe of the same layer holds: a linear one, or a small neural network",
    ELSEWHERE: "the probe of the mean of all tokens of this layer holds what the base's first token had, or the probe of the layer that is "
    "best on the development part holds",
    NOT_FOUND: "every one of these probes is worse than the base's was, though perhaps above guessing; another kind of probe may read it "
    "as well",
    UNDECIDED: "no probe holds, and the test sentences are too few to say that all have lost it",
}
#: Step -> the name of its probe.
_STEPS = {
    "frozen": "the base's probe, unchanged",
    "own": "the own probe",
    "mlp": "the neural probe",
    "mean": "the own probe of the mean of tokens",
    "best": "the own probe of the best layer",
}
_ACCURACIES = {
    "base_accuracy": "base's probe on the base",
    "frozen": "base's probe, unchanged",
    "own": "own probe",
    "mlp": "neural",
    "mean": "own, mean of tokens",
    "best": "own, best layer",
    "majority": "majority label",
}


_COLOURS = (
    "Blue and green: a probe of the same layer and vector holds: it is above the majority label, and worse than the base's by less than "
    f"{-100 * BOUND:.0f} points; orange: only another probe holds; hatched: every probe has lost it; grey: undecided."
)


def where(shown: Shown) -> Markdown:
    """Of how many cells a probe still reads what it read in the base, with the same of the control; empty without fates."""
    counts = shown.fates
    if counts.empty:
        return Markdown("")
    return filled(
        "Where its base's probes read a property, a probe of the same layer reads it about as well in **{kept} of {n}** cases{control}.",
        kept=int(counts["fate"].isin(SAME_LAYER).sum()),
        n=len(counts),
        control=_of_control(shown),
    )


def _of_control(shown: Shown) -> Markdown:
    """The same of the control, which shows how much changes without a task."""
    shares = _together(shown)
    control_shares = shares[shares["model"] == shown.control]
    if control_shares.empty:
        return Markdown("; no control is stored") if shown.model not in shown.controls else Markdown("")
    kept = int(control_shares.loc[control_shares["fate"].isin(SAME_LAYER), "cells"].sum())
    return filled("; of the control's, in {kept} of {n}", kept=kept, n=int(control_shares["cells"].sum()))


def _together(shown: Shown) -> pd.DataFrame:
    """The shares of fates of the model and, if there is one, of its control, by vector."""
    models = (shown.model, *([shown.control] if shown.control else []))
    return shown.read(where_gone_shares, models=models, protocol=shown.protocol, by=("pooling",))


def draw_first(shown: Shown) -> None:
    """All tasks together, one bar per vector of the model and of its control."""
    shares = _together(shown)
    ordered = shares.assign(task=shares["model"]).sort_values("model", key=lambda one: one != shown.model, kind="stable")
    blocks.figure(
        drawing(fate_bars, ordered, titles={model: shown.view.label(model) for model in ordered["model"]}),
        table=shares,
        stamp=shown.stamp("where properties are read, all tasks together"),
        name="where-gone-first",
        caption=filled("Numbers count layers of tasks. {colours}", colours=_COLOURS),
        alt="Share of each fate by vector, of the model and of its control",
    )


def draw(shown: Shown) -> None:
    """The bars task by task, the five fates, and the table of cells with the link to their sentences."""
    counts = shown.fates
    if counts.empty:
        if shown.gone.empty:
            called = shown.view.called(shown.model)
            blocks.missing(filled("No sentence probes of {model} and its base are stored.", model=called), f"{TRAIN_COMMAND} {shown.model}")
        _lacking(shown)
        return
    shares = shown.read(where_gone_shares, models=(shown.model,), protocol=shown.protocol, by=("task", "pooling"))
    blocks.figure(
        drawing(fate_bars, shares, titles=shown.titles),
        table=shares,
        stamp=shown.stamp("where properties are read"),
        name="where-gone",
        call=plot("sentences", "where-gone", model=shown.model, protocol=shown.protocol),
        caption=filled("Where each property is read after fine-tuning. Numbers count layers. {colours}", colours=_COLOURS),
        alt="Share of each fate by task and vector",
    )
    _lacking(shown)
    with st.expander("The five fates", icon=":material/route:"):
        st.markdown(joined("\n\n", [_rule(), joined("\n", [filled("- **{fate}**: {words}", fate=f, words=w) for f, w in MEANS.items()])]))
    _cells(shown, counts.reset_index(drop=True))


def _rule() -> Markdown:
    """How a cell's fate is decided."""
    return filled(
        "Each cell is a task, a vector and a layer at which the base's probe beats the majority label. Its fate is the first in the "
        "list below whose probe holds. A probe is compared with the base's own probe of the cell: it holds if it beats the majority label, "
        "too, and over the whole of Newcombe's interval is worse by less than {points:.0f} points; it has lost if it does not hold and "
        "the whole interval is below 0.",
        points=-100 * BOUND,
    )


def _lacking(shown: Shown) -> None:
    """Tasks without fates, and the command that trains their probes again."""
    if shown.gone.empty:
        return
    lacking = {why: dict.fromkeys(shown.gone.loc[shown.gone["why"] == why, "task"]) for why in (NO_PREDICTIONS, NOT_TRAINED)}
    for why, missing in lacking.items():
        if missing:
            tasks = ", ".join(shown.titles.get(one, one) for one in missing)
            st.caption(filled("No fates of {tasks}: {why}. To train the probes again:", tasks=tasks, why=why))
            st.code(f"{TRAIN_COMMAND} {shown.model}", language="shell", wrap_lines=True)


def _cells(shown: Shown, cells: pd.DataFrame) -> None:
    # What no probe of the cell reads comes first: these rows need an explanation.
    order = (NOT_FOUND, ELSEWHERE, UNDECIDED, *SAME_LAYER)
    cells = (
        cells.assign(_fate=cells["fate"].map(order.index))
        .sort_values(["_fate", "task", "pooling", "layer"], kind="stable")
        .drop(columns="_fate")
    )
    cells = cells.reset_index(drop=True)
    keys = list(cells[["task", "pooling", "layer"]].itertuples(index=False, name=None))
    key = f"fine_tuning.gone.{shown.model}"

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            task, pooling, layer = keys[rows[0]]
            selection.update(gone_task=task, gone_pooling=pooling, gone_layer=int(layer))

    top = pd.DataFrame(
        {"property": cells["task"].map(lambda one: shown.titles.get(one, one)), "vector": cells["pooling"].map(POOLING_NAMES)}
        | {"layer": cells["layer"], "fate": cells["fate"]}
        | {words: cells[name] for name, words in _ACCURACIES.items()}
    )
    blocks.table_with_download(
        cells,
        shown=top,
        name="where-gone-cells",
        height=min(38 + 35 * len(top), 320),
        key=key,
        on_select=picked,
        selection_mode="single-row",
        stamp=shown.stamp("fates of properties"),
        column_config={
            "property": st.column_config.TextColumn(pinned=True),
            **{words: st.column_config.NumberColumn(words, format="percent") for words in _ACCURACIES.values()},
        },
    )
    _one(shown, cells)


def _one(shown: Shown, cells: pd.DataFrame) -> None:
    """The chosen cell in words, and the link to its sentences."""
    own = selection.of(CompareSelection)
    chosen = cells[(cells["task"] == own.gone_task) & (cells["pooling"] == own.gone_pooling) & (cells["layer"] == own.gone_layer)]
    row = (chosen if len(chosen) else cells).iloc[0].to_dict()
    st.markdown(
        filled(
            "**{title}, {pooling}, layer {layer}: {fate}**: {words}. {needed}The base's probe had {before:.1f} % right, the model's own "
            "has {after:.1f} % (majority baseline {majority:.1f} %).",
            title=shown.titles.get(row["task"], row["task"]),
            pooling=POOLING_NAMES[row["pooling"]],
            layer=int(row["layer"]),
            fate=row["fate"],
            words=MEANS[row["fate"]],
            needed=_needed(row),
            before=row["base_accuracy"] * 100,
            after=row["own"] * 100,
            majority=row["majority"] * 100,
        )
    )
    navigation.link(
        "sentence_probes",
        "The sentences of this cell that turned right or wrong",
        tuned_model=shown.model,
        turned_task=row["task"],
        turned_pooling=row["pooling"],
        turned_layer=int(row["layer"]),
        turned_example="",
        sentence_protocol="" if shown.protocol == "ours" else shown.protocol,
    )


def _needed(row: Mapping[Hashable, Any]) -> str:
    """How many test sentences an undecided fate would take."""
    if not row["undecided"]:
        return ""
    step, needed = _STEPS[row["undecided"]], int(row["needed"])
    if needed > row["n_test"]:
        return f"It would take about {needed:,} test sentences for {step}; there are {row['n_test']:,}. "
    # The sentences suffice for the bound.
    return f"Either {step} is worse by 0 to {-100 * BOUND:.0f} points, or it is not surely above the majority label. "


assert set(MEANS) == set(FATES) and set(POOLINGS) == set(POOLING_NAMES)
