"""Are the facts that fine-tuning lost forgotten, or only out of reach?"""

from probing.ui.forgetting import facts, headline, trainings, where
from probing.ui.forgetting.selection import TABS
from probing.ui.forgetting.shown import open_results
from probing.ui.frame import page, selection

view = page.open_page("forgetting", "Forgetting", "Forgotten, or only out of reach?", needs_results=False)
if shown := open_results(view):
    headline.draw(shown)
    tabs = selection.tabs("forgetting_tab", TABS, view.page)
    with view.contents.within(tabs["facts"]):
        where.draw(shown)
        facts.draw(shown)
    with view.contents.within(tabs["trainings"]):
        trainings.draw(view)
else:
    view.introduce()
    trainings.draw(view)
view.contents.end()
