"""What did fine-tuning change, layer by layer, and where did it go?"""

import streamlit as st

from probing.ui.fine_tuning import gone, layers, models
from probing.ui.fine_tuning.shown import open_results
from probing.ui.frame import page

view = page.open_page("fine_tuning", "What fine-tuning changed", "What fine-tuning changed, layer by layer", needs_results=False)
st.markdown(
    "Facts, structure, sentences, attention, weights: all measurements of a fine-tuned model and its base, on one layer axis. "
    "Training changes a model even if the model learns nothing, so a control and other seeds are shown, too."
)
if shown := open_results(view):
    layers.draw(shown)
    gone.draw(shown)
    gone.draw_words(shown)
    models.draw_table(shown)
    models.draw_plane(shown)
page.sections(view)
view.contents.end()
