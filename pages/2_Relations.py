"""Which kinds of knowledge come early, late, or are better at an inner layer than at the last?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.relations import forgotten, overview

view = page.open_page("relations", "Relations", "Which kinds of knowledge come early, late, or are better inside than at the end")
st.markdown(
    "A relation is a kind of fact: *capital of*, *place of birth*. Heads may predict its facts from the middle layers on, or only at the "
    "last layer. The paper calls a relation forgotten if it is known **better at an inner layer than at the last**. That compares layers "
    "of one model. What fine-tuning cost is the loss against the base, which is given next to it."
)
overview.controls(view)
points, mode = overview.points_of(view)
overview.headline(view, points)
overview.draw_map(view, points, mode)
overview.draw_curves(view, points, mode)
forgotten.draw_models(view)
forgotten.draw_relations(view, points)
view.contents.end()
