"""The paper's numbers beside ours, and what becomes of its claims."""

import streamlit as st

from probing.ui.frame import page
from probing.ui.reproduction import claim_cards, paper_figures, paper_tables

view = page.open_page("reproduction", "Reproduction", "The paper's numbers beside ours")
ours = paper_tables.choose_family(view)
tables, figures, claims = st.tabs(["Tables 1 to 3", "Figures 1 to 18", "Claims of the text"])
with tables:
    paper_tables.tables(view, ours)
with figures:
    paper_figures.draw(view, ours.gathered)
with claims:
    claim_cards.cards(view, ours)
