"""The sections of a page, and links to them at its top where there are many."""

import re
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from probing.ui.widgets.markdown import Markdown, escape, filled, joined

#: A page with no more sections than this has no links to them.
MAX_WITHOUT = 3
_BEFORE = "probing.contents"


@dataclass
class Contents:
    """The sections that a page has drawn.

    Attributes:
        page: name of the page.
        slot: where the links stand; None as long as there is no place for them.
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

    def links(self) -> None:
        """Keeps a place for the links here, where none is kept yet: filled as last time, so that nothing moves while the page is drawn."""
        if self.slot is None:
            self.slot = st.empty()
            _draw(self.slot, st.session_state.get(_BEFORE, {}).get(self.page, {}))

    def end(self) -> None:
        """Links to the sections that were drawn: the last call of a page."""
        before = st.session_state.setdefault(_BEFORE, {})
        if self.slot is not None and before.get(self.page, {}) != self.sections:
            _draw(self.slot, self.sections)
            before[self.page] = dict(self.sections)


def _draw(slot: Any, sections: dict[str, str]) -> None:
    if len(sections) <= MAX_WITHOUT:
        slot.empty()
        return
    links = (filled("[{title}](#{anchor})", title=title, anchor=Markdown(anchor)) for anchor, title in sections.items())
    slot.markdown(filled(":small[On this page: {links}]", links=joined(" · ", links)))
