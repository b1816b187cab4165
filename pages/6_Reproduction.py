"""The papers' numbers beside ours, and what becomes of their claims."""

from probing.ui.frame import page
from probing.ui.reproduction import bertnesia
from probing.ui.reproduction.edges import beside_ours
from probing.ui.reproduction.papers import choose_paper

view = page.open_page("reproduction", "Reproduction", "The papers' numbers beside ours", needs_results=False)
if choose_paper(view) == "edge-probing":
    beside_ours.draw(view)
else:
    bertnesia.draw(view)
