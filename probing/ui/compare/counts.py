"""Two models of which one is stored as counts only: their curves side by side, and the loss without pairs of facts."""

import pandas as pd
import streamlit as st

from probing.figures.knowledge.layer_curve import layer_curve
from probing.figures.shown_runs import set_name
from probing.reports.knowledge.heads.losses import points_lost
from probing.reports.knowledge.precision import by_layer
from probing.reports.wider import wider
from probing.ui.compare.model_pair import Pair
from probing.ui.frame import count_messages, yardsticks
from probing.ui.frame.page import View
from probing.ui.widgets import blocks
from probing.ui.widgets.captions import majority_words, swapped_words
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.glossary import answer
from probing.ui.widgets.markdown import Markdown, filled, joined


def draw(view: View, pair: Pair) -> None:
    """Reports what is not stored, and draws what can be drawn from counts."""
    k, probe_set = view.chosen.k, pair.model["probe_set"]
    count_messages.say(view, pair.base, pair.model)
    table = view.report(by_layer, pair.run_ids, f"p_at_{k}", "micro")
    lost = view.report(points_lost, pair.frame, k)
    if lost.empty or table["value"].isna().all():
        st.info("No facts are left under these filters.", icon=":material/filter_alt_off:")
        return
    answer(_sentence(view, wider(lost).iloc[0]))
    yardsticks.say_size(table, probe_set)
    blocks.figure(
        drawing(
            layer_curve,
            table,
            title=f"P@{k}, micro",
            unit="share",
            colours=view.colours,
            names={probe_set: set_name(probe_set)},
            labels=yardsticks.labels(view),
            controls=view.controls,
        ),
        table=table,
        stamp=pair.stamp(view, f"P@{k}, micro, of counts"),
        name="counted-curves",
        caption=f"Each model on all facts that it was asked; bands are 95 % intervals. {majority_words(table)}{swapped_words(table)}",
        alt=f"P@{k} by layer of both models",
    )
    view.introduce()


def _sentence(view: View, row: pd.Series) -> Markdown:
    """The model's loss against its base, each on all facts that it was asked."""
    words = [
        filled(
            "At its last layer {model} knows **{value:.1f} %** and {base} **{base_value:.1f} %** of the facts that each was asked{mean}: "
            "a loss of **{lost:.1f} points** ({low:.1f} to {high:.1f}; the interval treats the models as independent).",
            mean=yardsticks.averaged("micro"),
            model=view.called(row["model"]),
            base=view.called(row["base"]),
            value=row["value"] * 100,
            base_value=row["base_value"] * 100,
            lost=row["lost"] * 100,
            low=row["lost_low"] * 100,
            high=row["lost_high"] * 100,
        )
    ]
    if pd.notna(row["lost_above"]):
        words.append(
            filled(
                "Minus the swapped subject the loss is **{lost:.1f} points** ({low:.1f} to {high:.1f}).",
                lost=row["lost_above"] * 100,
                low=row["lost_above_low"] * 100,
                high=row["lost_above_high"] * 100,
            )
        )
    if pd.notna(row["majority"]):
        words.append(
            filled("Always giving the relation's commonest answer would be right for **{share:.1f} %**.", share=row["majority"] * 100)
        )
    return joined(" ", words)
