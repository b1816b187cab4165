"""The sections of a page, and links to them at its top where there are many."""

import re
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from probing.ui.widgets.markdown import Markdown, escape, filled, joined

#: A page with no more sections than this has no links to them.
MOST_WITHOUT = 3
_BEFORE = "probing.contents"


@dataclass(frozen=True)
class Contents:
    """The sections that a page has drawn.

    Attributes:
        page: name of the page.
        slot: where the links stand; None where there is no place for them.
        sections: anchor -> title, in the page's order.
    """

    page: str = ""
    slot: Any = None
    sections: dict[str, str] = field(default_factory=dict)

    def section(self, title: str, *, linked: bool = True) -> None:
        """Heads a section.

        Args:
            title: in plain text; no other section that is linked has it.
            linked: whether the page's top links to it; a section in a tab cannot be reached while the tab is closed.
        """
        anchor = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        if linked:
            self.sections[anchor] = title
        st.header(escape(title), anchor=anchor if linked else None)

    def end(self) -> None:
        """Links to the sections that were drawn: the last call of a page."""
        before = st.session_state.setdefault(_BEFORE, {})
        if self.slot is not None and before.get(self.page, {}) != self.sections:
            _draw(self.slot, self.sections)
            before[self.page] = dict(self.sections)


def begin(page: str) -> Contents:
    """Keeps a place for the links, filled as when the page was drawn last, so that nothing moves while it is drawn again."""
    slot = st.empty()
    _draw(slot, st.session_state.get(_BEFORE, {}).get(page, {}))
    return Contents(page, slot)


def _draw(slot: Any, sections: dict[str, str]) -> None:
    if len(sections) <= MOST_WITHOUT:
        slot.empty()
        return
    links = (filled("[{title}](#{anchor})", title=title, anchor=Markdown(anchor)) for anchor, title in sections.items())
    slot.markdown(filled(":small[On this page: {links}]", links=joined(" · ", links)))
