"""Mean and standard deviation of training vectors, which standardise every feature."""

import numpy as np

#: A feature with a deviation below this share of its mean (or of 1) is constant: it varies only by rounding in float32,
#: such as between batches of different shapes. Standardised to 1, this noise would give collinear features.
CONSTANT = 1e-4


def own_scale(train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(poolings, layers, hidden) mean and standard deviation over the sentences, computed in float64.

    A constant feature has the scale ``inf``, so that it is always 0 after standardisation.
    """
    scales = np.empty((2, *train.shape[:2], train.shape[3]), np.float32)
    for place in np.ndindex(*train.shape[:2]):
        scales[(slice(None), *place)] = scale_of(train[place])
    return scales[0], scales[1]


def scale_of(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``own_scale`` of one layer and pooling, (sentences, hidden) -> two of (hidden,)."""
    exact = vectors.astype(np.float64)
    mean = exact.mean(0)
    exact -= mean
    deviation = np.sqrt(np.einsum("nd,nd->d", exact, exact) / len(exact))
    constant = deviation < CONSTANT * np.maximum(1, np.abs(mean))
    return mean.astype(np.float32), np.where(constant, np.inf, deviation).astype(np.float32)


def standardised(vectors: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(sentences, hidden) vectors of one layer and pooling minus their mean, divided by their scale; a new array."""
    centred: np.ndarray = vectors - mean
    centred /= scale
    return centred
