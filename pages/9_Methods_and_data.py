"""Definitions, provenance, licences, differences from the papers."""

from probing.ui.frame import page, selection
from probing.ui.methods import citing, explained, yardsticks
from probing.ui.methods.selection import TABS

view = page.open_page("methods", "Methods and data", "Methods and data", needs_results=False)
tabs = selection.tabs(view.page, "methods_tab", TABS)
name = next(name for name, tab in tabs.items() if tab.open)
with tabs[name]:
    if name == "definitions":
        explained.definitions()
    elif name == "yardsticks":
        yardsticks.draw(view)
    elif name == "data":
        explained.provenance(view)
        explained.bert()
    elif name == "differences":
        explained.differences()
    else:
        citing.draw()
