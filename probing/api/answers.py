"""What a model says of a sentence at every layer, as tables and figures."""

import json
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import pandas as pd

from probing.api import arguments
from probing.api.arguments import checked
from probing.changes.figures_attention import PANELS, attention_panels
from probing.edges.figures_spans import span_bars
from probing.edges.report_panels import answer_rows, label_rows, panel_rows, text_of
from probing.edges.targets import Span
from probing.edges.trace import trace_spans
from probing.edges.words import SpanTrace, numbered, split_words
from probing.kernel.errors import EdgeDataError, HeadError, OptionError
from probing.kernel.figures import theme
from probing.kernel.figures.looks import usual_colours
from probing.kernel.models.catalogue import opened_base
from probing.kernel.models.load import Encoder
from probing.kernel.models.names import known_model
from probing.kernel.questions import Answer as EveryLayer
from probing.kernel.questions import EveryToken
from probing.kernel.registry import read_registry
from probing.live import analyse
from probing.live.figures import token_grid
from probing.live.report import entropy_of, every_token_of, tokens_of, tracked_ranks, watched_of
from probing.sentences.figures_changes import verdict_map, with_hover

if TYPE_CHECKING:
    from probing.api.model import Model
    from probing.kernel.figures.theme import go

#: The predictions that are shown.
Asked = TypeVar("Asked", EveryLayer, EveryToken)
#: Rows of a table that a notebook shows below a figure.
_MAX_ROWS = 200
#: The MIME type that JupyterLab and VS Code draw as a figure.
PLOTLY_MIME = "application/vnd.plotly.v1+json"
_CONFIG = {"displaylogo": False}
#: Opens the table before this script if Plotly's script did not arrive within some seconds.
_OPEN_THE_NUMBERS = (
    "<script>((numbers) => setTimeout(() => { if (!window.Plotly && numbers) numbers.open = true }, 3000))"
    "(document.currentScript && document.currentScript.previousElementSibling)</script>"
)
#: Bases that were opened for a model, so that the next sentence does not load them again; they are removed with the
#: model.
_BASES: "WeakKeyDictionary[Model, Encoder | None]" = WeakKeyDictionary()


