"""What can be read from whole sentences, layer by layer, and what did fine-tuning change of it?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.sentence_probes import change, curves, headline, learning, own_file, turned
from probing.ui.sentence_probes.shown import open_results

view = page.open_page("sentence_probes", "Sentence probes", "What whole sentences show, layer by layer", needs_results=False)
st.markdown(
    "A linear probe reads one vector a sentence from one layer and answers with a label: are two words swapped, is the subject plural? Its "
    "accuracy says how easily the property is read there, and a probe on the fine-tuned model whether it still is."
)
if shown := open_results(view):
    headline.draw(shown)
    curves.draw(shown)
    changed = change.draw(shown)
    turned.draw(shown, changed)
    learning.draw(shown)
own_file.draw(view)
view.contents.end()
