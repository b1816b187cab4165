"""Which kinds of knowledge come early, late, and are forgotten?"""

import streamlit as st

from probing.ui import forgetting, page, parts, relations

view = page.open_page("relations", "Relations", "Which kinds of knowledge come early, late, and are forgotten")
st.markdown(
    "A relation is a kind of fact: *capital of*, *place of birth*. Some are settled by the middle layers, some only in the last, and "
    "some are known better inside than at the end: **forgotten**."
)
relations.controls(view)
points = relations.points_of(view)
relations.draw_map(view, points)
relations.draw_curves(view, points)
forgetting.draw_models(view)
forgetting.draw_relations(view)
parts.small_model_note([view.chosen.model])
