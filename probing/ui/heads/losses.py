"""What fine-tuned models lost against their bases under each kind of head, and whether the read-out changes the conclusion."""

import pandas as pd
import streamlit as st

from probing.core.head_kinds import HEADS, LEAST_SQUARES, LOGIT_LENS
from probing.figures.knowledge.loss_points import loss_points
from probing.figures.shown_runs import set_name
from probing.reports.knowledge.heads.losses import points_lost, read_out
from probing.reports.runs import pairs
from probing.ui.frame import yardsticks
from probing.ui.frame.count_messages import heads_command
from probing.ui.frame.page import View
from probing.ui.heads.by_kind import points, runs_of
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, count, filled, joined
from probing.ui.widgets.task_marks import marks_once

#: Maximum number of models in the headline.
MAX_NAMED = 3
_HEADINGS = {
    "base_value": "base",
    "value": "model",
    "lost": "lost, points",
    "base_above_swapped": "base minus swapped, points",
    "above_swapped": "model minus swapped, points",
    "lost_above": "lost minus swapped, points",
}


def table_of(view: View) -> pd.DataFrame:
    """Every fine-tuned model against its base on the chosen probe set, under every kind of head that both were probed with."""
    return view.report(points_lost, pairs(view.runs[view.runs["probe_set"] == view.chosen.probe_set]), view.chosen.k)


def headline(view: View) -> Markdown:
    """Draws whether the read-out changes a conclusion, or the command that adds a kind to compare; returns the numbers in words."""
    kinds = list(runs_of(view)["head"])
    conclusions = read_out(table_of(view))
    said, more = _sentence(view, conclusions) if len(conclusions) else (Markdown(""), Markdown(""))
    if said:
        answer(said)
    if len(kinds) < 2:
        added = LOGIT_LENS if kinds[0] != LOGIT_LENS else LEAST_SQUARES
        blocks.missing(
            filled(
                "{model} was probed on {facts} with {head} heads only, so there is no other read-out to compare with.",
                model=view.called(view.chosen.model),
                head=kinds[0],
                facts=set_name(view.chosen.probe_set),
            ),
            heads_command({**runs_of(view).iloc[0], "head": added}),
        )
    return more


def _sentence(view: View, conclusions: pd.DataFrame) -> tuple[Markdown, Markdown]:
    """The conclusion, and the numbers of models whose kinds of heads lie apart: changed conclusions first, then the widest gaps."""
    k, models = view.chosen.k, conclusions["model"].nunique()
    wide = conclusions.assign(gap=conclusions["most_low"] - conclusions["least_high"]).sort_values(["changed", "gap"], ascending=False)
    apart = wide[wide["apart"]].drop_duplicates("model")
    where = filled("P@{k} minus the swapped subject at the last layer, {facts}", k=k, facts=set_name(view.chosen.probe_set))
    changed = int(apart["changed"].sum())
    said = filled(
        "**The read-out changes the conclusion for {changed} of {models}**; for {sized} it clearly changes only how much is lost or kept"
        "{names}.",
        changed=changed or "none",
        models=count(models, "fine-tuned model"),
        sized=len(apart) - changed or "none",
        names=filled(" ({names})", names=joined(", ", map(view.called, apart["model"].head(MAX_NAMED)))) if len(apart) else "",
    )
    if apart.empty:
        widest = conclusions.assign(gap=conclusions["most_value"] - conclusions["least_value"]).sort_values("gap", ascending=False).iloc[0]
        more = filled(
            "For none do the intervals of two kinds of heads lie apart ({where}). Furthest apart: {one}, minus the swapped subject.",
            where=where,
            one=_one(view, widest),
        )
        return said, more
    further = filled("; {n} more below", n=len(apart) - MAX_NAMED) if len(apart) > MAX_NAMED else Markdown("")
    more = filled(
        "The 95 % intervals of two kinds of heads do not overlap ({where}): {named}{more}; all minus the swapped subject.",
        where=where,
        named=joined("; ", (_one(view, row) for _, row in apart.head(MAX_NAMED).iterrows())),
        more=further,
    )
    return said, more


