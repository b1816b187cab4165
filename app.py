"""Home: the question, one sentence to try, knowledge beyond guessing, and the cost of fine-tuning."""

import streamlit as st

from probing.ui.frame import page
from probing.ui.home import added_models, ask, forgetting, knowledge_bars, overview

view = page.open_page("home", "Home", "What does every layer know, and which facts did fine-tuning lose?")
st.markdown("Every layer of a language model fills the gap in a sentence. Choose an example, or type a sentence of your own.")
ask.draw(view)
added_models.draw(view)
view.introduce()
knowledge_bars.draw(view)
forgetting.draw(view)
overview.ways(view)
overview.notable(view)
overview.snapshot(view)
view.contents.end()
