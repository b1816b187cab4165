"""What does your own model know of your own facts, and what did it lose against its base?"""

import streamlit as st

from probing.core.own_model.background import DONE
from probing.ui.choices.own_model import OwnModelSelection
from probing.ui.frame import page, selection
from probing.ui.own_model import form, other_models, result, run, space
from probing.ui.own_model.permission import why_not

view = page.open_page("own_model", "Your model", "What does your model know of your facts?", needs_results=False)
refused = why_not()
# A run that was chosen is what its link opens; without one, the page begins with the form.
chosen = bool(selection.of(OwnModelSelection).my_run)
if not chosen:
    st.markdown(
        "Name a masked language model, the base that it was fine-tuned from, and facts of your own. Both are asked every fact at every "
        "layer, and the page shows what your model knows, and what it lost against its base."
    )
    form.draw(view, refused)
if shown := run.choose(view):
    # Of a run that is done, the result comes first.
    done = shown.status == DONE
    if not done:
        run.draw(shown, may_act=refused is None)
    result.draw(view, shown.state.wish)
    if done:
        run.draw(shown, may_act=refused is None)
    other_models.draw(view, shown)
if chosen:
    form.draw(view, refused)
if refused is None:
    space.draw(view)
view.contents.end()
