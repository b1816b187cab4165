"""From which layer on do probes read each step of the classical pipeline?"""

from probing.ui.choices.grammar import TABS
from probing.ui.frame import page, selection
from probing.ui.pipeline import bars, curves, headline, labels, order, rows
from probing.ui.pipeline.page_view import open_results
from probing.ui.sentence_probes import own_file, whole

view = page.open_page("grammar", "Grammar", "Where in the layers syntax and meaning appear", needs_results=False)
shown = open_results(view)
words = headline.draw(shown)
rows.draw_places(shown, words)
with selection.open_tab("grammar_tab", TABS, view.page) as tab:
    if tab == "scores":
        rows.draw_scores(shown)
    elif tab == "layers":
        curves.draw(shown)
        bars.draw(shown)
    elif tab == "whole":
        whole.draw(view)
    elif tab == "own":
        own_file.draw(view)
    else:
        order.draw(shown)
        labels.draw(shown)
        rows.ways(shown)
page.end(view)