def _one(view: View, row: pd.Series) -> Markdown:
    """What one model lost or kept under the two kinds of heads."""
    verb = {"lost": "loses", "kept": "keeps"}[row["what"]]
    sides = [
        filled(
            "**{value:.1f} points** ({low:.1f} to {high:.1f}) under {head}",
            head=row[f"{side}_head"],
            **{name: points(row[f"{side}_{name}"]) for name in ("value", "low", "high")},
        )
        for side in ("least", "most")
    ]
    return filled("{model} {verb} {sides}", model=view.called(row["model"]), verb=verb, sides=joined(" and ", sides))


def draw(view: View) -> None:
    """Points lost, for every fine-tuned model and kind of head."""
    view.contents.section("What fine-tuning cost under each head")
    table = table_of(view)
    if table.empty:
        blocks.missing("No fine-tuned model is stored together with its base on this probe set.", blocks.FINETUNE_COMMAND)
        return
    if table["value"].isna().all() or not table["n"].sum():
        st.info("No facts are left under these filters. Loosen them in the sidebar.")
        return
    k = view.chosen.k
    labels = yardsticks.labels(view)
    kinds = [head for head in HEADS if head in set(table["head"])]
    stamp = view.stamp(
        f"P@{k} lost at the last layer, {set_name(view.chosen.probe_set)}, {', '.join(kinds)} heads, micro, {view.filter_words()}",
        tuple(dict.fromkeys((*table["base_run_id"], *table["run_id"]))),
    )
    if len(kinds) > 1:
        st.markdown(
            "A model's loss is its base's share minus its own, both read by the same kind of head. Minus the swapped subject, only what "
            "comes from the subject counts."
        )
    blocks.figure(
        drawing(loss_points, table, k=k, colours=view.colours, labels=labels, controls=view.controls),
        table=table,
        stamp=stamp,
        name="heads-lost",
        caption=filled(
            "{rows} Lines are 95 % intervals. Those of P@{k} are paired fact by fact if both models' answers are stored. All others, also "
            "those minus the swapped subject, treat the shares as independent (rather too wide). {key}",
            rows=Markdown("Within a model: one row per kind of head." if len(kinds) > 1 else "One row per model."),
            k=k,
            key=marks_once(view, table["model"]),
        ),
        alt=f"Points of P@{k} and of P@{k} minus swapped subject lost by fine-tuned model and kind of head",
    )
    _numbers(view, table, stamp)


def _numbers(view: View, table: pd.DataFrame, stamp) -> None:
    """The same as numbers, with the intervals."""
    k = view.chosen.k
    placed = table.assign(_model=table["model"].map(list(view.colours).index), _head=table["head"].map(HEADS.index))
    placed = placed.sort_values(["_model", "_head"])
    shown = pd.DataFrame({"fine-tuned model": placed["model"].map(view.label), "head": placed["head"]})
    for name, heading in _HEADINGS.items():
        shown[heading] = placed[name]
        if name.startswith("lost"):
            ends = zip(placed[f"{name}_low"], placed[f"{name}_high"], strict=True)
            shown[f"{heading}, interval"] = [f"{low * 100:.1f} to {high * 100:.1f}" if pd.notna(low) else "" for low, high in ends]
    percent = {
        name: st.column_config.NumberColumn(
            name,
            format="points" if name.endswith("points") else "percent",
            help=filled("P@{k} at the last layer, micro: {name}.", k=k, name=name),
        )
        for name in _HEADINGS.values()
    }
    blocks.table_with_download(
        table,
        shown=shown,
        stamp=stamp,
        name="heads-lost-numbers",
        column_config={**percent, "fine-tuned model": st.column_config.TextColumn(pinned=True)},
    )
