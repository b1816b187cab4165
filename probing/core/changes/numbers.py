"""Means over sentences with their intervals, many at once."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_DRAWS = 1000
#: Columns whose means are drawn at a time.
_COLUMNS = 4096


def mean_intervals(values: Array, seed: int = 0) -> tuple[Array, Array, Array]:
    """Means of the columns of (rows, columns), and their 95 % intervals: the same rows are drawn again for all columns.

    Args:
        values: one row a sentence, or a word.
        seed: of the draws; equal values and seeds give equal intervals.

    Returns:
        Value, lower and upper end, each (columns,). All are equal where there is one row.
    """
    rows = len(values)
    mean = values.mean(0)
    if rows < 2:
        return mean, mean, mean
    weights = np.random.default_rng(seed).multinomial(rows, np.full(rows, 1 / rows), _DRAWS) / rows
    # From the means on, so that a column of equal values has no width.
    apart = values - mean
    ends = [np.quantile(weights @ apart[:, some : some + _COLUMNS], [0.025, 0.975], axis=0) for some in range(0, values.shape[1], _COLUMNS)]
    low, high = mean + np.concatenate(ends, axis=1)
    return mean, np.minimum(low, mean), np.maximum(high, mean)