class Shown(ABC):
    """An answer that a notebook shows as its figure.

    JupyterLab and VS Code draw Plotly's own format by themselves, so they need no network. Other programs take the
    HTML, whose script comes from the network; without it, the numbers below the figure are opened.
    """

    @abstractmethod
    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        """The figure and its numbers."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {PLOTLY_MIME: json.loads(self._drawn()[0].to_json()) | {"config": _CONFIG}}

    def _repr_html_(self) -> str:
        figure, table = self._drawn()
        drawn = figure.to_html(full_html=False, include_plotlyjs="cdn", config=_CONFIG)
        numbers = table.to_html(index=False, max_rows=_MAX_ROWS, border=0)
        return f"{drawn}<details><summary>{len(table):,} rows</summary>{numbers}</details>{_OPEN_THE_NUMBERS}"


class SentenceShown(Shown, Generic[Asked]):
    """What the heads of one model predict for one sentence."""

    def __init__(self, answer: Asked):
        self._answer: Asked = answer

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._answer.model

    @property
    def head(self) -> str:
        """Kind of the decoding heads."""
        return self._answer.head

    @property
    def pieces(self) -> list[str]:
        """The word pieces of the sentence, including special tokens."""
        return list(self._answer.pieces)


class Answer(SentenceShown[EveryLayer]):
    """The predictions of every layer for the gap of a sentence; made by ``Model.ask``.

    Layer 0 is the embeddings; ranks count from 1; probabilities are in [0, 1], out of the whole vocabulary.

    >>> import probing
    >>> answer = probing.load("nesia-mini").ask("Rocky Balboa was born in [MASK].", top=2, watch=["philadelphia"])
    >>> list(answer.table)
    ['layer', 'rank', 'token', 'probability']
    >>> answer.watched[["layer", "token", "rank"]].tail(1).values.tolist()
    [[8, 'philadelphia', 1]]
    """

    @property
    def sentence(self) -> str:
        """The sentence, with its gap written ``[MASK]``."""
        return self._answer.prompt

    @property
    def notes(self) -> list[str]:
        """What the model reads otherwise than the sentence looks: unknown pieces, special tokens that were typed;
        usually empty.
        """
        return list(self._answer.notes)

    @property
    def table(self) -> pd.DataFrame:
        """The best tokens: ``layer, rank, token, probability``, one row per layer and token, (layers * top) rows.

        With several ``pieces`` a token is a phrase; see ``Model.ask`` for its probability.
        """
        return tokens_of(self._answer).rename(columns={"place": "rank"})[["layer", "rank", "token", "probability"]]

    @property
    def watched(self) -> pd.DataFrame:
        """The watched words: ``layer, token, rank, probability``, one row per layer and word; no rows without
        ``watch``. See ``Model.ask`` for those of several tokens.
        """
        return watched_of(self._answer).rename(columns={"word": "token"})[["layer", "token", "rank", "probability"]]

    @property
    def entropy(self) -> pd.DataFrame:
        """Entropy of each layer's distribution: ``layer, entropy``, in nats, (layers) rows; of several masks the
        sum.
        """
        return entropy_of(self._answer)[["layer", "entropy"]]

    @checked
    def figure(self, dark: bool = False, width: str = "") -> "go.Figure":
        """The token grid: layers upwards, ranks to the right, probability as shade; watched words are framed.

        Args:
            dark: whether the page is dark.
            width: ``column`` (3.25 in) or ``text`` (6.75 in) draws it as the page's *Save* does: light, with 8 pt.

        Returns:
            A ``plotly.graph_objects.Figure``.

        >>> import probing
        >>> answer = probing.load("nesia-mini").ask("The capital of France is [MASK].")
        >>> [trace.type for trace in answer.figure().data]
        ['heatmap', 'scatter']
        """

        tokens, dark = tokens_of(self._answer), dark and not width
        drawn = token_grid(tokens, columns=int(tokens["place"].max()), dark=dark, **tracked_ranks(self._answer))
        return theme.for_notebook(drawn, dark, width)

    def __repr__(self) -> str:
        best = self._answer.layers[-1].tokens[0]
        said = (
            f"Answer({self.sentence!r}, model={self.model!r}, head={self.head!r}, last layer: {best.token!r}"
            f" {best.probability:.1%})"
        )
        return " ".join([said, *self.notes])

    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        return self.figure(), self.table


class TokenAnswer(SentenceShown[EveryToken]):
    """The predictions of every layer at every token of a sentence; made by ``Model.every_token``.

    Layer 0 is the embeddings; positions count from 0, ranks from 1; probabilities are in [0, 1], out of the whole
    vocabulary.

    >>> import probing
    >>> answer = probing.load("nesia-mini").every_token("Paris is in France.", top=1)
    >>> answer.table[answer.table["layer"] == 8]["token"].tolist()[1:5]
    ['paris', 'is', 'in', 'france']
    """

    @property
    def sentence(self) -> str:
        """The sentence; a gap in it is written ``[MASK]``."""
        return self._answer.text

    @property
    def table(self) -> pd.DataFrame:
        """``position, piece, layer, rank, token, probability``, (pieces * layers * top) rows."""
        return every_token_of(self._answer, self._answer.ids.shape[2]).rename(columns={"place": "rank"})

    @checked
    def figure(self, dark: bool = False, width: str = "") -> "go.Figure":
        """The best token of every layer at every token: tokens downwards, layers to the right, probability as shade.

        Args:
            dark: whether the page is dark.
            width: ``column`` (3.25 in) or ``text`` (6.75 in) draws it as the page's *Save* does: light, with 8 pt.

        Returns:
            A ``plotly.graph_objects.Figure``.
        """

        best = every_token_of(self._answer)
        cells = pd.DataFrame(
            {
                "layer": best["position"],
                "place": best["layer"] + 1,
                "token": best["token"],
                "probability": best["probability"],
            }
        )
        layers = [f"layer {layer}" for layer in range(len(self._answer.ids))]
        dark = dark and not width
        return theme.for_notebook(token_grid(cells, names=layers, rows=self._answer.pieces, dark=dark), dark, width)

    def __repr__(self) -> str:
        layers, pieces, _ = self._answer.ids.shape
        return (
            f"TokenAnswer({self.sentence!r}, model={self.model!r}, head={self.head!r}, {layers} layers of {pieces} word"
            " pieces)"
        )

    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        return self.figure(), self.table


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
            ``3:5``, and ``span2`` is empty for a task of one span. Layer 0 is the embeddings; the probe of layer l
            reads the layers 0 to l. ``p`` is the probe's probability of the label, ``share`` is p divided by the sum of
            the p of all labels; both are in [0, 1].
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
    def figure(self, dark: bool = False, width: str = "") -> "go.Figure":
        """The page's figure: one row per task, one column per layer, with the shares of the labels that explain the
        answer.

        Args:
            dark: whether the page is dark.
            width: ``column`` (3.25 in) or ``text`` (6.75 in) draws it as the page's *Save* does: light, with 8 pt.
        """
        return theme.for_notebook(span_bars(panel_rows(self.words, self.traces)), dark, width)

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
    names = arguments.several("tasks", tasks)
    words = split_words(arguments.text("sentence", sentence, "one text, as in 'he smoked in toronto'"))
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


@dataclass(frozen=True, repr=False)
class SentenceAnswer(Shown):
    """Probe predictions and attention at the layers of a model, and of its base, for a sentence or a pair.

    Attributes:
        model: name of the model.
        base: name of the model that it was fine-tuned from; None if it was not.
        text: the sentence.
        second: the second sentence; None if there is only one.
        found: attention, and the predictions of the probes of each model.
        missing: for each model without sentence probes, the command that trains some.
    """

    model: str
    base: str | None
    text: str
    second: str | None
    found: analyse.SentenceAnswer
    missing: tuple[str, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The word pieces of the input, including special tokens."""
        return self.found.attention.tokens

    @property
    def table(self) -> pd.DataFrame:
        """The verdict of every probe at every layer, as ``probing sentences ask`` prints it.

        Returns:
            One row per model, task, pooling and layer: ``model, task, pooling, layer, label, p, margin, accuracy,
            majority, above_majority``. Layer 0 is the embeddings. ``p`` is the probability of the label, ``margin`` the
            logarithm of its ratio to the probability of the next label; ``accuracy`` and ``majority`` are shares of the
            task's test sentences, in [0, 1]. A verdict means nothing if ``above_majority`` is False.

        Raises:
            HeadError: if no sentence probes are trained on the model.
        """
        self._check_probes()
        return analyse.verdict_rows(self.found)

    @property
    def attention(self) -> pd.DataFrame:
        """Attention by layer, as ``probing sentences ask`` prints it.

        Returns:
            One row per model and layer, from layer 1: ``model, layer`` and, for the first token (``-first``) and the
            mean over all tokens (``-mean``), each the mean over heads: ``entropy`` in nats; ``to-first, to-separator,
            to-punctuation, to-self``, shares of attention in [0, 1]; and, with a base, the distance from it: ``emd`` in
            tokens and ``total-variation`` in [0, 1].
        """
        return analyse.attention_rows(self.found)

    @property
    def heads(self) -> pd.DataFrame:
        """Attention of every head: the columns of ``attention`` with ``head``, counted from 1; one row per model, layer
        and head.
        """
        number = range(self.found.attention.own.maps.shape[1])
        tables = [analyse.attention_rows(self.found, head).assign(head=head + 1) for head in number]
        table = pd.concat(tables, ignore_index=True).sort_values(["model", "layer", "head"], ignore_index=True)
        return table[["model", "layer", "head", *(name for name in table if name not in ("model", "layer", "head"))]]

    @property
    def same_word(self) -> pd.DataFrame:
        """Similarity of the states of words that occur more than once.

        Returns:
            One row per model, word and layer: ``model, word, times, layer, similarity``, the mean cosine of its
            occurrences.
        """
        return self.found.attention.similarities()

    @checked
    def figure(self, what: str = "verdicts", dark: bool = False, width: str = "") -> "go.Figure":
        """The page's figure.

        Args:
            what: ``verdicts`` draws the predictions of the probes, one row per task and pooling and one column per
                layer; ``attention`` draws the first token's attention by layer.
            dark: whether the page is dark.
            width: ``column`` (3.25 in) or ``text`` (6.75 in) draws it as the page's *Save* does: light, with 8 pt.

        Raises:
            HeadError: for ``verdicts``, if no sentence probes are trained on the model.
            OptionError: for another figure.
        """
        if what not in ("verdicts", "attention"):
            raise OptionError(f"got the figure {what!r}; expected verdicts or attention")
        return theme.for_notebook(self._verdicts() if what == "verdicts" else self._attention(), dark, width)

    def _verdicts(self) -> "go.Figure":
        self._check_probes()
        rows = with_hover(analyse.every_verdict(self.found))
        if rows["model"].nunique() > 1:
            rows = rows.assign(task=rows["model"] + " " + rows["task"], title=rows["title"] + ", " + rows["model"])
        return verdict_map(rows)

    def _attention(self) -> "go.Figure":
        found = self.found.attention
        rows = [
            (model, measure, layer, float(value))
            for measure, model, values in found.by_layer()
            if measure in PANELS
            for layer, value in enumerate(values, start=1)
        ]
        models = [known_model(read_registry(), name) for name in dict.fromkeys(name for name, *_ in rows)]
        n = len(found.tokens)
        return attention_panels(
            pd.DataFrame(rows, columns=["name", "measure", "layer", "value"]),
            colours=usual_colours(one.name for one in models),
            dashes={one.name: theme.line_dash(one.objective == "control") for one in models},
            yardsticks={"entropy": math.log(n), "first": 1 / n, "self": 1 / n},
        )

    def _check_probes(self) -> None:
        if self.missing and not any(self.found.verdicts.values()):
            raise HeadError(self.missing[-1])

    def _drawn(self) -> "tuple[go.Figure, pd.DataFrame]":
        if any(self.found.verdicts.values()):
            return self.figure(), self.table
        return self.figure("attention"), self.attention

    def __repr__(self) -> str:
        tasks = dict.fromkeys(one.probes.title for found in self.found.verdicts.values() for one in found)
        asked = f"{self.text!r}" + (f" and {self.second!r}" if self.second else "")
        beside = f", base={self.base!r}" if self.base else ""
        return f"SentenceAnswer({asked}, model={self.model!r}{beside}, probes: {', '.join(tasks) or 'none'})"


