"""Means over sentences with bootstrap intervals, for many columns at once."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_DRAWS = 1000
#: Number of columns that are resampled at a time.
_COLUMNS = 4096


def mean_intervals(values: Array, seed: int = 0) -> tuple[Array, Array, Array]:
    """Means of the columns of (rows, columns) with 95 % bootstrap intervals, each (columns,); all share the draws."""
    rows = len(values)
    mean = values.mean(0)
    if rows < 2:
        return mean, mean, mean
    weights = np.random.default_rng(seed).multinomial(rows, np.full(rows, 1 / rows), _DRAWS) / rows
    # Centred on the means, so that a column of equal values has an interval of width 0.
    apart = values - mean
    ends = [
        np.quantile(weights @ apart[:, some : some + _COLUMNS], [0.025, 0.975], axis=0)
        for some in range(0, values.shape[1], _COLUMNS)
    ]
    low, high = mean + np.concatenate(ends, axis=1)
    return mean, np.minimum(low, mean), np.maximum(high, mean)
