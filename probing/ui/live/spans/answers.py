"""The labels that all layers predict for the chosen spans, in words and as a figure."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from probing.core.edges.tasks import EDGE_TASKS, SINGLE_WORDS, train_command
from probing.core.edges.traces import SpanTrace
from probing.core.errors import ProbingError
from probing.core.head_kinds import LOGIT_LENS
from probing.figures.edges.span_bars import span_bars
from probing.reports.edges.span_answers import panel_rows
from probing.reports.edges.yardsticks import yardsticks
from probing.ui.frame import live_models, selection
from probing.ui.frame.page import View
from probing.ui.live.ask import ready
from probing.ui.live.selection import LiveSelection
from probing.ui.live.spans import headline
from probing.ui.live.spans.controls import SpanQuestion
from probing.ui.live.spans.span_models import Readers, ask, readers
from probing.ui.widgets import blocks
from probing.ui.widgets.export import Stamp
from probing.ui.widgets.figure_cache import drawing
from probing.ui.widgets.markdown import filled, joined, listing

HOW_TO_READ = (
    "One row per task, one column per layer: the probe P(l) reads the layers 0 to l. Bars are shares of all labels' probabilities. Blue: "
    "the last layer's label. Orange and grey: two labels that other layers prefer or, if there are none, the next most probable ones. If a "
    "target may have several labels, bars are p itself. From the dotted line on, the prediction stays the same. A probe labels any words "
    "that it is given; it does not decide whether they are, say, an entity at all. The F1 above is that of the probes used here, from one "
    "seed; other pages show means over seeds."
)


def draw(view: View, choices: Sequence[live_models.Choice], question: SpanQuestion) -> None:
    """Asks the models and draws their predictions."""
    if not question.words:
        st.info("Type a sentence, then choose one or two spans of its words.", icon=":material/edit:")
        return
    reading = [found for number, choice in enumerate(choices) if (found := _readers(view, choice, first=number == 0))]
    if not question.spans:
        st.info("Choose the first and the last word of a span; a single word is also a span.", icon=":material/touch_app:")
        return
    answers = _of_each(reading, question)
    if not answers:
        return
    measures = view.read(yardsticks) if view.database is not None else {}
    lines = headline.lines(view, question, answers, measures)
    if lines:
        st.markdown(joined("\n", lines), help=headline.HELP)
    _left_out(question, reading, answers)
    view.introduce()
    if lines:
        view.contents.section("Tasks by layer")
        _figures(view, question, answers)


def _readers(view: View, choice: live_models.Choice, *, first: bool) -> Readers | None:
    """The probes that read a model; if there are none, shows the command that trains them and returns None."""
    if (there := ready(view, choice, LOGIT_LENS, first=first)) is None:
        return None
    try:
        found = readers(there, of_base=selection.of(LiveSelection).base_probes)
    except ProbingError as error:
        blocks.problem(error)
        return None
    if not found.files:
        what = filled("No probes are trained on the layers of {name} yet.", name=view.called(found.of.name))
        blocks.missing(what, train_command(found.of.location))
        if live_models.base_of(there) and not selection.of(LiveSelection).base_probes:
            st.button(
                "Use the probes of its base",
                key=f"live.base_probes.{choice.name}",
                on_click=selection.update,
                kwargs={"base_probes": True},
            )
        return None
    return found


def _of_each(reading: Sequence[Readers], question: SpanQuestion) -> dict[str, tuple[SpanTrace, ...]]:
    """Model -> its predictions; an error that all models share is shown once."""
    found: dict[str, tuple[SpanTrace, ...]] = {}
    said: set[str] = set()
    for one in reading:
        try:
            found[one.choice.name] = ask(one, question)
        except ProbingError as error:
            if str(error) not in said:
                blocks.problem(error)
            said.add(str(error))
    return found


def _left_out(question: SpanQuestion, reading: Sequence[Readers], answers: Mapping[str, Sequence[SpanTrace]]) -> None:
    """Reports the tasks that have probes but do not fit these spans, and the models that are read by the probes of another model."""
    trained = dict.fromkeys(task for one in reading if one.choice.name in answers for task in one.files)
    asked = {trace.task for traces in answers.values() for trace in traces}
    titles = {task: EDGE_TASKS[task].title if task in EDGE_TASKS else task for task in trained}
    left = [task for task in trained if task not in asked]
    # With one span chosen, tasks of two spans need a second one, whatever the length of the first.
    single = [titles[task] for task in left if task in SINGLE_WORDS and EDGE_TASKS[task].spans <= len(question.spans)]
    pairs = [titles[task] for task in left if titles[task] not in single]
    if single:
        words = "Not asked: {names}. These tasks need spans of a single word, and a chosen span has several."
        st.caption(filled(words, names=listing(single, 8)))
    if pairs and len(question.spans) == 1:
        st.caption(filled("Choose a second span to ask {names}, too.", names=listing(pairs, 8)))
    if lent := [one for one in reading if one.of != one.choice and one.choice.name in answers]:
        st.caption(
            filled(
                "Read by the probes of the base (their F1 is that on the base's layers): {names}.",
                names=listing([f"{one.choice.name} by those of {one.of.name}" for one in lent]),
            )
        )


def _figures(view: View, question: SpanQuestion, answers: Mapping[str, Sequence[SpanTrace]]) -> None:
    """Draws one figure per model, two per row; on a narrow screen one per row."""
    drawn = [(model, traces) for model, traces in answers.items() if traces]
    abreast = 1 if len(drawn) == 1 else 2
    for first in range(0, len(drawn), abreast):
        row = drawn[first : first + abreast]
        for number, (place, (model, traces)) in enumerate(
            zip(st.columns(abreast) if abreast > 1 else [st.container()], row, strict=False), first
        ):
            with place:
                if len(drawn) > 1:
                    st.markdown(filled("**{model}**", model=view.called(model)))
                chosen = " / ".join(question.text(span) for span in question.spans)
                blocks.figure(
                    drawing(span_bars, panel_rows(question.words, traces)),
                    table=table(question, model, traces),
                    stamp=Stamp(f"{model}, {chosen}, {' '.join(question.words)}"),
                    name=f"live-spans-{number + 1}",
                    caption=HOW_TO_READ if number == 0 else "",
                    alt=f"Labels that every layer of {view.label(model)} predicts for {chosen}",
                )


def table(question: SpanQuestion, model: str, traces: Sequence[SpanTrace]) -> pd.DataFrame:
    """Every label of every task at every layer."""
    rows = [
        (
            model,
            trace.task,
            *(question.text(span) for span in trace.spans),
            *([""] * (2 - len(trace.spans))),
            layer,
            label,
            share,
            p,
        )
        for trace in traces
        for layer, (shares, ps) in enumerate(zip(trace.shares, trace.p, strict=True))
        for label, share, p in zip(trace.labels, shares, ps, strict=True)
    ]
    return pd.DataFrame(rows, columns=["model", "task", "span1", "span2", "layer", "label", "share", "p"])
