"""Predictions of the probes of every layer and pooling for one sentence or pair."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from probing.kernel.errors import ModelError, PromptError
from probing.kernel.models.load import Encoder
from probing.kernel.models.states import own_mask
from probing.kernel.questions import with_masks
from probing.kernel.text import refuse_half_characters
from probing.sentences.examples import POOLINGS, Example
from probing.sentences.numbers import above_majority
from probing.sentences.probes import TaskProbes, labels_of
from probing.sentences.vectors import pooled_states, sentence_rows


@dataclass(frozen=True)
class Verdicts:
    """Predictions of one task's probes."""

    probes: TaskProbes
    p: np.ndarray  #: (poolings, layers, classes), probabilities
    label: np.ndarray  #: (poolings, layers), number of the predicted label
    margin: np.ndarray  #: (poolings, layers), log of its probability over that of the next label

    def rows(self, model: str) -> Iterator[dict[str, str | int | float | bool]]:
        """One row per pooling and layer: ``number`` is the label's, ``p`` its probability.

        ``accuracy`` and ``majority`` are of test sentences, in [0, 1]; ``chance``: the probe is not significantly
        better than the majority label.
        """
        probes, majority = self.probes, self.probes.majority / self.probes.tested
        for place, pooling in enumerate(POOLINGS):
            for layer, right in enumerate(probes.right[place]):
                number = int(self.label[place, layer])
                yield {
                    "model": model,
                    "task": probes.task,
                    "title": probes.title,
                    "pooling": pooling,
                    "layer": layer,
                    "label": probes.labels[number],
                    "number": number,
                    "p": float(self.p[place, layer].max()),
                    "margin": float(self.margin[place, layer]),
                    "accuracy": float(right / probes.tested),
                    "majority": majority,
                    "classes": len(probes.labels),
                    "chance": not above_majority(int(right), probes.tested, majority),
                }


def verdicts(probes: TaskProbes, vectors: np.ndarray) -> Verdicts:
    """Predictions for one sentence's vectors, (poolings, layers, 1, hidden); ModelError if of another size."""
    poolings, layers, outputs, hidden = probes.weights.shape
    if vectors.shape != (poolings, layers, 1, hidden):
        raise ModelError(
            f"the probes of {probes.task} read {layers} layers of {hidden} values, got vectors of the shape"
            f" {vectors.shape}; ask the model that they were trained on, {probes.model}"
        )
    logits = (
        np.einsum("plod,pld->plo", probes.weights.astype(np.float64), vectors[:, :, 0].astype(np.float64)) + probes.bias
    )
    # With two classes the only logit belongs to the second; the first has 0.
    scores = np.concatenate([np.zeros_like(logits), logits], 2) if outputs == 1 else logits
    shares = np.exp(scores - scores.max(2, keepdims=True))
    ordered = np.sort(scores, 2)
    return Verdicts(
        probes,
        shares / shares.sum(2, keepdims=True),
        labels_of(logits).astype(np.uint8),
        ordered[:, :, -1] - ordered[:, :, -2],
    )


def sentence_vectors(encoder: Encoder, text: str, pair: str = "") -> np.ndarray:
    """Vectors of one sentence or pair, (poolings, layers, 1, hidden); PromptError if empty or too long."""
    if not text.strip():
        raise PromptError("the sentence is empty; expected words")
    refuse_half_characters(text + pair, "the sentence", PromptError)
    text, pair = (own_mask(with_masks(sentence), encoder) for sentence in (text, pair))
    (row,) = sentence_rows([Example(text, "", pair)], encoder)
    if row is None:
        raise PromptError(
            f"the sentence is longer than the {encoder.max_pieces} word pieces that {encoder.name} takes; shorten it"
        )
    return pooled_states([row], encoder)


def ask_sentence(encoder: Encoder, probes: Sequence[TaskProbes], text: str, pair: str = "") -> list[Verdicts]:
    """Predictions of every task for a sentence, or of those on pairs for a pair; the encoder reads it once.

    ModelError: probes were trained on another encoder. PromptError as ``sentence_vectors``.
    """
    if strange := [probe for probe in probes if probe.weights_id != encoder.weights_id]:
        raise ModelError(
            f"the probes of {strange[0].task} were trained on other weights than {encoder.name} has; train them again"
        )
    vectors = sentence_vectors(encoder, text, pair)
    return [verdicts(probe, vectors) for probe in probes if probe.pairs == bool(pair)]
