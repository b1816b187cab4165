"""What did fine-tuning forget, does it come back, when did it go, and what prevents it?"""

from probing.ui.choices.compare import TABS, CompareSelection
from probing.ui.compare import all_models, beyond, prevention, when
from probing.ui.frame import page, selection

DRAW = {"when": when.draw, "prevention": prevention.draw, "beyond": beyond.draw, "models": all_models.draw}

view = page.open_page("compare", "Compare models", "What did fine-tuning forget?", needs_results=False)
if view.database is not None:
    own = selection.of(CompareSelection)
    tuned = own.tuned or (view.clearest.model if view.clearest else "")
    with selection.open_tab("compare_tab", {tab: TABS[tab] for tab in DRAW}, view.page) as tab:
        DRAW[tab](view, own.versus_model, tuned)
page.end(view)
