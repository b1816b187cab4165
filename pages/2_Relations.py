"""Which kinds of knowledge come early, late, and are forgotten?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.relations import forgotten, overview

view = page.open_page("relations", "Relations", "Which kinds of knowledge come early, late, and are forgotten")
st.markdown(
    "A relation is a kind of fact: *capital of*, *place of birth*. Some are known from the middle layers on, some only at the last layer. "
    "Some are known better at an inner layer than at the last one: these are **forgotten**."
)
overview.controls(view)
points, mode = overview.points_of(view)
overview.headline(view, points)
overview.draw_map(view, points, mode)
overview.draw_curves(view, points, mode)
forgotten.draw_models(view)
forgotten.draw_relations(view, points)
view.contents.end()
