"""The compare page's other views: kinds of answer by layer, weights and tasks, and early exit."""

import pandas as pd
import streamlit as st

from probing.core.knowledge.answer_types import KIND_LABELS, KINDS
from probing.figures.knowledge.answer_shares import answer_shares
from probing.figures.knowledge.weight_lines import drift_against_loss, weight_lines
from probing.reports.knowledge.answer_drift import answer_drift
from probing.reports.knowledge.drift_and_loss import drift_and_loss
from probing.reports.knowledge.early_exit import early_exit
from probing.reports.knowledge.transitions import transitions
from probing.reports.task_success import scores as task_scores
from probing.store.knowledge.forgetting_queries import weight_drift
from probing.ui.compare.flow import IN_THE_TABLE, family, of_other_tasks
from probing.ui.compare.model_pair import Pair, family_stamp
from probing.ui.frame import yardsticks
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.task_marks import marks_once, task_table


def draw_answers(view: View, pair: Pair) -> None:
    """What kind of token each layer ranks first, for both models."""
    table = view.report(answer_drift, pair.run_ids)
    if table.empty:
        return
    view.contents.section("What they answer instead")
    blocks.figure(
        drawing(
            answer_shares,
            table,
            kinds=KINDS,
            names=KIND_LABELS,
            models=(pair.base["model"], pair.model["model"]),
            labels=yardsticks.labels(view),
        ),
        table=table,
        stamp=pair.stamp(view, "kinds of top-ranked tokens by layer"),
        name="answer-kinds",
        caption="The token that a layer ranks first for a fact counts as the first kind that fits, from bottom to top. “Right” is P@1 over "
        "facts. "
        f"{marks_once(view, (pair.base['model'], pair.model['model']))}",
        alt="Share of each kind of top-ranked token by layer, for both models",
    )


def draw_weights(view: View, pair: Pair) -> None:
    """How far the weights moved, the facts that were lost, and the task scores that were gained."""
    together = family(view, pair)
    models = tuple(together["model"]) or (pair.model["model"],)
    drift, tasks = view.read(weight_drift, models), view.read(task_scores, models)
    if drift.empty and tasks.empty:
        return
    view.contents.section("Weights and tasks")
    if len(drift):
        _weights(view, pair, drift, together)
    if len(tasks):
        st.markdown(
            "What the models were fine-tuned for: the task score with its 95 % interval, and the baseline that it has to beat. Losses "
            "of a model that did not learn its task say nothing about the task."
        )
        task_table(tasks, view.label, stamp=_stamp(view, pair, together, "task scores"), name="tasks")


def _stamp(view: View, pair: Pair, together: pd.DataFrame, what: str) -> Stamp:
    return pair.stamp(view, what) if together.empty else family_stamp(view, pair, together, what)


def _weights(view: View, pair: Pair, drift: pd.DataFrame, together: pd.DataFrame) -> None:
    k = view.chosen.k
    drawn = drift[~drift["model"].isin(of_other_tasks(view, pair))]
    left, right = st.columns([3, 2])
    with left:
        blocks.figure(
            drawing(weight_lines, drawn, colours=view.colours, labels=yardsticks.labels(view), controls=view.controls),
            table=drift,
            stamp=_stamp(view, pair, together, "weight drift by layer"),
            name="weight-drift",
            caption="How far each layer's weights moved, in per cent of their norm in the base. "
            f"{IN_THE_TABLE} {marks_once(view, drawn['model'])}",
            alt="Relative change of weights by layer and model",
        )
    if together.empty:
        return
    lost = view.report(transitions, together, (k,))
    points = drift_and_loss(drift, lost)
    with right:
        if points.empty:
            st.markdown(
                "Through these heads the models' answers are not stored fact by fact, so drift cannot be drawn against the share of facts "
                "that were lost."
            )
            return
        blocks.figure(
            drawing(drift_against_loss, points, k=k, colours=view.colours, labels=yardsticks.labels(view)),
            table=points,
            stamp=_stamp(view, pair, together, f"weight drift and loss, rank ≤ {k}"),
            name="drift-loss",
            caption="Did the models that moved most forget most? Vertical: share of the base's facts that were lost. With so few points "
            "this is a hint, not evidence. "
            f"{marks_once(view, points['model'])}",
            alt="Mean change of weights against share of facts lost, one point per model",
        )


def draw_early_exit(view: View, pair: Pair) -> None:
    """Whether reading each relation at its best layer helps; the layer is chosen on other facts than those scored."""
    table = view.report(early_exit, pair.run_ids, view.chosen.k)
    if table.empty:
        return
    view.contents.section("Early exit")
    st.markdown(
        "If each relation were read at its best layer, how much would be known? The layer is chosen on one half of the facts and scored on "
        "the other. “Union” counts a fact that any layer knows: no reader could do that."
    )
    percent = {
        name: st.column_config.NumberColumn(name.replace("_", " "), format="percent") for name in ("last_layer", "early_exit", "union")
    }
    percent |= {
        name: st.column_config.NumberColumn(heading, format="points")
        for name, heading in (("difference", "difference, points"), ("low", "low"), ("high", "high"))
    }
    shown = table.drop(columns=["run_id", "head", "probe_set", "k"])
    blocks.table_with_download(
        shown,
        shown=shown.assign(model=shown["model"].map(view.label)),
        stamp=pair.stamp(view, f"early exit, rank ≤ {view.chosen.k}, micro"),
        name="early-exit",
        column_config={
            **percent,
            "n": st.column_config.NumberColumn("facts", help="Facts that were scored."),
            "p_value": st.column_config.NumberColumn("p", format="%.2g"),
            "model": st.column_config.TextColumn(pinned=True),
        },
    )
