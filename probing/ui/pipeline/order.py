"""Which of two tasks a model solves earlier, and which of two models solves a task earlier."""

import pandas as pd
import streamlit as st

from probing.core.edges.order import UNRESOLVED
from probing.figures.edges.order_matrix import order_matrix
from probing.reports.edges.order import models_in_order
from probing.ui.frame import selection
from probing.ui.pipeline.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, count, filled, joined


def pairs_of(shown: Shown, model: str) -> pd.DataFrame:
    """The pairs of tasks of a model."""
    return shown.panels.order(model).rows


def model_of(shown: Shown) -> str:
    """The model whose tasks are put in order."""
    return shown.own.edge_model if shown.own.edge_model in shown.models else shown.models[0]


def draw(shown: Shown) -> None:
    """The square of tasks, and models against each other."""
    shown.view.contents.section("Which task comes first")
    model = model_of(shown)
    if len(shown.models) > 1:
        selection.bound(
            st.selectbox,
            "Tasks in the order of",
            "edge_model",
            shown.view.page,
            value=model,
            options=list(shown.models),
            format_func=shown.view.label,
        )
    pairs = pairs_of(shown, model)
    if pairs.empty:
        st.info("An order needs cumulative probes of at least two tasks.", icon=":material/info:")
        return
    st.markdown(sentence(shown, model, pairs))
    blocks.figure(
        drawing(order_matrix, pairs, titles=shown.tasks),
        table=pairs,
        stamp=shown.stamp(f"order of tasks, {shown.view.label(model)}"),
        name="pipeline-order",
        call=shown.call("tasks", model=model),
        caption=filled(
            "Blue, ◀: the task of the row has the earlier expected layer; orange, ▶: the later; ?: order not resolved. Intervals are "
            "over sentences and seeds, and simultaneous for all {pairs}.{pooled}",
            pairs=count(len(pairs), "pair"),
            pooled=" For a task with one seed the variation over seeds is that of the model's tasks with several."
            if pairs["pooled"].any()
            else "",
        ),
        alt="Square of tasks: whether the row's expected layer is earlier or later than the column's",
    )
    _models(shown)


def sentence(shown: Shown, model: str, pairs: pd.DataFrame) -> Markdown:
    """How many pairs have an order."""
    resolved = pairs[pairs["verdict"] != UNRESOLVED]
    called = shown.view.called(model)
    if resolved.empty:
        return filled(
            "**The order is not resolved**: for none of {pairs} of tasks do the expected layers of {model} lie clearly apart ({reasons}).",
            pairs=count(len(pairs), "pair"),
            model=called,
            reasons=_reasons(pairs),
        )
    if len(resolved) == len(pairs):
        return filled(
            "For **{pairs}** of tasks the expected layers of {model} lie clearly apart.", pairs=f"all {len(pairs)} pairs", model=called
        )
    return filled(
        "For **{resolved} of {pairs}** of tasks the expected layers of {model} lie clearly apart; the order of the others is not resolved "
        "({reasons}).",
        resolved=len(resolved),
        pairs=count(len(pairs), "pair"),
        model=called,
        reasons=_reasons(pairs),
    )


def _reasons(pairs: pd.DataFrame) -> Markdown:
    """Why orders are not resolved, with the number of pairs."""
    counted = pairs.loc[pairs["reason"] != "", "reason"].value_counts()
    return joined("; ", [filled("{n}: {reason}", n=int(n), reason=str(reason)) for reason, n in counted.items()])


def _models(shown: Shown) -> None:
    """The chosen models against each other, task by task."""
    if len(shown.models) < 2:
        return
    own = shown.own
    table = shown.report(models_in_order, shown.models, tuple(shown.tasks), part=own.edge_part, unseen=own.unseen)
    if table.empty:
        return
    resolved = int((table["verdict"] != UNRESOLVED).sum())
    st.markdown(
        filled(
            "Between models: for **{resolved} of {all}** (pairs of models, task by task) one model's expected layer, as a share of its "
            "depth, is clearly earlier{reasons}.",
            resolved=resolved,
            all=count(len(table), "comparison"),
            reasons=filled("; the others are not resolved ({reasons})", reasons=_reasons(table)) if resolved < len(table) else "",
        )
    )
    named = table.assign(
        task=table["task"].map(shown.tasks), first=table["first"].map(shown.view.label), second=table["second"].map(shown.view.label)
    )
    blocks.table_with_download(table, shown=named, stamp=shown.stamp("order of models by task"), name="pipeline-models")
