"""Applies the probes of every layer to spans of one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from probing.edges.ask import ask_sentence, find_probes, read_probes
from probing.edges.requests import TraceRequest
from probing.edges.targets import Span
from probing.edges.tasks import SPANS_ARE, train_command
from probing.edges.words import SpanTrace, numbered, read_span, split_words
from probing.kernel.errors import HeadError, OptionError
from probing.kernel.files import cache_folder
from probing.kernel.models.catalogue import open_encoder
from probing.kernel.models.load import Encoder
from probing.kernel.options import spelled


@dataclass(frozen=True)
class SentenceTraces:
    """Each task's predictions for the chosen span, or for both."""

    model: str
    words: tuple[str, ...]
    traces: tuple[SpanTrace, ...]

    def text(self, span: Span) -> str:
        return " ".join(self.words[span[0] : span[1]])


def trace_sentence(request: TraceRequest) -> SentenceTraces:
    """The predictions of every task that fits the spans, at every layer."""
    words = split_words(request.sentence)
    if not words:
        raise OptionError("the sentence is empty; expected words, as in --sentence 'he smoked toronto'")
    if request.span1 is None:
        raise OptionError(
            f"no span is given; name its first word and the one after its last, as in --span1 1:2: {numbered(words)}"
        )
    span1 = read_span(request.span1, len(words), spelled("span1"))
    span2 = None if request.span2 is None else read_span(request.span2, len(words), spelled("span2"))
    spans = (span1,) if span2 is None else (span1, span2)
    encoder = open_encoder(request.model, request.base, request.device, revision=request.revision)
    return trace_spans(encoder, words, spans, request.tasks, request.model)


def trace_spans(
    encoder: Encoder, words: Sequence[str], spans: Sequence[Span], tasks: Sequence[str] = (), location: str = ""
) -> SentenceTraces:
    """The predictions of every task (none: of all that have probes) that fits one or two half-open spans, at every
    layer of a loaded model.

    ``location`` names the model in the command that trains missing probes; empty for one in memory.
    """
    files = find_probes(encoder.name, encoder.weights_id, cache_folder())
    if not files:
        how = "train some" if location else "save it in a folder (save_pretrained), load it from there, and train some"
        raise HeadError(f"no probes are trained on {encoder.name}; {how}: {train_command(location or 'FOLDER')}")
    if unknown := [task for task in tasks if task not in files]:
        raise OptionError(
            f"no probes of {unknown[0]!r} are trained on {encoder.name}; there are those of {', '.join(files)}"
        )
    probes = [read_probes(path) for task, path in files.items() if not tasks or task in tasks]
    if len(spans) == 1 and (pairs := [one.task for one in probes if one.task in tasks and one.shape.spans == 2]):
        first, second = SPANS_ARE.get(pairs[0], ("first span", "second span"))
        raise OptionError(f"got one span; {pairs[0]} needs two spans ({first}, {second}): add the second one")
    span1, span2 = (*spans, None)[:2]
    assert span1 is not None
    return SentenceTraces(encoder.name, tuple(words), tuple(ask_sentence(encoder, probes, words, span1, span2)))
