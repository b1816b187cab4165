"""What did fine-tuning keep, gain and lose?"""

import streamlit as st

from probing.ui import compare_flow, compare_layers, compare_pair, page, parts

view = page.open_page("compare", "Compare models", "What fine-tuning kept, gained and lost")
st.markdown(
    "Two models, the same facts, the same heads. Fine-tuning starts from a model's weights and teaches it a task; what it knew before may "
    "stay, move to another layer, or go."
)
pair = compare_pair.choose(view)
if pair is not None:
    compare_pair.draw_badge(view, pair)
    compare_pair.draw_curves(view, pair)
    compare_flow.draw_flow(view, pair)
    compare_flow.draw_family(view, pair)
    compare_layers.draw_answers(view, pair)
    compare_layers.draw_weights(view, pair)
    compare_layers.draw_early_exit(view, pair)
    parts.small_model_note([pair.base["model"], pair.model["model"]])
