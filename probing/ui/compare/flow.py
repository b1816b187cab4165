"""The compare page's flow: which facts were kept, gained and lost, of the pair and of every model."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from probing.core.knowledge.shares import hits_of
from probing.core.knowledge.transitions import FATES, outcome_words
from probing.figures.knowledge.alluvial import alluvial
from probing.figures.knowledge.paired_curve import p_words
from probing.figures.shown_runs import set_name
from probing.reports.knowledge.pairs.yardsticks import paired_with_yardsticks
from probing.reports.knowledge.transitions import transitions_beside_wrong, transitions_by_relation
from probing.reports.wider import wider
from probing.ui.compare.model_pair import Pair, loss_minus_swapped, of_pair, swapped_of
from probing.ui.compare.selection import CompareSelection
from probing.ui.frame import facts_link, navigation, selection, yardsticks
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import Markdown, count, filled, joined
from probing.ui.widgets.paper.calls import plot
from probing.ui.widgets.task_marks import marks_once

PARTS = ("kept", "lost", "gained", "never", *FATES)

#: What is said of the models that a figure leaves out; see ``of_other_tasks``.
IN_THE_TABLE = "Seeds and controls of other tasks are in the table."
#: Points; an interval around 0 that ends below this leaves no place for answers that depend on the subject.
_NEXT_TO_NOTHING = 1.0
#: What a relation's row shows before its details.
_FIRST = ("label", "kept", "lost", "gained", "base_value", "value", "difference", "p_value")


def draw_flow(view: View, pair: Pair) -> None:
    """Transitions and fates as a flow; a click or a link opens the facts of a part."""
    k, (base, model) = view.chosen.k, (pair.base["model"], pair.model["model"])
    view.contents.section("Kept, gained, lost")
    table = view.report(transitions_beside_wrong, pair.frame, (k,))
    if table.empty or not int(table["n"].iloc[0]):
        st.info("No fact was asked of both models under these filters.", icon=":material/filter_alt_off:")
        return
    row = wider(table).iloc[0]
    called, labels = (view.called(base), view.called(model)), yardsticks.labels(view)
    guessed, more = _beside(view, pair)
    _sentence(row, called, k, guessed or more)
    selection.bound(st.toggle, filled("Draw the {never:,} facts that neither knows", never=int(row["never"])), "never", view.page)
    here = of_pair(view, pair)

    def opened(part: str) -> dict:
        return {"versus": base, "part": part, "part_k": k}

    drawn = drawing(
        alluvial,
        {name: int(row[name]) for name in PARTS},
        base=base,
        model=model,
        colours=view.colours,
        labels=labels,
        never=selection.of(CompareSelection).never,
    )
    blocks.figure(
        drawn,
        table=table,
        stamp=pair.stamp(view, f"transitions, rank ≤ {k} at the last layer"),
        name="flow",
        call=""
        if selection.of(CompareSelection).never
        else plot(
            "transitions", model=model, head=pair.model["head"], probe_set=pair.model["probe_set"], k=k, base=base, filtered=view.filtered
        ),
        caption="Heights are numbers of facts; each share states what it is a share of. A lost fact has one of five fates: still "
        "first at an inner layer, as in the base; moved to an inner layer (first there, where the base does not have it first); suppressed "
        "(still among the first 100 at its last layer), displaced (only at an inner layer), not read at any layer. Click a part to open "
        "its facts. "
        f"{marks_once(view, (base, model))}",
        alt=f"Of what {labels[base]} knows {labels[model]} keeps {row['kept']}, loses {row['lost']} and gains {row['gained']} facts",
        on_point=lambda point: facts_link.go(here, **opened(str(point[0]))),
    )
    if guessed and more:
        blocks.in_words(more)
    with st.container(horizontal=True, key="flow.links"):
        for part in PARTS:
            if int(row[part]):
                facts_link.link(here, filled("{part}: {n:,}", part=outcome_words(part), n=int(row[part])), **opened(part))
    if int(row["lost"]):
        words = filled("Which of the {lost:,} lost facts come back, and by which ways?", lost=int(row["lost"]))
        navigation.link("forgetting", words, lost_model=model)
    beside = [_beside_wrong(row, fate) for fate in ("still_inside", "moved") if pd.notna(row[f"{fate}_wrong"])]
    if beside:
        st.caption(
            filled(
                "Of the lost facts, beside equally confident wrong answers in the same relations that the base gives and the model "
                "does not: {fates}.",
                fates=joined("; ", beside),
            )
        )


def _beside_wrong(row: pd.Series, fate: str) -> Markdown:
    """The share of a fate at an inner layer, that of wrong answers, and their difference."""
    share, wrong, low, high = (row[f"{fate}_{name}"] * 100 for name in ("share", "wrong", "low", "high"))
    words = "{fate}, {share:.1f} % against {wrong:.1f} % ({difference:+z.1f} points, {low:+z.1f} to {high:+z.1f})"
    return filled(words, fate=outcome_words(fate), share=share, wrong=wrong, difference=share - wrong, low=low, high=high)


def _sentence(row: pd.Series, called: tuple[Markdown, Markdown], k: int, beside: Markdown) -> None:
    base, model = called
    known = int(row["kept"] + row["lost"])
    loss = filled(", **{share:.0f} %**,", share=row["lost"] / known * 100) if known else ""
    st.markdown(
        filled(
            "At the last layer {base} knows {known:,} of the {n:,} facts that both were asked (rank ≤ {k}; micro: every fact counts once). "
            "{model} keeps **{kept:,}**, loses **{lost:,}**{loss} and "
            "gains **{gained:,}**: a difference of {difference:+.1f} points ({low:+.1f} to {high:+.1f}; exact McNemar p {p}). "
            "{beside}",
            beside=beside,
            base=base,
            known=known,
            k=k,
            model=model,
            kept=int(row["kept"]),
            lost=int(row["lost"]),
            loss=loss,
            gained=int(row["gained"]),
            difference=row["difference"] * 100,
            low=row["low"] * 100,
            high=row["high"] * 100,
            p=p_words(row["p_value"]),
            n=int(row["n"]),
        )
    )
    one_sided = int(row["only_base"] + row["only_model"])
    if one_sided:
        st.caption(
            filled(
                "Left out: {facts} asked of {base} only, {only_model:,} of {model} only.",
                facts=count(int(row["only_base"]), "fact"),
                base=base,
                only_model=int(row["only_model"]),
                model=model,
            )
        )


def _beside(view: View, pair: Pair) -> tuple[Markdown, Markdown]:
    """How many of the same facts the majority answer gives, and the swapped subjects; both empty if the last layers share no row."""
    layers = view.report(paired_with_yardsticks, *pair.run_ids, view.chosen.k)
    if layers.empty or pair.base["layers"] != pair.model["layers"]:
        return Markdown(""), Markdown("")
    row = wider(layers).iloc[-1]
    words, guessed = [], Markdown("")
    if pd.notna(row["majority"]):
        guessed = filled(
            "Always giving the relation's commonest answer would be right for {n:,}.", n=hits_of(row["majority"], int(row["n"]))
        )
    base, model = (view.called(one["model"]) for one in (pair.base, pair.model))
    words.append(swapped_of(row, {"base_": base, "": model}, lambda share, n: filled("{hits:,}", hits=hits_of(share, n))))
    words += [loss_minus_swapped(row.to_dict()), of_subject(row, model)]
    return guessed, joined(" ", [one for one in words if one])


def of_subject(row: Mapping[str, Any], who: Markdown) -> Markdown:
    """Whether the model's answers depend on the subject, by the interval of own minus swapped; empty if none is stored.

    Args:
        row: of ``paired_with_yardsticks``.
        who: the model.
    """
    if pd.isna(row["above_swapped"]):
        return Markdown("")
    value, low, high = (row[f"above_swapped{end}"] * 100 for end in ("", "_low", "_high"))
    between = filled("{value:z.1f} points, {low:z.1f} to {high:z.1f}", value=value, low=low, high=high)
    if low > 0:
        said = "**{value:.1f} points** of what {who} still knows depend on the subject (own minus swapped: {low:z.1f} to {high:.1f})."
    elif high < 0:
        said = "{who} gives the answer **less often** for a fact's own subject than for a swapped one ({between})."
    elif high <= _NEXT_TO_NOTHING:
        said = (
            "{who} gives the answer **as often** for a swapped subject as for the fact's own ({between}): "
            "there is no sign that anything it still knows depends on the subject."
        )
    else:
        said = "It is undecided whether anything that {who} still knows depends on the subject: own minus swapped subject is {between}."
    return filled(said, who=who, between=between, value=value, low=low, high=high)


def _by_relation(view: View, pair: Pair) -> None:
    k, here = view.chosen.k, of_pair(view, pair)
    table = view.report(transitions_by_relation, pair.frame, k).sort_values("lost", ascending=False, ignore_index=True)
    if len(table) < 2:
        return
    shown = ["relation", "label", "n", "kept", "gained", "lost", "never", "base_value", "value", "difference", "low", "high", "p_value"]
    shown += FATES
    number = st.column_config.NumberColumn
    with st.expander(filled("{model}, relation by relation", model=view.called(pair.model["model"])), icon=":material/category:"):
        st.caption(
            filled(
                "{probe_set}; p-values are not corrected for multiple testing. Select a row to open the facts that were lost.",
                probe_set=set_name(pair.model["probe_set"]),
            )
        )
        points = {"difference": "points", "low": "low", "high": "high"}
        key = f"compare.relations.{'.'.join(pair.run_ids)}.{k}"

        def picked() -> None:
            if rows := st.session_state[key].selection.rows:
                facts_link.go(here, relation=str(table["relation"].iloc[rows[0]]), versus=pair.base["model"], part="lost", part_k=k)

        blocks.table_with_download(
            table[shown],
            shown=table[shown].assign(**{name: 100 * table[name] for name in points}),
            stamp=pair.stamp(view, f"transitions by relation, rank ≤ {k}"),
            name="relation-transitions",
            key=key,
            on_select=picked,
            selection_mode="single-row",
            column_order=[*_FIRST, *(name for name in shown if name not in _FIRST)],
            column_config={
                "label": st.column_config.TextColumn("relation", pinned=True),
                "relation": "id",
                **{name: outcome_words(name) for name in FATES},
                "base_value": number("base", format="percent", help=_last_layer(k, view.called(pair.base["model"]))),
                "value": number("model", format="percent", help=_last_layer(k, view.called(pair.model["model"]))),
                **{name: number(words, format="%+.1f") for name, words in points.items()},
                "p_value": number("p", format="%.2g"),
            },
        )


def _last_layer(k: int, model: Markdown) -> Markdown:
    return filled("P@{k} of {model} at the last layer.", k=k, model=model)
