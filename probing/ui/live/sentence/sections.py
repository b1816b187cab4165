"""What becomes of a whole sentence: what a token attends to, what probes say, and the same word twice."""

from typing import TYPE_CHECKING

import streamlit as st

from probing.core.errors import ProbingError
from probing.core.head_kinds import LOGIT_LENS
from probing.ui.frame import live_models
from probing.ui.frame.page import View
from probing.ui.live.sentence import asked, attending, said, similar
from probing.ui.live.sentence.controls import Two
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import count, filled

if TYPE_CHECKING:
    from probing.models.changes.ask import SentenceAttention


def draw(view: View, two: Two | None, text: str, pair: str) -> None:
    """Asks, and draws what comes back."""
    if two is None:
        return
    if not text:
        st.info("Type a sentence, or take a ready one.", icon=":material/edit:")
        return
    found = _attention(two, text, pair)
    if found is not None:
        _pieces(two, found)
        attending.draw(view, two, found)
    said.draw(view, two, text, pair)
    if found is not None:
        similar.draw(view, found)


def _attention(two: Two, text: str, pair: str) -> "SentenceAttention | None":
    try:
        return asked.attention(two.model, two.base, text, pair)
    except ProbingError as error:
        blocks.problem(error)
        return None


def _pieces(two: Two, found: "SentenceAttention") -> None:
    """Says how many pieces are unknown to the model, which attend and are attended to as any other."""
    unknown = found.tokens.count(str(live_models.load(two.model, LOGIT_LENS).encoder.tokenizer.unk_token))
    if unknown:
        words = "{n} of {all} are unknown to the model: it sees all of them as the same."
        st.info(filled(words, n=count(unknown, "word piece"), all=len(found.tokens)), icon=":material/help:")
