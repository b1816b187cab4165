"""From which layer on do probes read each step of the classical pipeline?"""

from probing.ui.choices.grammar import TABS
from probing.ui.edge_sentences import page_view as sentences
from probing.ui.edge_sentences import sentence_search, trace
from probing.ui.frame import page, selection
from probing.ui.pipeline import bars, curves, headline, labels, order, rows
from probing.ui.pipeline.page_view import open_results
from probing.ui.sentence_probes import curves as whole_curves
from probing.ui.sentence_probes import headline as whole_headline
from probing.ui.sentence_probes import learning, own_file
from probing.ui.sentence_probes import page_view as whole

view = page.open_page("grammar", "Grammar", "Where is grammar?", needs_results=False)
shown = open_results(view)
words = headline.draw(shown)
rows.draw_places(shown, words)
with selection.open_tab("grammar_tab", TABS, view.page) as tab:
    if tab == "scores":
        rows.draw_scores(shown)
        curves.draw(shown)
    elif tab == "order":
        order.draw(shown)
        bars.draw(shown)
        labels.draw(shown)
    elif tab == "sentence":
        traced = sentences.open_results(view)
        sentence_search.filters(traced)
        trace.draw(traced, sentence_search.listing(traced))
    elif tab == "whole":
        if probed := whole.open_results(view):
            whole_headline.draw(probed)
            whole_curves.draw(probed)
            learning.draw(probed)
    else:
        own_file.draw(view)
page.end(view)
