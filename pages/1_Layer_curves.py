"""How much does each layer know?"""

import streamlit as st

from probing.ui.curves import curve
from probing.ui.frame import page

view = page.open_page("layer_curves", "Layer curves", "What each layer knows")
st.markdown(
    "A sentence with a gap goes into the model once. At every layer a decoding head turns the hidden state at the gap into a "
    "ranking of the whole vocabulary. The curve shows for how many facts the right word ranks first."
)
curve.controls(view)
points = curve.points_of(view)
curve.headline(view, points)
curve.draw(view, points)
curve.choose_point(view, points)
