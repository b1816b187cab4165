"""A page with all of its tabs, of which it draws only the open one."""

from collections.abc import Callable, Sequence
from typing import Any

from streamlit.testing.v1 import AppTest

from probing.ui.choices.methods import TABS as METHODS_TABS
from probing.ui.choices.papers import TABS as PAPERS_TABS
from probing.ui.compare.selection import TABS as COMPARE_TABS
from probing.ui.fine_tuning.selection import TABS as TUNING_TABS
from probing.ui.forgetting.selection import TABS as FORGETTING_TABS
from probing.ui.pipeline.selection import TABS as PIPELINE_TABS

#: Page -> the field of its link that opens a tab, and the names of the tabs.
TABS = {
    "compare": ("compare_tab", COMPARE_TABS),
    "grammar": ("edge_tab", PIPELINE_TABS),
    "fine_tuning": ("tuning_tab", TUNING_TABS),
    "forgetting": ("forgetting_tab", FORGETTING_TABS),
    "papers": ("papers_tab", PAPERS_TABS),
    "methods": ("methods_tab", METHODS_TABS),
}


class EveryTab:
    """The elements of several visits of a page, one per tab, in one list per kind; what is above the tabs is there once per tab."""

    def __init__(self, parts: Sequence[Any]):
        self._parts = parts

    @property
    def main(self) -> "EveryTab":
        """The part next to the sidebar."""
        return EveryTab([part.main for part in self._parts])

    def get(self, kind: str) -> list:
        """The elements of a kind."""
        return [one for part in self._parts for one in part.get(kind)]

    def __getattr__(self, kind: str) -> list:
        return [one for part in self._parts for one in getattr(part, kind)]


def every_tab(visit: Callable[..., AppTest], field: str, tabs: Sequence[str], **query: str) -> EveryTab:
    """Visits a page once per tab.

    Args:
        visit: opens the page by link.
        field: of the link, which has the tab.
        tabs: their names in links.
        query: other fields of the link.
    """
    return EveryTab([visit(**{field: tab}, **query) for tab in tabs])


def links_to_tabs(page: str) -> list[dict[str, str]]:
    """What a link to each tab of a page has: nothing for the first, which opens by itself, and for a page without tabs."""
    field, tabs = TABS.get(page, ("", ("",)))
    return [{field: tab} if place else {} for place, tab in enumerate(tabs)]


def whole(look: Callable[..., AppTest], page: str, **query: Any) -> EveryTab:
    """Opens a page by link once per tab that it has; arguments as for ``conftest.opening``."""
    return EveryTab([look(page, **tab, **query) for tab in links_to_tabs(page)])
