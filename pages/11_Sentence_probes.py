"""Which properties of whole sentences can a probe predict, layer by layer, and what did fine-tuning change?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.sentence_probes import change, curves, headline, learning, own_file, turned
from probing.ui.sentence_probes.shown import open_results

view = page.open_page("sentence_probes", "Sentence probes", "What whole sentences show, layer by layer", needs_results=False)
st.markdown(
    "A linear probe predicts a label from one vector per sentence and layer: are two words swapped, is the subject plural? Its "
    "accuracy shows how well a linear probe predicts the label; the baselines show what needs no model. A lower accuracy after fine-tuning "
    "does not show that the property is lost."
)
if shown := open_results(view):
    headline.draw(shown)
    curves.draw(shown)
    changed = change.draw(shown)
    turned.draw(shown, changed)
    learning.draw(shown)
own_file.draw(view)
view.contents.end()