def ask_sentence(
    model: "Model", text: str, second: str | None = None, tasks: Sequence[str] | None = None
) -> SentenceAnswer:
    """The answer of ``Model.sentence``, which documents arguments and errors."""
    arguments.text("text", text)
    arguments.optional_text("second", second, "a second sentence")
    names = arguments.several("tasks", tasks)
    if model not in _BASES:
        _BASES[model] = opened_base(model.encoder, model.entry)
    base = _BASES[model]
    missing: list[str] = []
    found = analyse.ask_encoders(model.encoder, base, text, second or "", missing.append)
    if any(found.verdicts.values()):
        for line in missing:
            warnings.warn(line, stacklevel=3)
    elif names and missing:
        raise HeadError(missing[-1])
    return SentenceAnswer(
        model.name, base.name if base else None, text, second, _only(found, names, second), tuple(missing)
    )


def _only(found: analyse.SentenceAnswer, tasks: Sequence[str], second: str | None) -> analyse.SentenceAnswer:
    """The answer with the verdicts of some tasks; without names, of all tasks."""
    there = dict.fromkeys(one.probes.task for of_model in found.verdicts.values() for one in of_model)
    if unknown := [task for task in tasks if task not in there]:
        asked, other = ("two sentences", "leave second= out") if second else ("one sentence", "give second=")
        raise OptionError(
            f"got the task {unknown[0]!r}; the probes for {asked} are of {', '.join(there) or 'no task'} "
            f"(for tasks of {'one sentence' if second else 'two sentences'} {other})"
        )
    if not tasks:
        return found
    kept = {
        model: tuple(one for one in of_model if one.probes.task in tasks) for model, of_model in found.verdicts.items()
    }
    return analyse.SentenceAnswer(found.attention, kept)
