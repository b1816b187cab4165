"""The sections of a page, and links to them at its top if there are many."""

import re
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from probing.ui.widgets.markdown import Markdown, escape, filled, joined

#: A page with at most this many sections has no links to them.
MAX_WITHOUT = 3
_BEFORE = "probing.contents"


@dataclass
class Contents:
    """The sections that a page has drawn.

    Attributes:
        page: name of the page.
        slot: placeholder for the links; None until it is reserved.
        sections: anchor -> title, in the page's order.
    """

    page: str = ""
    slot: Any = None
    sections: dict[str, str] = field(default_factory=dict)

    def section(self, title: str, *, linked: bool = True) -> None:
        """Draws the heading of a section.

        Args:
            title: plain text; unique among the linked sections of the page.
            linked: whether the top of the page links to it.
        """
        anchor = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        if linked:
            self.sections[anchor] = title
        st.header(escape(title), anchor=anchor if linked else None)

    def links(self) -> None:
        """Reserves the place for the links, once; it shows the previous links, so that nothing moves while the page is drawn."""
        if self.slot is None:
            self.slot = st.empty()
            _draw(self.slot, st.session_state.get(_BEFORE, {}).get(self.page, {}))

    def end(self) -> None:
        """Updates the links to the sections that were drawn; a page calls it last."""
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
