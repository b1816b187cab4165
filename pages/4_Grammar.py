"""From which layer on do probes read each step of the classical pipeline?"""

from probing.ui.frame import page, selection
from probing.ui.pipeline import bars, curves, headline, labels, order, rows
from probing.ui.pipeline.page_view import open_results
from probing.ui.pipeline.selection import TABS

view = page.open_page("grammar", "Grammar", "Where in the layers syntax and meaning appear", needs_results=False)
shown = open_results(view)
words = headline.draw(shown)
rows.draw_places(shown, words)
with selection.open_tab("edge_tab", TABS, view.page) as tab:
    if tab == "scores":
        rows.draw_scores(shown)
    elif tab == "layers":
        curves.draw(shown)
        bars.draw(shown)
    else:
        order.draw(shown)
        labels.draw(shown)
        rows.ways(shown)
view.contents.end()
