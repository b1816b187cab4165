"""The paper's numbers beside ours, and what becomes of its claims."""

from probing.ui.frame import page
from probing.ui.reproduction import claim_cards, paper_figures, paper_tables

view = page.open_page("reproduction", "Reproduction", "The paper's numbers beside ours")
ours = paper_tables.choose_family(view)
tables, figures, claims = paper_tables.tabs()
with tables:
    paper_tables.tables(view, ours)
with figures:
    paper_figures.draw(view, ours.gathered)
with claims:
    claim_cards.cards(view, ours)
