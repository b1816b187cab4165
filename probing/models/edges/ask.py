"""Asks the probes of every layer about spans of one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from probing.core.edges.target import Part, Record, Span, Target
from probing.core.errors import EdgeDataError, ModelError
from probing.models.edges.arrays import ArrayStates, batch_of, part_arrays
from probing.models.edges.files import TaskProbes
from probing.models.edges.lexical import lexical_states
from probing.models.edges.probes import logits_of
from probing.models.edges.states import Cut, cut_words
from probing.models.encoders.hidden_states import all_hidden_states
from probing.models.encoders.load import Encoder


@dataclass(frozen=True)
class SpanAnswer:
    """What one task's probes say of the chosen spans.

    Attributes:
        probes: the probes.
        p: (layers, labels), the sigmoid of each label by P(0)..P(L).
    """

    probes: TaskProbes
    p: np.ndarray

    @property
    def normalised(self) -> np.ndarray:
        """(layers, labels), each layer's probabilities over their sum."""
        return self.p / np.maximum(self.p.sum(1, keepdims=True), 1e-12)


class _Sentence:
    """States of one sentence, with spans of words as numbers of pieces."""

    def __init__(self, states: np.ndarray, cut: Cut):
        self.states, self.cut = ArrayStates(states), cut

    def pieces(self, record: Record, span: Span) -> np.ndarray | str:
        """As ``WordStates.pieces``."""
        if span[1] > self.cut.beyond:
            return "beyond the model's longest input"
        inside = [word for word in range(*span) if self.cut.last[word] > self.cut.first[word]]
        return np.arange(self.cut.first[inside[0]], self.cut.last[inside[-1]]) if inside else "words without word pieces"


def sentence_states(words: Sequence[str], encoder: Encoder) -> tuple[np.ndarray, Cut]:
    """States of all layers at all pieces of a sentence, (pieces, layers, hidden) float32, and how it was cut."""
    (cut,) = cut_words([words], encoder)
    states = all_hidden_states([cut.ids], encoder)
    with torch.inference_mode():
        found = torch.stack([state[0] for state in states], 1)
        found[:, 0] = lexical_states(encoder.body, torch.tensor(cut.ids, device=encoder.device)[None])[0]
    return found.float().cpu().numpy(), cut


def ask_spans(encoder: Encoder, probes: Sequence[TaskProbes], words: Sequence[str], span1: Span, span2: Span | None) -> list[SpanAnswer]:
    """What every task that fits the spans says at every layer.

    Args:
        encoder: the encoder that the probes were trained on.
        probes: of some tasks; those of another number of spans than is chosen are left out.
        words: the sentence.
        span1, span2: half-open spans of words; None where one span is chosen.

    Raises:
        EdgeDataError: if a span is outside the sentence, or has no word pieces within the model's longest input.
        ModelError: if probes were trained on another encoder.
    """
    spans = [span for span in (span1, span2) if span is not None]
    for span in spans:
        if not 0 <= span[0] < span[1] <= len(words):
            raise EdgeDataError(
                f"got the span {span[0]}-{span[1]} in a sentence of {len(words)} words; expected 0 <= start < end <= {len(words)}"
            )
    fitting = [one for one in probes if one.shape.spans == len(spans)]
    if strange := [one for one in fitting if one.weights != encoder.identity]:
        raise ModelError(f"the probes of {strange[0].task} were trained on other weights than {encoder.name} has; train them again")
    if not fitting:
        return []
    states, cut = sentence_states(words, encoder)
    sentence = _Sentence(states, cut)
    part = Part((Record(tuple(words), (Target(span1, span2, ()),)),))
    arrays = part_arrays(part, sentence, ())
    if not len(arrays):
        raise EdgeDataError(f"a chosen span has {next(iter(arrays.left_out))}; choose other words or a shorter sentence")
    batch = batch_of(arrays, sentence.states, np.array([0]), torch.device("cpu"))
    found = []
    with torch.inference_mode():
        for one in fitting:
            logits = logits_of(one.flat, one.shape, one.mask, batch)
            found.append(SpanAnswer(one, torch.sigmoid(logits)[:, 0].numpy()))
    return found
