"""The Reproduction page with all of its tabs; the page draws only the open one."""

from collections.abc import Callable, Sequence
from typing import Any

from streamlit.testing.v1 import AppTest


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
