"""The selection of the page of methods and data: which tab is open."""

from dataclasses import dataclass

from probing.ui.frame.selection import declared, one_of

#: Tab by its name in links -> its title.
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
        methods_tab: the tab that is open.
    """

    methods_tab: str = one_of(tuple(TABS))
