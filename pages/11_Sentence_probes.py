"""Which properties of whole sentences can a probe predict, layer by layer?"""

from probing.ui.frame import page
from probing.ui.sentence_probes import curves, headline, learning, own_file
from probing.ui.sentence_probes.page_view import open_results

view = page.open_page("sentence_probes", "Sentence probes", "What whole sentences show, layer by layer", needs_results=False)
if shown := open_results(view):
    headline.draw(shown)
    curves.draw(shown)
    learning.draw(shown)
own_file.draw(view)
view.contents.end()
