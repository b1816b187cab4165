"""Home: what this is, and the headline figure."""

import streamlit as st

from probing.ui.frame import page
from probing.ui.home import forgetting, overview

view = page.open_page("home", "Home", "What does every layer know, and what did fine-tuning make it forget?")
st.markdown(
    "A language model computes its answer layer by layer. This explorer asks **every layer** to fill the gap in sentences like "
    "*The capital of France is \\[MASK\\]*, over whole sets of facts, and shows where knowledge appears, where it is lost again, and "
    "which single facts a fine-tuned model no longer gives. It rebuilds and extends the experiments of *BERTnesia: Investigating the "
    "capture and forgetting of knowledge in BERT* (Wallat, Singh and Anand 2020)."
)
view.contents.section("Total knowledge against the last layer")
overview.controls(view)
overview.draw(view)
forgetting.draw(view)
view.contents.section("Facts worth looking at")
overview.notable(view)
overview.rocky_card(view)
overview.ways(view)
overview.snapshot(view)
view.contents.end()
