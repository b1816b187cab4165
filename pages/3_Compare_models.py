"""What did fine-tuning keep, gain and lose?"""

import streamlit as st

from probing.ui.compare import counts, flow, layers, model_pair
from probing.ui.frame import page

view = page.open_page("compare", "Compare models", "What fine-tuning kept, gained and lost")
st.markdown(
    "Two models, the same facts, the same kind of heads. Fine-tuning starts from a model's weights and trains it on a task. The heads may "
    "still predict a fact that the base knew at the last layer, only at an inner one, or at none."
)
pair = model_pair.choose(view)
if pair is not None:
    model_pair.draw_badge(view, pair)
    if pair.by_fact:
        model_pair.draw_curves(view, pair)
        flow.draw_flow(view, pair)
    else:
        counts.draw(view, pair)
    flow.draw_family(view, pair)
    layers.draw_answers(view, pair)
    layers.draw_weights(view, pair)
    layers.draw_early_exit(view, pair)
    model_pair.lead_on(view, pair)
view.contents.end()
