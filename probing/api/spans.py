"""Edge probing in a notebook: predictions of every layer for chosen words of a sentence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING

import pandas as pd

from probing.api.arguments import text, texts
from probing.api.display import Shown, for_notebook
from probing.api.stored.argument_checks import checked
from probing.core.edges.target import Span
from probing.core.edges.traces import SpanTrace
from probing.core.edges.words import numbered, split_words
from probing.core.errors import EdgeDataError, OptionError
from probing.figures.edges.span_bars import span_bars
from probing.reports.edges.span_answers import answer_rows, label_rows, panel_rows, text_of
from probing.workflows.edges.trace import trace_spans

if TYPE_CHECKING:
    from probing.api.model import Model
    from probing.figures.theme import go


@dataclass(frozen=True, repr=False)
class SpanAnswer(Shown):
    """Predictions of the probes of every layer for one span of a sentence, or for two.

    Attributes:
        model: name of the model.
        words: words of the sentence; spans count them from 0.
        spans: the chosen spans, (start, end) in words with the end exclusive.
        traces: predictions of each task for a span, or for the pair.
    """

    model: str
    words: tuple[str, ...]
    spans: tuple[Span, ...]
    traces: tuple[SpanTrace, ...]

    @property
    def table(self) -> pd.DataFrame:
        """Every label at every layer, as ``probing edges trace --as csv`` prints it.

        Returns:
            One row per task, layer and label: ``model, task, span1, span2, layer, label, p, share``. A span is written
                ``3:5``, and
            ``span2`` is empty for a task of one span. Layer 0 is the embeddings; the probe of layer l reads the layers
            0 to l. ``p`` is the probe's probability of the label, ``share`` is p divided by the sum of the p of all
            labels; both are in [0, 1].
        """
        return label_rows(self.model, self.traces)

    @property
    def answers(self) -> pd.DataFrame:
        """The predictions of the last layer, and the layer from which on they stay the same.

        Returns:
            One row per task and span, or pair of spans: ``model, task, title, span1, span2, answer, settled, f1``.
            ``settled`` is the first layer from which on the answer stays; ``f1`` is the last layer's F1 on the task's
            development part, in [0, 1].
        """
        return answer_rows(self.model, self.traces)

    @checked
    def figure(self, dark: bool = False) -> "go.Figure":
        """The page's figure: one row per task, one column per layer, with the shares of the labels that explain the
        answer.

        Args:
            dark: whether the page is dark.
        """
        return for_notebook(span_bars(panel_rows(self.words, self.traces)), dark)

    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        return self.figure(), self.table

    def __repr__(self) -> str:
        said = []
        for one in self.traces:
            asked = " and ".join(repr(text_of(self.words, span)) for span in one.spans)
            where = f"from layer {one.settled} on" if one.settled else "at every layer"
            said.append(f"  {one.title} of {asked}: {', '.join(one.answer) or 'no label'} {where}")
        spans = ", ".join(f"{start}:{end}" for start, end in self.spans)
        said = said or ["  no task that has probes fits these spans"]
        return "\n".join([f"SpanAnswer({' '.join(self.words)!r}, {spans}, model={self.model!r})", *said])


def ask_spans(
    model: "Model", sentence: str, spans: Sequence[tuple[int, int]], tasks: Sequence[str] | None = None
) -> SpanAnswer:
    """The answer of ``Model.edges``, which documents arguments and errors."""
    names = texts("tasks", tasks)
    words = split_words(text("sentence", sentence, "one text, as in 'he smoked in toronto'"))
    if not words:
        raise OptionError("the sentence is empty; expected words, as in 'he smoked in toronto'")
    chosen = _checked(spans, words)
    found = trace_spans(model.encoder, words, chosen, names, model.source or "")
    return SpanAnswer(found.model, found.words, chosen, found.traces)


def _checked(spans: Sequence[tuple[int, int]], words: Sequence[str]) -> tuple[Span, ...]:
    """The spans as pairs of plain integers.

    Raises:
        As ``ask_spans`` does; every message ends with the words and their numbers.
    """
    numbers = f"the words are: {numbered(words)}"
    given = list(spans) if isinstance(spans, Iterable) and not isinstance(spans, str) else [spans]
    if len(given) not in (1, 2):
        raise OptionError(
            f"got {len(given)} spans; expected one, or two for tasks of pairs, as in [(0, 1), (3, 5)]; {numbers}"
        )
    return tuple(_span(one, len(words), numbers) for one in given)


def _span(span: Sequence[int], words: int, numbers: str) -> Span:
    try:
        start, end = (index(number) for number in span)
    except (TypeError, ValueError) as error:
        raise EdgeDataError(
            f"got the span {span!r}; expected a list of pairs (start, end) of integers, the end exclusive, as in [(0,"
            f" 1)]; {numbers}"
        ) from error
    if not 0 <= start < end <= words:
        raise EdgeDataError(
            f"got the span ({start}, {end}) in a sentence of {words} words; expected 0 <= start < end <= {words};"
            f" {numbers}"
        )
    return start, end
