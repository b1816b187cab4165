"""Mixing weights and gains of one model, layer by layer (Figure 2 of the paper)."""

import pandas as pd
import streamlit as st

from probing.figures import theme
from probing.figures.edges.layer_bars import layer_bars
from probing.reports.edges import published as paper
from probing.ui.frame import selection
from probing.ui.pipeline.page_view import Shown
from probing.ui.widgets import blocks
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled


def draw(shown: Shown) -> None:
    """The choice of a model, and one panel per task."""
    shown.view.contents.section("Weights and gains")
    page, own = shown.view.page, shown.own
    names = {**shown.labels, **({name: name for name in paper.NAMES.values()} if own.published else {})}
    model = own.edge_model if own.edge_model in names else shown.models[0]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        if len(names) > 1:
            selection.bound(st.selectbox, "Bars of", "edge_model", page, value=model, options=list(names), format_func=names.__getitem__)
        selection.bound(
            st.toggle,
            "Weights times the norm of the layer",
            "normed",
            page,
            help="Layers with long vectors count more in the mix than their weights suggest (Fayyaz et al. 2021).",
        )
    table = shown.panels.bars(model)
    if table.empty:
        st.info("No cumulative probes are stored for this model and these tasks.", icon=":material/info:")
        return
    published = model in paper.NAMES.values()
    ours = "" if not published else " The paper's weights are not published as numbers, so only gains are drawn."
    blocks.figure(
        drawing(
            layer_bars,
            table,
            colour=shown.colours.get(model, theme.NEUTRAL),
            titles=shown.tasks,
            notes=_notes(shown, model),
            weights="normed" if own.normed else "weight",
        ),
        table=table,
        stamp=shown.stamp(f"mixing weights and gains of {names[model]}"),
        name="pipeline-bars",
        caption=filled(
            "{model}. Solid: weight of each layer in the mix of the probe on all layers; outlined: gain in F1 of P(l) over P(l-1). Each "
            "is drawn as a share of its largest bar. K is the divergence from equal bars, in bits: high if few layers carry most of "
            "the weight or gain.{ours} {key}",
            model=names[model],
            ours=ours,
            key=shown.key(),
        ),
        alt=f"Mixing weights and gains by layer of {names[model]}, one panel per task",
    )


def _notes(shown: Shown, model: str) -> dict[str, str]:
    """K of weights and gains, written next to the panels as in the paper."""
    table = shown.panels.paper if model in paper.NAMES.values() else shown.panels.summary
    notes = {}
    for row in table[table["model"] == model].to_dict("records"):
        said = [f"{name} {row[column]:.2f}" for column, name in (("k_weights", "K(s)"), ("k_gains", "K(Δ)")) if pd.notna(row.get(column))]
        near = row.get("weights_near_uniform")
        said += ["weights near uniform"] if pd.notna(near) and near else []
        notes[row["task"]] = "".join(f" · {one}" for one in said)
    return notes
