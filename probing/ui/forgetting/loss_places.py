"""Where facts were lost and come back: by relation, by layer and by training text."""

import streamlit as st

from probing.core.forgetting.excess import FEW
from probing.core.forgetting.ways import LAYERS_BACK, NOT_RECOVERED, OTHER_LAYER
from probing.figures.forgetting.layer_bars import layer_bars
from probing.reports.forgetting import places
from probing.store.forgetting.queries import BACK_COLUMNS
from probing.ui.forgetting.page_view import Shown
from probing.ui.frame import selection
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled, joined


def draw(shown: Shown) -> None:
    """Relations, whose rows lead to their facts; layers; exposure, where it is known."""
    shown.view.contents.section("Where facts were lost, and come back")
    _relations(shown)
    _layers(shown)
    _exposures(shown)


def _relations(shown: Shown) -> None:
    runs = shown.runs[shown.runs["model"] == shown.model]
    table = shown.report(places.relations, runs)
    key = f"forgetting.relations.{shown.run['run_id']}"

    def picked() -> None:
        if rows := st.session_state[key].selection.rows:
            selection.update(lost_relation=str(table["relation"].iloc[rows[0]]), lost_way="", lost_fact="")

    pooled = int(table["pooled"].sum())
    st.markdown(
        filled(
            "Choose a relation to list its facts. The excess is that of relearning over wrong answers of equal confidence, in points. "
            "{pooled} relations with fewer than {few} lost facts or wrong answers share one excess.",
            pooled=pooled,
            few=FEW,
        )
    )
    top = table.assign(label=table["label"].fillna(table["relation"]), **{name: 100 * table[name] for name in ("excess", "low", "high")})
    names = {column: way for way, column in BACK_COLUMNS.items()}
    blocks.table_with_download(
        table,
        shown=top,
        stamp=shown.stamp("lost facts by relation"),
        name="forgetting-relations",
        key=key,
        on_select=picked,
        selection_mode="single-row",
        height=min(38 + 35 * len(top), 320),
        column_order=["relation", "label", "known", "kept", "lost", *names, "excess", "low", "high", "pooled"],
        column_config={
            "relation": st.column_config.TextColumn(pinned=True),
            **names,
            **{name: st.column_config.NumberColumn(name, format="%+.1f") for name in ("excess", "low", "high")},
        },
    )


def _layers(shown: Shown) -> None:
    runs = shown.runs[shown.runs["model"] == shown.model]
    table = shown.report(places.layers, runs)
    if table.empty:
        return
    blocks.figure(
        drawing(layer_bars, table, lost=int(shown.run["lost"]), layers=int(shown.run["layers"])),
        table=table,
        stamp=shown.stamp("layers at which lost facts come back"),
        name="forgetting-layers",
        caption=f"Left ({OTHER_LAYER}): the highest layer below the last at which the head reads the right answer; layer 0, the "
        f"embeddings, counts, which it does not for the fates on other pages. Right ({LAYERS_BACK}): "
        "the fewest last layers of the base that bring it back. Facts that a cheaper way brings back, too, are counted.",
        alt="Numbers of lost facts by the layer that reads them and by the number of layers put back",
    )


def _exposures(shown: Shown) -> None:
    runs = shown.runs[shown.runs["model"] == shown.model]
    table = shown.report(places.exposures, runs)
    if table.empty:
        return
    shares = [
        filled(
            "**{share:.0f} %** of the {lost:,} {exposure} ones",
            share=100 * (1 - row[BACK_COLUMNS[NOT_RECOVERED]] / row["lost"]),
            lost=int(row["lost"]),
            exposure=row["exposure"],
        )
        for _, row in table[table["lost"] > 0].iterrows()
    ]
    st.markdown(
        filled(
            "The base's training text states some of these facts and not others. A right answer about a fact it does not state is a guess. "
            "Of the lost facts, some way brings back {shares}: where unstated facts come back as often, it may be by guessing.",
            shares=joined(", ", shares),
        )
    )
    blocks.table_with_download(
        table,
        shown=table.drop(columns=["model", "base", "probe_set", "k"]),
        stamp=shown.stamp("lost facts by exposure"),
        name="forgetting-exposure",
        height="content",
        column_config={column: way for way, column in BACK_COLUMNS.items()},
    )
