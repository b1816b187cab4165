"""Mean and deviation of training vectors, by which every feature is standardised."""

import numpy as np

#: A feature that deviates less than this share of its mean (or of 1) is constant: what varies is the noise of sums in float32, such as
#: between batches of other shapes. Standardised to 1 that noise would be collinear features.
CONSTANT = 1e-4


def own_scale(train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each feature over the sentences, computed in float64.

    Args:
        train: (poolings, layers, sentences, hidden) training vectors.

    Returns:
        mean and scale, each (poolings, layers, hidden) float32. A feature that is constant has the scale ``inf``: it is 0 once it is
        standardised, whatever its value.
    """
    found = np.empty((2, *train.shape[:2], train.shape[3]), np.float32)
    for place in np.ndindex(*train.shape[:2]):
        found[(slice(None), *place)] = scale_of(train[place])
    return found[0], found[1]


def scale_of(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``own_scale`` of one layer and pooling, (sentences, hidden) -> two of (hidden,)."""
    exact = vectors.astype(np.float64)
    mean = exact.mean(0)
    exact -= mean
    deviation = np.sqrt(np.einsum("nd,nd->d", exact, exact) / len(exact))
    constant = deviation < CONSTANT * np.maximum(1, np.abs(mean))
    return mean.astype(np.float32), np.where(constant, np.inf, deviation).astype(np.float32)


def standardised(vectors: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(sentences, hidden) vectors of one layer and pooling less their mean, by their scale; a new array."""
    found: np.ndarray = vectors - mean
    found /= scale
    return found
