"""What fine-tuning changed: one fine-tuned model against its base, task by task and layer by layer."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from probing.core.sentences.example import POOLINGS
from probing.figures.sentences.change_map import change_map, drawn_cells
from probing.figures.sentences.looks import POOLING_NAMES
from probing.ui.frame import selection
from probing.ui.sentence_probes.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, count, filled
from probing.ui.widgets.paper.calls import plot
from probing.ui.widgets.task_marks import marks_once, task_words

_NAMES = {"first": "first token", "mean": "mean of all tokens", "base-mean": "first token against the base's mean"}
_WORDS = {
    "first": "Accuracy of the fine-tuned model's own probes on the first token minus that of its base's, in points.",
    "mean": "Accuracy of the fine-tuned model's own probes on the mean of all tokens minus that of its base's, in points.",
    "base-mean": "The probe on the fine-tuned model's first token minus the base's on the mean of all tokens, as in Figure 4 of Mosbach et "
    "al. (2020); the base's own first token is often below its mean, which is no effect of fine-tuning. Stars: q ≤ 0.05.",
}


@dataclass(frozen=True)
class Changed:
    """One fine-tuned model against its base.

    Attributes:
        model, base: their names.
        table: ``changes`` of the chosen tasks.
    """

    model: str
    base: str
    table: pd.DataFrame

    @property
    def has_control(self) -> bool:
        """Whether the control's changes are known."""
        return bool(self.table["control_change"].notna().any())


def draw(shown: Shown) -> Changed | None:
    """The choice of a model and a kind of change, a sentence, and the map; returns what is shown."""
    shown.view.contents.section("What fine-tuning changed")
    if not shown.tuned:
        st.info("No fine-tuned model and its base have stored probes of these tasks.", icon=":material/info:")
        st.code("python -m probing sentences train --model nesia-mini-control --tasks all", language="shell", wrap_lines=True)
        return None
    page, own = shown.view.page, shown.own
    answered = set(shown.runs.loc[shown.runs["answered"].astype(bool), "model"])
    model = own.tuned_model if own.tuned_model in shown.tuned else shown.view.telling_first(shown.tuned, answered)[0]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        if len(shown.tuned) > 1:
            selection.bound(
                st.selectbox,
                "Changes of",
                "tuned_model",
                page,
                value=model,
                options=list(shown.tuned),
                format_func=shown.view.label,
                resets=_NO_CELL,
            )
        kind = selection.bound(
            st.segmented_control,
            "Read from",
            "change_kind",
            page,
            options=list(_NAMES),
            required=True,
            wrap=True,
            format_func=_NAMES.__getitem__,
        )
    panel = shown.panels.changes(model)
    table = panel.rows
    if table.empty:
        st.info("No change of this model is stored for these tasks.", icon=":material/info:")
        return None
    changed = Changed(model, str(table["base"].iloc[0]), table)
    _say(shown, changed, kind)
    blocks.figure(
        drawing(change_map, table, kind=kind, model=shown.view.label(model), base=shown.view.label(changed.base), **panel.options),
        table=table,
        stamp=shown.stamp(f"change against {shown.view.label(changed.base)}, {_NAMES[kind]}", (model,)),
        name="sentence-change",
        call=plot("sentences", "changes", model=model, task=list(shown.tasks), pooling=kind, protocol=shown.protocol)
        if kind in POOLING_NAMES
        else "",
        caption=filled(
            "{words} Grey: {grey}. {seeds}{family} Click a cell to see its sentences below. {key}",
            words=_WORDS[kind],
            grey=_grey(changed, kind),
            seeds=_seeds(changed, kind),
            family=family_words(table),
            key=marks_once(shown.view, [model]),
        ),
        alt=f"Change of sentence probes of {shown.view.label(model)} by task and layer",
        on_point=_picked,
    )
    return changed


_NO_CELL = {"turned_task": "", "turned_pooling": "", "turned_layer": None, "turned_example": ""}


def _picked(cell: list) -> None:
    task, pooling, layer = cell
    selection.update(turned_task=task, turned_pooling=pooling, turned_layer=layer, turned_example="")


