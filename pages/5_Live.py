"""What does every layer make of a sentence of your own?"""

import streamlit as st

from probing.ui import cloze, page, parts

view = page.open_page("live", "Live", "Ask every layer", needs_results=False)
st.markdown("Type a sentence with a gap. Every layer fills it at once, each through its own decoding head.")
models, head = cloze.controls(view)
cloze.answer(view, models, head)
parts.small_model_note([model.name for model in models])
