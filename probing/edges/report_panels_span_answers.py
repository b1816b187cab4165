"""The layers' predictions for chosen spans of one sentence, as tables: for the page, the command line and notebooks."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from probing.edges.report_yardsticks import TaskYardsticks
from probing.edges.targets import Span
from probing.edges.tasks import SPANS_ARE
from probing.edges.words import SpanTrace

PANEL_LABELS = 3
#: Task -> words for labels that are numbers.
_IN_WORDS = {task: {"1": "the same", "0": "not the same"} for task in ("coreference", "coreference-gum")}


def label_in_words(task: str, name: str) -> str:
    """The display name of a label."""
    return _IN_WORDS.get(task, {}).get(name, name.replace("_", " "))


def text_of(words: Sequence[str], span: Span) -> str:
    return " ".join(words[span[0] : span[1]])


def label_rows(model: str, traces: Sequence[SpanTrace]) -> pd.DataFrame:
    """Every label of every task at every layer: ``p`` is its sigmoid, ``share`` is p over the sum of the p of all
    labels.

    A span is written ``3:5``; ``span2`` is empty if the task has one span.
    """
    rows = [
        (model, trace.task, *_written(trace), layer, label, float(p), float(share))
        for trace in traces
        for layer, (ps, shares) in enumerate(zip(trace.p, trace.shares, strict=True))
        for label, p, share in zip(trace.labels, ps, shares, strict=True)
    ]
    return pd.DataFrame(rows, columns=["model", "task", "span1", "span2", "layer", "label", "p", "share"])


def answer_rows(model: str, traces: Sequence[SpanTrace]) -> pd.DataFrame:
    """The last layer's prediction for every task and span, or pair of spans.

    ``settled`` is the first layer from which the prediction stays the last layer's; ``f1`` is that of the last layer's
    probe on the development part, in [0, 1].
    """
    rows = [
        (model, trace.task, trace.title, *_written(trace), ", ".join(trace.answer), trace.settled, float(trace.f1[-1]))
        for trace in traces
    ]
    return pd.DataFrame(rows, columns=["model", "task", "title", "span1", "span2", "answer", "settled", "f1"])


def panel_rows(words: Sequence[str], traces: Sequence[SpanTrace]) -> pd.DataFrame:
    """The rows of ``span_bars``: for each task the labels that best show how the prediction develops."""
    rows = []
    for panel, trace in enumerate(traces):
        shares, name = (trace.p, f"{trace.title} (p of each)") if trace.several else (trace.shares, trace.title)
        title = f"{name}: {' / '.join(text_of(words, span) for span in trace.spans)}"
        best = [
            ", ".join(
                f"{label_in_words(trace.task, trace.labels[number])} {shares[layer, number]:.2f}"
                for number in trace.best(layer)
            )
            for layer in range(len(trace.p))
        ]
        rows += [
            (
                panel,
                title,
                place,
                label_in_words(trace.task, trace.labels[number]),
                layer,
                shares[layer, number],
                trace.p[layer, number],
                best[layer],
                trace.settled,
            )
            for place, number in enumerate(trace.distinguished(PANEL_LABELS), start=1)
            for layer in range(len(trace.p))
        ]
    return pd.DataFrame(rows, columns=["panel", "title", "place", "label", "layer", "share", "p", "best", "settled"])


def _written(trace: SpanTrace) -> tuple[str, str]:
    first, second = [*(f"{start}:{end}" for start, end in trace.spans), ""][:2]
    return first, second


def said_rows(
    words: Sequence[str], model: str, traces: Sequence[SpanTrace], measures: Mapping[str, TaskYardsticks]
) -> pd.DataFrame:
    """What a model's probes say of chosen words, for readers, with the yardsticks of each task; without them empty
    cells.

    One row per task and span, or pair of spans: the last layer's ``label``, those of lower layers (``before``), the
    first layer from which it stays (``settled``), and ``F1`` of the last layer's probe on the development part.
    """
    rows = []
    for trace in traces:
        answer, measure = ", ".join(label_in_words(trace.task, name) for name in trace.answer), measures.get(trace.task)
        roles = SPANS_ARE.get(trace.task, ("", ""))
        named = [text_of(words, span) for span in trace.spans]
        if len(named) > 1 and roles[0] != roles[1]:
            named = [f"{text} ({role})" for text, role in zip(named, roles, strict=True)]
        before = (
            [] if trace.several or not trace.settled else [label_in_words(trace.task, name) for name in trace.before]
        )
        known = (
            (measure.memory, label_in_words(trace.task, measure.label), measure.share)
            if measure
            else (np.nan, "", np.nan)
        )
        p = float(trace.p[-1].max())
        rows.append(
            (
                model,
                trace.title,
                " / ".join(named),
                answer or "no label",
                trace.settled,
                p,
                ", ".join(before),
                trace.f1[-1],
                *known,
            )
        )
    columns = [
        "model",
        "task",
        "words",
        "label",
        "settled",
        "its p",
        "before",
        "F1",
        "looking words up (F1)",
        "commonest label",
        "share",
    ]
    return pd.DataFrame(rows, columns=columns)
