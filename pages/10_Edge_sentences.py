"""How does the label of one span develop, layer by layer?"""

import streamlit as st

from probing.ui.edge_sentences import found, trace
from probing.ui.edge_sentences.shown import open_results
from probing.ui.frame import page

view = page.open_page("edge_sentences", "Edge sentences", "One sentence through all layers", needs_results=False)
st.markdown(
    "A probe of edge probing labels single spans of words; the probe P(l) uses the layers 0 to l. This page shows its predictions for "
    "stored sentences: the right label and the best wrong one, layer by layer."
)
shown = open_results(view)
found.filters(shown)
sentence = found.listing(shown)
trace.draw(shown, sentence)
view.contents.end()
