"""Predictions of the probes of every layer for spans of one sentence."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from probing.edges.ask import TaskProbes
from probing.edges.probes import logits_of
from probing.edges.states import Cut, cut_words
from probing.edges.states_arrays import ArrayStates, Batch, batch_of, part_arrays
from probing.edges.states_lexical import lexical_states
from probing.edges.targets import Part, Record, Span, Target
from probing.edges.tasks import fits
from probing.edges.words import SpanTrace
from probing.kernel.errors import EdgeDataError, ModelError
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import all_hidden_states
from probing.kernel.questions import with_masks
from probing.kernel.text import refuse_half_characters


class _Sentence:
    """States of one sentence; spans of words are lists of piece numbers."""

    def __init__(self, states: np.ndarray, cut: Cut):
        self.states, self.cut = ArrayStates(states), cut

    def pieces(self, record: Record, span: Span) -> np.ndarray | str:
        return self.cut.pieces(span)


def sentence_states(words: Sequence[str], encoder: Encoder) -> tuple[np.ndarray, Cut]:
    """States of all layers at all pieces of a sentence, (pieces, layers, hidden) float32, and its tokenization."""
    (cut,) = cut_words([words], encoder)
    states = all_hidden_states([cut.ids], encoder)
    with torch.inference_mode():
        stacked = torch.stack([state[0] for state in states], 1)
        stacked[:, 0] = lexical_states(encoder.body, torch.tensor(cut.ids, device=encoder.device)[None])[0]
    return stacked.float().cpu().numpy(), cut


def ask_record(encoder: Encoder, probes: TaskProbes, record: Record) -> np.ndarray:
    """(layers, targets, labels): the sigmoid of each label's logit, for all targets of a sentence."""
    targets = {probes.shape.spans: record.targets}
    (answers,) = _answers(encoder, [probes], record.words, targets, encoder.weights_id)
    return np.stack(answers, 1)


def ask_sentence(
    encoder: Encoder,
    probes: Sequence[TaskProbes],
    words: Sequence[str],
    span1: Span,
    span2: Span | None = None,
    weights: str = "",
) -> list[SpanTrace]:
    """Predictions of all tasks: one-span tasks for each chosen span, two-span tasks for the pair.

    Spans are half-open, of words; tasks of single words are left out if one is longer. ``weights``: identity of the
    encoder that the probes were trained on, if another. EdgeDataError: a span is outside the sentence or the longest
    input.
    """
    words, targets = [with_masks(word) for word in words], {1: [Target(span1, None, ())]}
    if span2 is not None:
        targets = {
            1: [*targets[1], Target(span2, None, ())] if span2 != span1 else targets[1],
            2: [Target(span1, span2, ())],
        }
    fitting = [
        probe
        for probe in probes
        if any(fits(probe.task, _spans(target)) for target in targets.get(probe.shape.spans, ()))
    ]
    answers = _answers(encoder, fitting, words, targets, weights or encoder.weights_id)
    return [
        SpanTrace(probe.task, probe.title, _spans(target), probe.labels, answer.astype(np.float64), probe.f1)
        for probe, of_targets in zip(fitting, answers, strict=True)
        for target, answer in zip(targets[probe.shape.spans], of_targets, strict=True)
        if fits(probe.task, _spans(target))
    ]


def _spans(target: Target) -> tuple[Span, ...]:
    return (target.span1,) if target.span2 is None else (target.span1, target.span2)


def _answers(
    encoder: Encoder,
    probes: Sequence[TaskProbes],
    words: Sequence[str],
    targets: Mapping[int, Sequence[Target]],
    weights: str,
) -> list[list[np.ndarray]]:
    """(layers, labels) predictions of each task's probes; ``targets`` are by their number of spans."""
    refuse_half_characters(" ".join(words), "the sentence", EdgeDataError)
    for span in dict.fromkeys(
        span for of_number in targets.values() for target in of_number for span in _spans(target)
    ):
        if not 0 <= span[0] < span[1] <= len(words):
            raise EdgeDataError(
                f"got the span {span[0]}-{span[1]} in a sentence of {len(words)} words; expected 0 <= start < end <="
                f" {len(words)}"
            )
    if strange := [probe for probe in probes if probe.weights != weights]:
        raise ModelError(
            f"the probes of {strange[0].task} were trained on other weights than {encoder.name} has; train them again"
        )
    if not probes:
        return []
    states, cut = sentence_states(words, encoder)
    sentence = _Sentence(states, cut)
    batches = {number: _batch(words, of_number, sentence) for number, of_number in targets.items()}
    answers = []
    with torch.inference_mode():
        for probe in probes:
            p = torch.sigmoid(logits_of(probe.flat, probe.shape, probe.mask, batches[probe.shape.spans])).numpy()
            answers.append([p[:, place] for place in range(p.shape[1])])
    return answers


def _batch(words: Sequence[str], targets: Sequence[Target], sentence: _Sentence) -> Batch:
    arrays = part_arrays(Part((Record(tuple(words), tuple(targets)),)), sentence, ())
    if len(arrays) < len(targets):
        raise EdgeDataError(
            f"a chosen span cannot be probed ({next(iter(arrays.left_out))}); choose other words or a shorter sentence"
        )
    return batch_of(arrays, sentence.states, np.arange(len(targets)), torch.device("cpu"))
