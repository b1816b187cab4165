"""What comes back of the facts that fine-tuning lost?"""

from probing.ui.forgetting import facts, headline
from probing.ui.forgetting.page_view import open_results
from probing.ui.frame import page

view = page.open_page("forgetting", "Forgetting", "What comes back of what was lost?", needs_results=False)
if shown := open_results(view):
    headline.draw(shown)
    headline.ways_back(shown)
    facts.by_relation(shown)
    facts.draw(shown)
view.contents.end()
