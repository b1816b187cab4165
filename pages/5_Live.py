"""What does every layer make of a sentence of your own?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.live import ask

view = page.open_page("live", "Live", "Ask every layer", needs_results=False)
st.markdown("Type a sentence with a gap. Every layer fills it at once, each through its own decoding head.")
models, head = ask.controls(view)
ask.answer(view, models, head)
view.contents.end()
