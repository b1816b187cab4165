"""How much of what a layer knows depends on the head that reads it?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.heads import by_kind, lost

view = page.open_page("heads", "Decoding heads", "What the read-out changes")
st.markdown(
    "A decoding head turns a layer's hidden state into a ranking of the vocabulary, and what a layer knows is seen only through one. Here "
    "all stored kinds of heads stand side by side, each beside its swapped subject: what that gives too does not come from the subject."
)
lost.headline(view)
by_kind.controls(view)
points = by_kind.points_of(view)
by_kind.draw_curves(view, points)
by_kind.draw_losses(view, points)
lost.draw(view)
view.contents.end()
