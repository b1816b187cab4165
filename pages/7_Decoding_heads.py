"""How much does a layer's knowledge depend on the decoding head?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.heads import by_kind, lost

view = page.open_page("heads", "Decoding heads", "How results depend on the decoding head")
st.markdown(
    "A decoding head turns a layer's hidden state into a ranking of the vocabulary. A layer's knowledge is visible only through a head. "
    "This page compares all stored kinds of heads, each with its swapped subject. An answer that the swapped subject also gets "
    "does not come from the subject."
)
lost.headline(view)
by_kind.controls(view)
points = by_kind.points_of(view)
by_kind.draw_curves(view, points)
by_kind.draw_losses(view, points)
lost.draw(view)
view.contents.end()
