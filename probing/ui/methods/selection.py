"""The selection of the page of methods and data."""

from dataclasses import dataclass

from probing.ui.frame.selection import declared, one_of

#: Parts of the page by their names in links -> labels of their tabs.
TABS = {
    "definitions": "Definitions",
    "yardsticks": "Yardsticks",
    "data": "Data, models and licences",
    "differences": "Differences from the papers",
    "cite": "Cite",
}


@declared("methods")
@dataclass(frozen=True)
class MethodsSelection:
    """The page's own choices.

    Attributes:
        methods_search: the words that the shown entries have; empty shows the tabs.
        methods_tab: the tab that is open.
    """

    methods_search: str = ""
    methods_tab: str = one_of(tuple(TABS))
