"""Definitions, provenance, licences, differences from the papers."""

from probing.ui.frame import page, selection
from probing.ui.methods import citing, explained, search, yardsticks
from probing.ui.methods.selection import TABS

view = page.open_page("methods", "Methods and data", "Methods and data", needs_results=False)
if not search.draw(view):
    tabs = selection.tabs("methods_tab", TABS, view.page)
    with tabs["definitions"]:
        explained.definitions()
    with tabs["yardsticks"]:
        yardsticks.draw(view)
    with tabs["data"]:
        explained.provenance(view)
        explained.bert()
    with tabs["differences"]:
        explained.differences()
    with tabs["cite"]:
        citing.draw()
