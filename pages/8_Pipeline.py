"""From which layer on do probes read each step of the classical pipeline?"""

from probing.ui.frame import page, selection
from probing.ui.pipeline import bars, curves, headline, labels, order, rows
from probing.ui.pipeline.selection import TABS
from probing.ui.pipeline.shown import open_results

view = page.open_page("pipeline", "Pipeline", "Where in the layers syntax and meaning appear", needs_results=False)
shown = open_results(view)
words = headline.draw(shown)
rows.draw_places(shown, words)
tabs = selection.tabs("edge_tab", TABS, view.page)
with view.contents.within(tabs["scores"]):
    rows.draw_scores(shown)
with view.contents.within(tabs["layers"]):
    curves.draw(shown)
    bars.draw(shown)
with view.contents.within(tabs["order"]):
    order.draw(shown)
    labels.draw(shown)
    rows.ways(shown)
view.contents.end()
