"""The view of a whole sentence: attention of a token, predictions of probes, and repeated words."""

from typing import TYPE_CHECKING

import streamlit as st

from probing.core.errors import ProbingError
from probing.core.head_kinds import LOGIT_LENS
from probing.ui.frame import live_models
from probing.ui.frame.page import View
from probing.ui.live.sentence import attention_view, probe_answers, sentence_models, word_similarity
from probing.ui.live.sentence.controls import Two
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import count, filled

if TYPE_CHECKING:
    from probing.models.changes.ask import SentenceAttention


def draw(view: View, two: Two | None, text: str, pair: str) -> None:
    """Asks the models and draws the results."""
    if two is None:
        return
    if not text:
        st.info("Type a sentence, or choose an example.", icon=":material/edit:")
        return
    found = _attention(two, text, pair)
    if found is not None:
        _pieces(two, found)
        attention_view.draw(view, two, found)
    probe_answers.draw(view, two, text, pair)
    if found is not None:
        word_similarity.draw(view, found)


def _attention(two: Two, text: str, pair: str) -> "SentenceAttention | None":
    try:
        return sentence_models.attention(two.model, two.base, text, pair)
    except ProbingError as error:
        blocks.problem(error)
        return None


def _pieces(two: Two, found: "SentenceAttention") -> None:
    """Reports the number of word pieces unknown to the model; they take part in attention like all others."""
    unknown = found.tokens.count(str(live_models.load(two.model, LOGIT_LENS).encoder.tokenizer.unk_token))
    if unknown:
        words = "{n} of {all} are unknown to the model, which treats all unknown ones alike."
        st.info(filled(words, n=count(unknown, "word piece"), all=len(found.tokens)), icon=":material/help:")
