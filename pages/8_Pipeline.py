"""From which layer on do probes read each step of the classical pipeline?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.pipeline import bars, curves, headline, labels, order, rows
from probing.ui.pipeline.shown import open_results

view = page.open_page("pipeline", "Pipeline", "Where in the layers syntax and meaning appear", needs_results=False)
st.markdown(
    "A small classifier, a probe, predicts a label from the frozen vectors of the words in one or two spans: a part of speech, a role, "
    "a relation. P(l) uses the layers 0 to l. The gain in F1 from layer to layer shows from which layer on the probe reads the label."
)
shown = open_results(view)
headline.draw(shown)
rows.draw_places(shown)
rows.draw_scores(shown)
curves.draw(shown)
bars.draw(shown)
order.draw(shown)
labels.draw(shown)
rows.ways(shown)
view.contents.end()
