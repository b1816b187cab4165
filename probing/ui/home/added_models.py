"""The models that were added to the demonstration models: their names, and links to their results."""

from typing import Any

import streamlit as st

from probing.figures.shown_runs import MAX_DEFAULT_MODELS, set_name, set_order
from probing.reports.runs import pairs
from probing.ui.frame import navigation
from probing.ui.frame.page import View
from probing.ui.widgets.markdown import Markdown, filled, joined, listing

#: More models than this are counted, not named.
MAX_NAMED = 3
#: A link to all results of a model is not narrowed by what was chosen before.
_ALL: dict[str, Any] = {"heads": (), "probe_sets": ()}


def draw(view: View) -> None:
    """Draws a sentence with their names, and links to their layer curves and to a comparison with the base; nothing if there are none."""
    added = view.added
    if not added:
        return
    named = [_named(view, model) for model in added[:MAX_NAMED]]
    more = filled("; and {n:,} more", n=len(added) - MAX_NAMED) if len(added) > MAX_NAMED else ""
    st.markdown(filled("Added to the demonstration models: {models}{more}.", models=joined("; ", named), more=more))
    bases = set(view.runs.loc[view.runs["model"].isin(added), "base"]) - set(added)
    shown = (*(model for model in view.colours if model in bases), *added)[:MAX_DEFAULT_MODELS]
    with st.container(horizontal=True):
        navigation.link("layer_curves", "What their layers know" if len(added) > 1 else "What its layers know", models=shown, **_ALL)
        together = pairs(view.runs)
        for pair in together[together["model"].isin(added)].head(1).itertuples():
            label = filled("{model} compared with {base}", model=view.label(pair.model), base=view.label(pair.base))
            navigation.link("compare", label, tuned=pair.model, versus_model="", head=pair.head, probe_set=pair.probe_set)


def _named(view: View, model: str) -> Markdown:
    """A model and what it was probed on."""
    sets = sorted(set(view.runs.loc[view.runs["model"] == model, "probe_set"]), key=lambda name: (set_order(name), name))
    return filled("**{model}** ({sets})", model=view.called(model), sets=listing([set_name(name) for name in sets]))
