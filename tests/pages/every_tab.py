"""A page with all of its tabs, of which it draws only the open one."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from streamlit.testing.v1 import AppTest

import probing.choices  # noqa: F401  declares what can be chosen on each page
from probing.kernel.app import selection


class EveryTab:
    """The elements of several visits of a page, one per tab, in one list per kind; what is above the tabs is there once
    per tab.
    """

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


def links_to_tabs(page: str) -> list[dict[str, str]]:
    """What a link to each tab of a page has: nothing for the first, which opens by itself, and for a page without
    tabs.
    """
    tabs = [
        (one.name, value)
        for one in fields(selection._OWN[page])
        if one.name.endswith(("_tab", "_view"))
        for value in one.metadata["choices"][1:]
    ]
    return [{}, *({name: value} for name, value in tabs)]


def whole(look: Callable[..., AppTest], page: str, **query: Any) -> EveryTab:
    """Opens a page by link once per tab that it has; arguments as for ``conftest.opening``."""
    return EveryTab([look(page, **tab, **query) for tab in links_to_tabs(page)])
