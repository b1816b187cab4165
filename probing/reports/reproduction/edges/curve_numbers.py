"""Expected layer and K of the gains of many F1 curves at once."""

import numpy as np
from numpy.typing import NDArray


def expected_layers(f1: NDArray) -> NDArray:
    """(curves, layers) F1 of P(0) to P(L) -> (curves,) expected layers (equation 4), gains of either sign; NaN where they add up to 0."""
    gains = np.diff(f1, axis=1)
    total, layers = gains.sum(axis=1), np.arange(1, f1.shape[1])
    return np.where(total != 0, gains @ layers / np.where(total != 0, total, 1), np.nan)


def bits_of_gains(f1: NDArray) -> NDArray:
    """(curves, layers) -> (curves,) K of the gains over layers 1 to L in bits, losses set to 0; NaN where no layer gains."""
    gains = np.maximum(np.diff(f1, axis=1), 0)
    total = gains.sum(axis=1, keepdims=True)
    shares = gains / np.where(total > 0, total, 1)
    logs = np.log2(np.where(shares > 0, shares * gains.shape[1], 1))
    return np.where(total[:, 0] > 0, (shares * logs).sum(axis=1), np.nan)
