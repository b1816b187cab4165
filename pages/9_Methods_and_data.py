"""Definitions, provenance, licences, differences from the papers."""

from probing.ui.frame import page, selection
from probing.ui.methods import citing, explained, yardsticks
from probing.ui.methods.selection import TABS

view = page.open_page("methods", "Methods and data", "Methods and data", needs_results=False)
tabs = selection.tabs(view.page, "methods_tab", TABS)
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
