"""What every layer of a model predicts for one sentence with a gap."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenProbability:
    """One of a layer's best tokens."""

    token: str
    probability: float
    log_probability: float
    id: int


@dataclass(frozen=True)
class WatchedToken:
    """A token that the user follows; rank from 1."""

    token: str
    rank: int
    probability: float
    id: int


@dataclass(frozen=True)
class LayerAnswer:
    """What one layer predicts at the mask; entropy in nats."""

    layer: int
    tokens: tuple[TokenProbability, ...]
    watched: tuple[WatchedToken, ...]
    entropy: float


@dataclass(frozen=True)
class Answer:
    """Every layer's prediction for one prompt.

    Attributes:
        model, head, device: what predicted, and where.
        seconds: from the typed text to the predictions.
        prompt: the sentence, its gaps written ``[MASK]``.
        pieces: its word pieces.
        mask_position: position of the gap among them.
        layers: 0 is the embeddings.
        of_best: (layers,) probabilities of the last layer's best token.
        vocabulary: number of tokens that each layer's probabilities are over.
    """

    model: str
    head: str
    device: str
    seconds: float
    prompt: str
    pieces: tuple[str, ...]
    mask_position: int
    layers: tuple[LayerAnswer, ...]
    of_best: tuple[float, ...]
    vocabulary: int
