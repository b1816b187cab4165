"""What does your own model know of your own facts, and what did it lose against its base?"""

import streamlit as st

from probing.ui.frame import page
from probing.ui.own_model import form, others, result, run, space
from probing.ui.own_model.allowed import why_not

view = page.open_page("own_model", "Your model", "What does your model know of your facts?", needs_results=False)
st.markdown(
    "Name a masked language model, the base that it was fine-tuned from, and facts of your own. Both are asked every fact at every layer, "
    "and the page shows what your model knows, and what it lost against its base."
)
refused = why_not()
form.draw(view, refused)
if shown := run.draw(view, may_act=refused is None):
    result.draw(view, shown.state.wish)
    others.draw(view, shown)
if refused is None:
    space.draw(view)
view.contents.end()
