"""The controls of the view of spans: the models, the sentence and the spans of its words."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from probing.core.edges.target import Span
from probing.core.edges.words import read_span, split_words
from probing.core.errors import EdgeDataError
from probing.ui.frame import live_models, selection
from probing.ui.frame.page import View
from probing.ui.live import controls
from probing.ui.live.selection import NO_SPAN, SPAN_EXAMPLES, LiveSelection
from probing.ui.live.spans import picker
from probing.ui.widgets import blocks
from probing.ui.widgets.markdown import escape, filled, listing

#: Title of each example -> the paper's observation.
EXAMPLES = {
    "(a) smoked toronto": "BERT-base's entities probe first labels “toronto” as a place, and as an organisation once its role in “smoked” "
    "is clear.",
    "(b) china today": "BERT-base first labels “today” as a time, and later “china today” as an organisation that blacks something out.",
}
_SENTENCES = dict(zip(EXAMPLES, SPAN_EXAMPLES, strict=True))


@dataclass(frozen=True)
class SpanQuestion:
    """Attributes:
    words: the words of the sentence.
    spans: the chosen spans; none, one or two.
    """

    words: tuple[str, ...]
    spans: tuple[Span, ...]

    def text(self, span: Span) -> str:
        """The words of a span."""
        return " ".join(self.words[span[0] : span[1]])


def draw(view: View) -> tuple[list[live_models.Choice], SpanQuestion]:
    """Draws the controls; returns the models, with ``live_model`` first, and the question to them."""
    page, own, offered = view.page, selection.of(LiveSelection), live_models.choices()
    selection.bound(
        st.text_area,
        "A sentence",
        "words",
        page,
        height=68,
        max_chars=selection.MAX_TEXT,
        resets={"span1": "", "span2": ""},
        placeholder="Type a sentence, then choose its words below.",
    )
    name = live_models.pick(selection.current().live_model, offered)
    others = [other for other in own.live_models if other in offered and other != name][: controls.MAX_MODELS - 1]
    named = controls.named_models(view, offered)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.pills(
            "Sentences of the paper's Figure 3",
            list(EXAMPLES),
            key="live.figure3",
            on_change=_take_example,
            format_func=escape,
            label_visibility="collapsed",
            help="The two sentences of Figure 3 of Tenney et al. (2019).",
        )
        controls.choose_model(page, name, named, label_visibility="collapsed", width=230)
        with st.popover("More models", icon=":material/tune:"):
            _options(page, {one: words for one, words in named.items() if one != name}, others)
    if others:
        st.caption(filled("Compared with {names}.", names=listing([view.label(one) for one in others])))
    controls.left_aside(offered, name)
    question = _question(own)
    if note := next((EXAMPLES[one] for one, sentence in _SENTENCES.items() if sentence == own.words), ""):
        st.caption(filled("Figure 3 of Tenney et al. (2019): {note}", note=note))
    if question.words:
        picker.draw(question.words, question.spans)
    return [offered[one] for one in (name, *others)], question


def _options(page: str, named: dict[str, str], others: Sequence[str]) -> None:
    controls.choose_others(page, named, others)
    selection.bound(
        st.toggle,
        "Use the base's probes for fine-tuned models",
        "base_probes",
        page,
        help="On: probes trained on the base read the layers of the fine-tuned model, which shows what can still be read in the same way. "
        "Off: a fine-tuned model is read by probes trained on its own layers.",
    )


def _question(own: LiveSelection) -> SpanQuestion:
    """The words and spans of the link; reports invalid spans, which are ignored."""
    words, spans = split_words(own.words), []
    example = SPAN_EXAMPLES.get(own.words, ("", ""))
    for name, given, usual in (("span1", own.span1, example[0]), ("span2", own.span2, example[1])):
        written = given or usual
        if not written or written == NO_SPAN or not words:
            continue
        try:
            spans.append(read_span(written, len(words), name))
        except EdgeDataError as error:
            blocks.problem(error)
    return SpanQuestion(words, tuple(spans))


def _take_example() -> None:
    if chosen := st.session_state["live.figure3"]:
        selection.update(words=_SENTENCES[chosen], span1="", span2="")
    # Pills act as buttons here: unselected, the same one can be pressed again.
    st.session_state["live.figure3"] = None
