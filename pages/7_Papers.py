"""The papers' numbers next to ours, and a verdict on each claim."""

from probing.ui.frame import page
from probing.ui.reproduction.page import draw

draw(page.open_page("papers", "Papers", "The papers' numbers next to ours", needs_results=False))
