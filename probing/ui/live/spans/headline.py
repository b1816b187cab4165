"""The label that each task settles on, its layer, and the task's yardsticks."""

from collections.abc import Mapping, Sequence

from probing.core.edges.target import Span
from probing.core.edges.tasks import SPANS_ARE
from probing.core.edges.traces import HALF, SpanTrace
from probing.reports.edges.span_answers import label_in_words
from probing.reports.edges.yardsticks import TaskYardsticks
from probing.ui.frame.page import View
from probing.ui.live.spans.controls import SpanQuestion
from probing.ui.widgets.markdown import Markdown, filled, joined, listing

HELP = (
    "The most probable label (or, for tasks with several labels, all labels with p of 0.5 or more), and the first layer l from which P(l) "
    "to P(L) all predict it. F1: that of P(L) on the development part of the task's data. Memory baseline: always predicting the most "
    "frequent training label of the same words."
)


def lines(
    view: View, question: SpanQuestion, answers: Mapping[str, Sequence[SpanTrace]], measures: Mapping[str, TaskYardsticks]
) -> list[Markdown]:
    """One line per task, in the order of tasks: its spans, each with every model's prediction."""
    asked: dict[str, dict[tuple[Span, ...], dict[str, SpanTrace]]] = {}
    for model, traces in answers.items():
        for trace in traces:
            asked.setdefault(trace.task, {}).setdefault(trace.spans, {})[model] = trace
    return [_line(view, question, list(by_spans.values()), measures.get(task)) for task, by_spans in asked.items()]


def _line(view: View, question: SpanQuestion, asked: Sequence[Mapping[str, SpanTrace]], measure: TaskYardsticks | None) -> Markdown:
    """The line of one task.

    Args:
        view, question: the page and the question.
        asked: for each span, or pair of spans: model -> its prediction.
        measure: the yardsticks of the task.
    """
    says = []
    for by_model in asked:
        each = [
            filled("{model} {says}", model=view.called(model), says=_says(trace)) if len(by_model) > 1 else _says(trace)
            for model, trace in by_model.items()
        ]
        says.append(filled("{spans}: {says}", spans=_spans(question, next(iter(by_model.values()))), says=joined(", ", each)))
    return filled(
        "- {task} of {says}. :small[:gray[{yardsticks}]]",
        task=next(iter(asked[0].values())).title,
        says=joined("; of ", says),
        yardsticks=_yardsticks({model: trace for by_model in asked for model, trace in by_model.items()}, measure),
    )


def _spans(question: SpanQuestion, trace: SpanTrace) -> Markdown:
    """The words of the spans; of two spans, each with its role in the task."""
    texts = [filled("“{text}”", text=question.text(span)) for span in trace.spans]
    if len(texts) == 1:
        return texts[0]
    are = SPANS_ARE.get(trace.task, ("first span", "second span"))
    if are[0] == are[1]:
        return joined(" and ", texts)
    return joined(" and ", [filled("{text} ({role})", text=text, role=role) for text, role in zip(texts, are, strict=True)])


def _says(trace: SpanTrace) -> Markdown:
    given = _named(trace, trace.answer)
    where = "at every layer" if not trace.settled else f"from layer {trace.settled} on"
    if trace.several:
        return filled("**{given}** {where}", given=given or "no label", where=where)
    before = filled(" ({names} before)", names=_named(trace, trace.before)) if trace.settled else Markdown("")
    weak = "" if trace.p[-1].max() >= HALF else ", though its p stays below 0.5"
    return filled("**{given}** {where}{before}{weak}", given=given, where=where, before=before, weak=weak)


def _named(trace: SpanTrace, names: Sequence[str]) -> str:
    return listing([label_in_words(trace.task, name) for name in names], 8)


def _yardsticks(by_model: Mapping[str, SpanTrace], measure: TaskYardsticks | None) -> Markdown:
    """F1 of the probes and of the memory baseline, and the share of the most frequent label."""
    scores = joined(", ", dict.fromkeys(filled("{f1:.1f} %", f1=100 * trace.f1[-1]) for trace in by_model.values()))
    if measure is None:
        return filled("F1 on dev {scores}; the memory baseline of this task is not stored here.", scores=scores)
    task = next(iter(by_model.values())).task
    return filled(
        "F1 on dev {scores}, memory baseline {memory:.1f} %; most frequent label {name}, {share:.0f} % of training targets.",
        scores=scores,
        memory=100 * measure.memory,
        name=label_in_words(task, measure.label),
        share=100 * measure.share,
    )
