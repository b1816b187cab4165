"""BERTnesia compared with our results: its tables, figures and claims."""

from probing.ui.frame import page
from probing.ui.frame.page import View
from probing.ui.reproduction import claim_cards, paper_figures, paper_tables
from probing.ui.reproduction.papers import tabs
from probing.ui.reproduction.selection import TABS
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import Markdown


def draw(view: View) -> None:
    """Everything that the page shows of this paper; if nothing was probed, stops with the command that probes."""
    page.require(view, len(view.runs) > 0, Markdown("No results are stored yet."), blocks.PROBE_COMMAND)
    ours = paper_tables.choose_family(view)
    tables, figures, claims = tabs("paper_tab", TABS)
    with tables:
        paper_tables.tables(view, ours)
    with figures:
        paper_figures.draw(view, ours.gathered)
    with claims:
        claim_cards.cards(view, ours)
