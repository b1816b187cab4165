"""Reads a fine-tuned model with its base's probes: unchanged, on the model's own scale, or on top of a linear map without labels.

With the base's probes, ``answers(probes, vectors)`` is the frozen reading, ``answers(probes, vectors, *own_scale(train))`` the rescaled
one, and ``answers(probes, aligned(train, train_base)(vectors))`` the aligned one.
"""

from dataclasses import dataclass

import numpy as np

from probing.models.sentences.scaling import own_scale, standardised

__all__ = ["Alignment", "aligned", "own_scale"]

#: Ridge penalty on the weights of the map between standardised vectors.
RIDGE = 10.0


@dataclass(frozen=True)
class Alignment:
    """Linear maps from a fine-tuned model's vectors to its base's, one per layer and pooling.

    Attributes:
        maps: (poolings, layers, hidden, hidden), between standardised vectors.
        mean, scale: (poolings, layers, hidden), of the fine-tuned model's training vectors.
        base_mean, base_scale: of the base's training vectors; the scale of a constant feature is 0, so that the map gives its mean.
    """

    maps: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    base_mean: np.ndarray
    base_scale: np.ndarray

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """The fine-tuned model's vectors in the base's space: (poolings, layers, sentences, hidden) float32, a new array."""
        mapped = np.empty(vectors.shape, np.float32)
        for place in np.ndindex(*vectors.shape[:2]):
            np.matmul(standardised(vectors[place], self.mean[place], self.scale[place]), self.maps[place], out=mapped[place])
            mapped[place] *= self.base_scale[place]
            mapped[place] += self.base_mean[place]
        return mapped


def aligned(train_tuned: np.ndarray, train_base: np.ndarray) -> Alignment:
    """Fits the map of each layer and pooling by ridge regression, without labels.

    Args:
        train_tuned, train_base: (poolings, layers, sentences, hidden), vectors of the same training sentences.
    """
    (poolings, layers, _, hidden) = train_tuned.shape
    mean, scale = own_scale(train_tuned)
    base_mean, base_scale = own_scale(train_base)
    maps = np.empty((poolings, layers, hidden, hidden), np.float32)
    for place in np.ndindex(poolings, layers):
        from_here = standardised(train_tuned[place], mean[place], scale[place])
        to_there = standardised(train_base[place], base_mean[place], base_scale[place])
        product = (from_here.T @ from_here).astype(np.float64)
        product[np.diag_indices(hidden)] += RIDGE
        maps[place] = np.linalg.solve(product, (from_here.T @ to_there).astype(np.float64))
    return Alignment(maps, mean, scale, base_mean, np.where(np.isfinite(base_scale), base_scale, 0).astype(np.float32))
