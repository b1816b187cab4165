"""What comes back of the facts that fine-tuning lost?"""

from probing.ui.forgetting import facts, headline, trainings
from probing.ui.forgetting.page_view import open_results
from probing.ui.forgetting.selection import TABS
from probing.ui.frame import page, selection

view = page.open_page("forgetting", "Forgetting", "What comes back of what was lost?", needs_results=False)
if shown := open_results(view):
    headline.draw(shown)
    with selection.open_tab("forgetting_tab", TABS, view.page) as tab:
        if tab == "facts":
            headline.ways_back(shown)
            facts.by_relation(shown)
            facts.draw(shown)
        else:
            trainings.draw(view, shown.model)
else:
    view.introduce()
    trainings.draw(view)
view.contents.end()
