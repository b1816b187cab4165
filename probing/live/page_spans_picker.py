"""Choice of one or two spans of words: by mouse and keyboard in a component of ours, or from lists."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from probing.choices import NO_SPAN
from probing.edges.targets import Span
from probing.edges.words import written_span
from probing.kernel.app import selection
from probing.kernel.app.texts import escape, filled

_KEY = "ask.picker"
_HERE = Path(__file__)
#: Words are passed as data and become the text of buttons, never part of the HTML.
_COMPONENT = st.components.v2.component(
    "bertnesia_words",
    html='<div class="picker"></div>',
    css=_HERE.with_name("picker.css").read_text(encoding="utf-8"),
    js=_HERE.with_name("picker.js").read_text(encoding="utf-8"),
)


def draw(words: Sequence[str], spans: Sequence[Span]) -> None:
    """Draws the words; a choice changes the page's selection."""

    def clicked() -> None:
        state: Any = st.session_state.get(_KEY) or {}
        if (changed := changed_spans(state.get("chosen"), len(words), spans)) is not None:
            choose(changed)

    _COMPONENT(key=_KEY, data={"words": list(words), "spans": [list(span) for span in spans]}, on_chosen_change=clicked)


def lists(words: Sequence[str], spans: Sequence[Span]) -> None:
    """Draws the same choice as lists of words."""
    for number in range(min(len(spans) + 1, 2)):
        _list(number, words, spans)


def _list(number: int, words: Sequence[str], spans: Sequence[Span]) -> None:
    key = f"{_KEY}.list{number + 1}"
    before = spans[number] if number < len(spans) else None
    # Numbers distinguish equal words.
    st.session_state[key] = list(range(*before)) if before else []

    def picked() -> None:
        choose(replaced(spans, number, hull(st.session_state[key], before)))

    st.pills(
        filled("Span {number}", number=number + 1),
        list(range(len(words))),
        selection_mode="multi",
        key=key,
        on_change=picked,
        format_func=lambda at: escape(words[at]),
        help="All words between the first and the last chosen one belong to the span.",
    )


def choose(spans: Sequence[Span]) -> None:
    """Selects these spans; for callbacks of widgets."""
    first, second = [*map(written_span, spans), NO_SPAN, NO_SPAN][:2]
    selection.update(span1=first, span2=second)


def replaced(spans: Sequence[Span], number: int, span: Span | None) -> list[Span]:
    """The spans with one replaced, or removed if ``span`` is None; a second may then become the first."""
    given: list[Span | None] = [*spans[:number], span, *spans[number + 1 :]]
    return [span_given for span_given in given if span_given is not None]


def hull(chosen: Iterable[int], before: Span | None) -> Span | None:
    """The span from the first to the last chosen word; if one inside was removed, the longest part left."""
    words = sorted(set(chosen))
    if not words:
        return None
    if before and set(words) < set(range(*before)):
        runs: list[list[int]] = [[words[0]]]
        for word in words[1:]:
            if word == runs[-1][-1] + 1:
                runs[-1].append(word)
            else:
                runs.append([word])
        words = max(runs, key=len)
    return words[0], words[-1] + 1


def changed_spans(event: Any, words: int, spans: Sequence[Span]) -> list[Span] | None:
    """The spans after an event of the component; None if the event is invalid, as any browser can send anything.

    An event is ``{"words", "span", "start", "end"}``, without ``start`` and ``end`` to remove the span; or ``{"words",
    "swap"}``.
    """
    if not isinstance(event, Mapping) or event.get("words") != words:
        return None
    if event.get("swap") is True:
        return list(reversed(spans)) if len(spans) == 2 else None
    number = event.get("span")
    if number not in (1, 2) or isinstance(number, bool) or number > len(spans) + 1:
        return None
    if "start" not in event and "end" not in event:
        return replaced(spans, number - 1, None)
    start, end = event.get("start"), event.get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= words:
        return None
    return replaced(spans, number - 1, (start, end))
