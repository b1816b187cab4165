"""Which kinds of knowledge come early, late, and are forgotten?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.relations import forgotten, overview

view = page.open_page("relations", "Relations", "Which kinds of knowledge come early, late, and are forgotten")
st.markdown(
    "A relation is a kind of fact: *capital of*, *place of birth*. Some are settled by the middle layers, some only in the last, and "
    "some are known better inside than at the end: **forgotten**."
)
overview.controls(view)
points = overview.points_of(view)
overview.draw_map(view, points)
overview.draw_curves(view, points)
forgotten.draw_models(view)
forgotten.draw_relations(view)
view.contents.end()
