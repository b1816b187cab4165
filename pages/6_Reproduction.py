"""The papers' numbers next to ours, and a verdict on each claim."""

from probing.ui.frame import page
from probing.ui.reproduction import bertnesia
from probing.ui.reproduction.edges import beside_ours as edges
from probing.ui.reproduction.papers import choose_paper
from probing.ui.reproduction.sentences import beside_ours as sentences

DRAW = {"bertnesia": bertnesia.draw, "edge-probing": edges.draw, "interplay": sentences.draw}
view = page.open_page("reproduction", "Reproduction", "The papers' numbers next to ours", needs_results=False)
DRAW[choose_paper(view)](view)
