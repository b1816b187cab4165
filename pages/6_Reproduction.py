"""The paper's numbers beside ours, and what becomes of its claims."""

import streamlit as st

from probing.ui import page, parts, reproduction, reproduction_claims, reproduction_figures

view = page.open_page("reproduction", "Reproduction", "The paper's numbers beside ours")
ours = reproduction.choose_family(view)
tables, figures, claims = st.tabs(["Tables 1 to 3", "Figures 1 to 18", "Claims of the text"])
with tables:
    reproduction.tables(view, ours)
with figures:
    reproduction_figures.draw(view, ours.gathered)
with claims:
    reproduction_claims.cards(view, ours)
parts.small_model_note(ours.gathered.family.models)