def family_words(table: pd.DataFrame) -> Markdown:
    """How many tests were corrected together."""
    return filled(
        "q is the p of McNemar's exact test, corrected by Benjamini and Hochberg for all {cells} of this model together: every task, "
        "pooling and layer.",
        cells=count(int(table["family"].max()), "cell"),
    )


def _grey(changed: Changed, kind: str) -> str:
    if kind == "base-mean":
        return "q above 0.05"
    if not changed.has_control:
        return "q above 0.05 (no control is stored)"
    return "q above 0.05, or within the control's change there or its spread over the layers of the task"


def _seeds(changed: Changed, kind: str) -> str:
    """What brackets mean, if a number has them."""
    cells = drawn_cells(changed.table, kind)
    if kind == "base-mean" or not (cells["counts"] & cells["within_seeds"]).any():
        return ""
    return "In brackets: one seed only, and seeds of another model differ there by as much. "


def _say(shown: Shown, changed: Changed, kind: str) -> None:
    """How many cells changed, and which changed most, with its yardsticks."""
    cells = drawn_cells(changed.table, kind)
    clear = cells[cells["counts"]]
    model, base = shown.view.called(changed.model), shown.view.called(changed.base)
    fell, rose = int((clear["shown"] < 0).sum()), int((clear["shown"] > 0).sum())
    said = filled(
        "Of {cells} (tasks × layers) **{fell} fell** and **{rose} rose** from {base} to {model}, read from the {vector}{small}",
        cells=count(len(cells), "cell"),
        fell=fell,
        rose=rose,
        base=base,
        model=model,
        vector=_NAMES[kind],
        small=_no_more_than_seeds(clear, kind),
    )
    score = task_words(shown.view, changed.model, shown.view.names.get(changed.model, changed.model))
    if clear.empty:
        held = "beyond the control's change" if changed.has_control and kind != "base-mean" else "at q ≤ 0.05"
        said = filled(
            "**None of {cells}** (tasks × layers) changed clearly from {base} to {model}, {held}",
            cells=count(len(cells), "cell"),
            base=base,
            model=model,
            held=held,
        )
        st.markdown(joined_sentences(filled("{said}.", said=said), score))
        return
    most = clear.loc[clear["shown"].abs().idxmax()].to_dict()
    st.markdown(joined_sentences(filled("{said}. {most}.", said=said, most=_most(shown, most, kind)), score))


def _no_more_than_seeds(clear: pd.DataFrame, kind: str) -> Markdown:
    """How many of the changes one seed made that seeds of another model differ by."""
    small = 0 if kind == "base-mean" else int(clear["within_seeds"].sum())
    if not small:
        return Markdown("")
    return filled("; {small} of these {n} are of one seed and no larger than seeds of another model differ by", small=small, n=len(clear))


def _most(shown: Shown, most: dict, kind: str) -> Markdown:
    against = most["accuracy"] - most["shown"] / 100
    said = filled(
        "The largest change is that of {title} at layer {layer}: {change:+.1f} points, from {before:.1f} % to "
        "{after:.1f} % (majority baseline {majority:.1f} %",
        title=_lower(shown.tasks[most["task"]]),
        layer=int(most["layer"]),
        change=most["shown"],
        before=against * 100,
        after=most["accuracy"] * 100,
        majority=majority_of(shown, most["task"]) * 100,
    )
    if kind == "base-mean" or pd.isna(most.get("control_change")):
        return filled("{said})", said=said)
    return filled("{said}; the control {control:+.1f} points)", said=said, control=most["control_change"] * 100)


def majority_of(shown: Shown, task: str) -> float:
    """The accuracy of always giving the commonest training label."""
    row = shown.about[shown.about["task"] == task].iloc[0]
    return float(row["majority_right"] / row["n_test"])


def _lower(title: str) -> str:
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def joined_sentences(*sentences: Markdown) -> Markdown:
    """Sentences in a row; empty ones are left out."""
    return Markdown(" ".join(one for one in sentences if one))


assert set(POOLINGS) == set(POOLING_NAMES)
