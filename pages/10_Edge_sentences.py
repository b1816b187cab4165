"""How does the label of one span develop, layer by layer?"""

import streamlit as st

from probing.ui.edge_sentences import sentence_search, trace
from probing.ui.edge_sentences.page_view import open_results
from probing.ui.frame import page

view = page.open_page("edge_sentences", "Edge sentences", "One sentence through all layers", needs_results=False)
shown = open_results(view)
first, list_of_sentences = st.container(), st.container()
with list_of_sentences:
    st.header("Find a sentence", anchor="find-a-sentence")
    sentence_search.filters(shown)
    sentence = sentence_search.listing(shown)
with first:
    trace.draw(shown, sentence)
    view.introduce()
st.caption(
    "A probe of edge probing labels single spans of words; the probe P(l) uses the layers 0 to l. This page shows its predictions for "
    "stored sentences: the right label and the best wrong one, layer by layer."
)
view.contents.end()
