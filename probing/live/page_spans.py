"""The tab of chosen words: one or two spans, chosen by mouse or keyboard, labelled by the edge probes of all layers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from probing.choices import NO_SPAN, SPAN_EXAMPLES, AskSelection
from probing.edges.figures_spans import span_bars
from probing.edges.report import yardsticks
from probing.edges.report_panels import label_rows, panel_rows, said_rows
from probing.edges.targets import Span
from probing.edges.tasks import EDGE_TASKS, train_command
from probing.edges.words import SpanTrace, read_span, split_words, written_span
from probing.kernel.app import blocks, filters, selection
from probing.kernel.app.figure_cache import Stamp, drawing
from probing.kernel.app.frame import View
from probing.kernel.app.texts import escape, filled, listing
from probing.kernel.errors import EdgeDataError, ProbingError
from probing.kernel.fact import MASK
from probing.live import page_live_models as live_models
from probing.live import page_models
from probing.live.page_live_models import Choice
from probing.live.page_models import Readers, SpanQuestion, readers, span_answers
from probing.live.perturb import find_entity

_KEY = "ask.picker"
_HERE = Path(__file__)
#: Words are passed as data and become the text of buttons, never part of the HTML.
_COMPONENT = st.components.v2.component(
    "bertnesia_words",
    html='<div class="picker"></div>',
    css=_HERE.with_name("picker.css").read_text(encoding="utf-8"),
    js=_HERE.with_name("picker.js").read_text(encoding="utf-8"),
)


def draw_picker(words: Sequence[str], spans: Sequence[Span]) -> None:
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


CAPTION = "A row is a task: which label the layers 0 to l give to the chosen words. Blue: the last layer's label."
HOW = (
    "Bars are shares of all labels' probabilities; if words may have several labels, each bar is its own probability."
    " Orange and grey: two labels that other layers prefer or, if there are none, the next most probable ones. From the"
    " dotted line on, the label stays. A probe labels any words that it is given; it does not decide whether they are,"
    " say, a name. The examples are those of Figure 3 of Tenney et al. (2019): there, “toronto” is a place first, then"
    " an organisation. With the base's probes one sees what can still be read from a fine-tuned model in the same way."
)


def draw_spans(view: View, sentence: str) -> None:
    """Draws the choice of words, and the labels that all layers give them."""
    with filters.bar(view, own=("live_models", "base_probes"), label="Options") as place:
        page_models.choose(view)
        page_models.choose_example("figure3", {text: {} for text in SPAN_EXAMPLES})
        with place:
            page_models.choose_others(view)
            selection.bound("base_probes")
    question = _question(sentence)
    if not question.words:
        st.info("Type a sentence, then choose one or two spans of its words.", icon=":material/edit:")
        return
    draw_picker(question.words, question.spans)
    with place:
        lists(question.words, question.spans)
    reading = [
        readers_of
        for choice in page_models.ready(view, page_models.chosen(view))
        if (readers_of := _readers(view, choice))
    ]
    if not question.spans:
        blocks.note("Choose the first and the last word of a span; a single word is also a span.", "touch_app")
        return
    answers = page_models.of_each(
        {readers_of.choice: readers_of for readers_of in reading},
        lambda _, readers_of: span_answers(readers_of, question),
    )
    _answers(view, question, reading, {model: traces for model, traces in answers.items() if traces})


def _question(sentence: str) -> SpanQuestion:
    """The words and the spans of the link, by default the first name; reports invalid spans, which are ignored."""
    words = tuple(MASK if word == "MASK" else word for word in split_words(sentence.replace(MASK, "MASK")))
    own, spans, entity = selection.of(AskSelection), [], split_words(find_entity(sentence) or "")
    at = next((at for at in range(len(words)) if entity and words[at : at + len(entity)] == entity), 0)
    example = SPAN_EXAMPLES.get(sentence, (written_span((at, at + max(len(entity), 1))), ""))
    for name, span_text, usual in (("span1", own.span1, example[0]), ("span2", own.span2, example[1])):
        written = span_text or usual
        if not written or written == NO_SPAN or not words:
            continue
        try:
            spans.append(read_span(written, len(words), name))
        except EdgeDataError as error:
            blocks.problem(error)
    return SpanQuestion(words, tuple(spans))


def _readers(view: View, choice: Choice) -> Readers | None:
    """The probes that read a model; if there are none, shows the command that trains them and returns None."""
    try:
        probes = readers(choice, of_base=selection.of(AskSelection).base_probes)
    except ProbingError as error:
        blocks.problem(error)
        return None
    if probes.files or not page_models.is_named(view, choice):
        return probes if probes.files else None
    what = filled("No probes are trained on the layers of {name} yet.", name=view.name(probes.of.name))
    blocks.missing(what, train_command(probes.of.location))
    if live_models.base_of(choice) and not selection.of(AskSelection).base_probes:
        key, changes = f"ask.base_probes.{choice.name}", {"base_probes": True}
        st.button("Use the probes of its base", key=key, on_click=selection.update, kwargs=changes)
    return None


def _answers(
    view: View, question: SpanQuestion, reading: Sequence[Readers], answers: Mapping[str, Sequence[SpanTrace]]
) -> None:
    """Draws one figure per model, next to each other, and the table of all labels."""
    if not answers:
        st.info("No task fits the chosen words.", icon=":material/touch_app:")
        return
    measures = view.read(yardsticks) if view.database is not None else {}
    chosen = " / ".join(question.text(span) for span in question.spans)
    rows = pd.concat(
        [said_rows(question.words, model, traces, measures) for model, traces in answers.items()], ignore_index=True
    )
    clear = rows[~rows["label"].str.contains(", ")].sort_values("its p", ascending=False, kind="stable")
    for row in clear.head(1).itertuples():
        words = "“{words}”: **{label}** from layer {layer} on."
        blocks.sentence(words, words=row.words, label=row.label, layer=row.settled)
    for number, (place, (model, traces)) in enumerate(
        zip(st.columns(min(len(answers), 2)) * 2, answers.items(), strict=False), 1
    ):
        with place:
            if len(answers) > 1:
                st.markdown(filled("**{model}**", model=view.label(model)))
            blocks.figure(
                drawing(span_bars, panel_rows(question.words, traces)),
                table=label_rows(model, traces),
                stamp=Stamp(f"{model}, {chosen}, {' '.join(question.words)}"),
                name=f"live-spans-{number}",
                caption=CAPTION if number == 1 else "",
                how=HOW,
                alt=f"Labels that every layer of {view.label(model)} gives to {chosen}",
            )
    blocks.table_with_download(
        rows,
        shown=rows.assign(model=rows["model"].map(view.label)).rename(
            columns={"settled": "from layer", "its p": "its share"}
        ),
        stamp=Stamp(f"{', '.join(answers)}, {chosen}, {' '.join(question.words)}"),
        name="live-span-labels",
        column_config={
            name: st.column_config.NumberColumn(format="percent")
            for name in ("F1", "looking words up (F1)", "its share", "share")
        },
    )
    _left_out(question, reading, answers)


def _left_out(question: SpanQuestion, reading: Sequence[Readers], answers: Mapping[str, Sequence[SpanTrace]]) -> None:
    """One line: the tasks that do not fit these words, and the models that are read by the probes of their base."""
    trained = dict.fromkeys(
        task for readers_of in reading if readers_of.choice.name in answers for task in readers_of.files
    )
    tasks_asked = {trace.task for traces in answers.values() for trace in traces}
    left = [EDGE_TASKS[task].title if task in EDGE_TASKS else task for task in trained if task not in tasks_asked]
    lent = [
        readers_of.choice.name
        for readers_of in reading
        if readers_of.of != readers_of.choice and readers_of.choice.name in answers
    ]
    if left:
        blocks.caption("Not asked, for they need another number of words or spans: {names}.", names=listing(left, 8))
    if lent:
        blocks.caption("Read by the probes of the base, whose F1 is that on the base: {names}.", names=listing(lent))
