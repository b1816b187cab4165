"""What the probes of every layer and pooling say of one sentence, or of one pair."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probing.core.errors import ModelError, PromptError
from probing.core.sentences.example import Example
from probing.models.encoders.load import Encoder
from probing.models.sentences.files import TaskProbes
from probing.models.sentences.probes import labels_of
from probing.models.sentences.vectors import pooled_states, sentence_rows


@dataclass(frozen=True)
class Verdicts:
    """What one task's probes say.

    Attributes:
        probes: the probes.
        p: (poolings, layers, classes), probabilities.
        label: (poolings, layers), number of the label that is said.
        margin: (poolings, layers), the logarithm of how many times more likely it is than the next one.
    """

    probes: TaskProbes
    p: np.ndarray
    label: np.ndarray
    margin: np.ndarray


def verdicts(probes: TaskProbes, vectors: np.ndarray) -> Verdicts:
    """What probes say of one sentence's vectors, (poolings, layers, 1, hidden) as ``pooled_states`` gives them.

    Raises:
        ModelError: if the vectors are of an encoder of another size.
    """
    poolings, layers, outputs, hidden = probes.weights.shape
    if vectors.shape != (poolings, layers, 1, hidden):
        raise ModelError(
            f"the probes of {probes.task} read {layers} layers of {hidden} values, got vectors of the shape {vectors.shape}; "
            f"ask the model that they were trained on, {probes.model}"
        )
    logits = np.einsum("plod,pld->plo", probes.weights.astype(np.float64), vectors[:, :, 0].astype(np.float64)) + probes.bias
    # Of two classes the second has the one number, the first 0.
    scores = np.concatenate([np.zeros_like(logits), logits], 2) if outputs == 1 else logits
    shares = np.exp(scores - scores.max(2, keepdims=True))
    ordered = np.sort(scores, 2)
    return Verdicts(
        probes, shares / shares.sum(2, keepdims=True), labels_of(logits).astype(np.uint8), ordered[:, :, -1] - ordered[:, :, -2]
    )


def sentence_vectors(encoder: Encoder, text: str, pair: str = "") -> np.ndarray:
    """Vectors of one sentence or pair, (poolings, layers, 1, hidden).

    Raises:
        PromptError: if there is no sentence, or it is longer than the model takes.
    """
    if not text.strip():
        raise PromptError("got no sentence; type one")
    (row,) = sentence_rows([Example(text, "", pair)], encoder)
    if row is None:
        raise PromptError(f"the sentence is longer than the {encoder.max_pieces} word pieces that {encoder.name} takes; shorten it")
    return pooled_states([row], encoder)


def ask_sentence(encoder: Encoder, probes: Sequence[TaskProbes], text: str, pair: str = "") -> list[Verdicts]:
    """What every task says that asks about as many sentences; the encoder reads them once.

    Args:
        encoder: the encoder that the probes were trained on.
        probes: of some tasks; those that ask about a pair are left out where there is none, and the other way round.
        text: the sentence.
        pair: the second sentence; empty where there is one.

    Raises:
        ModelError: if probes were trained on another encoder.
        PromptError: as ``sentence_vectors`` does.
    """
    if strange := [one for one in probes if one.identity != encoder.identity]:
        raise ModelError(f"the probes of {strange[0].task} were trained on other weights than {encoder.name} has; train them again")
    vectors = sentence_vectors(encoder, text, pair)
    return [verdicts(one, vectors) for one in probes if one.pairs == bool(pair)]
