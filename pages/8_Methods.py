"""Definitions, provenance, licences, differences from the papers."""

from probing.ui.frame import page, selection
from probing.ui.methods import citation_section, definitions, search, yardsticks
from probing.ui.methods.selection import TABS

view = page.open_page("methods", "Methods", "Methods and data", needs_results=False)
if not search.draw(view):
    with selection.open_tab("methods_tab", TABS, view.page) as tab:
        if tab == "definitions":
            definitions.definitions()
        elif tab == "yardsticks":
            yardsticks.draw(view)
        elif tab == "data":
            definitions.provenance(view)
            definitions.columns()
            definitions.bert()
        elif tab == "differences":
            definitions.differences()
        else:
            citation_section.draw()
