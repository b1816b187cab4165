"""Hover help: the meaning of the terms in a text, from the glossary that the Methods page lists."""

import re

import streamlit as st

from probing.kernel.app.texts import Markdown, escape, filled, joined
from probing.terms_terms import Term, terms_in

_BADGE, _MARKUP = re.compile(r":\w+-badge\[[^\]]*\]"), re.compile(r"[*\\`]")


def help_on(text: str) -> Markdown:
    """The terms of a text with their meanings, one per line; ``""`` if it has none."""
    return joined("\n", map(line, terms_in(_MARKUP.sub("", _BADGE.sub("", text)))))


def line(term: Term) -> Markdown:
    return filled("- **{name}**: {meaning}", name=term.name, meaning=term.meaning)


def answer(text: Markdown) -> None:
    """Draws a page's answer, with its terms in its hover help."""
    st.markdown(escape(text), help=help_on(text))
