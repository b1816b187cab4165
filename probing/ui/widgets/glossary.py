"""Hover help: the meaning of the terms in a text, from the glossary that the Methods page lists."""

import re

import streamlit as st

from probing.core.glossary.terms import Term, terms_in
from probing.ui.widgets.markdown import Markdown, escape, filled, joined

_BADGE, _MARKUP = re.compile(r":\w+-badge\[[^\]]*\]"), re.compile(r"[*\\`]")


def help_on(text: str) -> Markdown:
    """The terms of a text with their meanings, one per line; ``""`` if it has none."""
    return joined("\n", map(line, terms_in(_MARKUP.sub("", _BADGE.sub("", text)))))


def line(term: Term) -> Markdown:
    return filled("- **{name}**: {meaning}", name=term.name, meaning=term.meaning)


def answer(text: Markdown) -> None:
    """Draws a page's answer, with its terms in its hover help."""
    st.markdown(escape(text), help=help_on(text))
