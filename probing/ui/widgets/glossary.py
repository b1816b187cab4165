"""Hover help: the meaning of the terms in a text, from the glossary that the Methods page lists."""

import re

import streamlit as st

from probing.core.glossary.terms import Term, found_in
from probing.ui.widgets.markdown import Markdown, filled, joined

_BADGE, _MARKUP = re.compile(r":\w+-badge\[[^\]]*\]"), re.compile(r"[*\\`]")


def help_on(text: str) -> Markdown | None:
    """The terms of a text with their meanings, as Markdown; None if it has none."""
    found = found_in(_MARKUP.sub("", _BADGE.sub("", text)))
    return joined("\n", map(line, found)) if found else None


def line(term: Term) -> Markdown:
    """A term and its meaning."""
    return filled("- **{name}**: {meaning}", name=term.name, meaning=term.meaning)


def answer(text: Markdown) -> None:
    """Draws a page's answer, with its terms in its hover help."""
    st.markdown(text, help=help_on(text))
