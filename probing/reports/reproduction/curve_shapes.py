"""The shape of a curve over layers with its interval: does it rise, is it exponential, does it follow another curve?

A curve is the mean over relations (macro). Its draws are those of its band in figures: from every relation's right answers at every
layer, with the relations fixed. Layers are drawn independently although they answer the same facts, so the intervals are too wide
rather than too narrow.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from probing.core.stats.intervals import CONFIDENCE, RelationCounts, macro_draws
from probing.reports.bootstrap import parallel_map
from probing.reports.reproduction.decisions import Interval

DRAWS = 1000
#: Number of rates that the search for an exponential tries at once, before it searches next to the best one.
_RATES = 61


@dataclass(frozen=True)
class Curve:
    """A mean curve.

    Attributes:
        layers: (layers,) their numbers.
        values: (layers,) macro shares.
        drawn: (draws, layers) draws of the values.
    """

    layers: NDArray
    values: NDArray
    drawn: NDArray

    def since(self, layer: int) -> "Curve":
        """The curve from this layer on."""
        kept = self.layers >= layer
        return Curve(self.layers[kept], self.values[kept], self.drawn[:, kept])


def curves_of(counts: pd.DataFrame) -> list[tuple[str, int, Curve]]:
    """(objective, k, curve) of every model and rank.

    Args:
        counts: ``objective, relation, layer, k, n, hits``.
    """
    groups = dict(iter(counts[counts["n"] > 0].groupby(["objective", "k", "layer"], sort=False)))
    drawn = parallel_map(lambda one: _drawn(*one), groups.items())
    curves = []
    for objective, k in dict.fromkeys(key[:2] for key in groups):
        points = sorted((key[2], *point) for key, point in zip(groups, drawn, strict=True) if key[:2] == (objective, k))
        layers, values, draws = zip(*points, strict=True)
        curves.append((objective, int(k), Curve(np.array(layers), np.array(values), np.stack(draws, axis=1))))
    return curves


def _drawn(key: tuple[str, int, int], rows: pd.DataFrame) -> tuple[float, NDArray]:
    columns = (rows[name].tolist() for name in ("relation", "n", "hits"))
    counts = [RelationCounts(relation, int(n), int(hits)) for relation, n, hits in zip(*columns, strict=True)]
    return float((rows["hits"] / rows["n"]).mean()), macro_draws(counts, [int(key[1]), int(key[2])], DRAWS)


def interval(value: NDArray, drawn: NDArray) -> Interval | None:
    """A value with the middle 95 % of its draws, widened to include the value; None if it is not defined.

    Args:
        value: (1,) the value.
        drawn: (draws,) its value in each draw; NaN draws are dropped.
    """
    known, own = drawn[np.isfinite(drawn)], float(value[0])
    if not np.isfinite(own) or not len(known):
        return None
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(own, min(float(low), own), max(float(high), own))


def smallest_rise(curves: NDArray) -> NDArray:
    """(curves, layers) -> (curves,): the smallest step from one layer to the next."""
    return np.diff(curves, axis=1).min(axis=1)


def misses(curves: NDArray) -> tuple[NDArray, NDArray]:
    """How far curves lie from their best line and their best exponential: root mean squares of residuals.

    Both are fitted to the values themselves, by least squares and with two parameters: a fit to logarithms has other residuals.

    Args:
        curves: (curves, layers).

    Returns:
        (curves,) of the line, and (curves,) of the exponential.
    """
    layers = np.arange(curves.shape[1]) - (curves.shape[1] - 1) / 2
    squares = (curves**2).sum(axis=1)
    mean, slope = curves.mean(axis=1), curves @ layers / (layers**2).sum()
    on_line = squares - curves.shape[1] * mean**2 - slope**2 * (layers**2).sum()
    best, step = np.zeros(len(curves)), 5.0
    for _ in range(5):
        rates = best[:, None] + np.linspace(-step, step, _RATES)
        shapes = np.exp(rates[..., None] * layers)
        # Residual sum of squares with the best factor for each rate.
        left = squares[:, None] - np.einsum("cl,crl->cr", curves, shapes) ** 2 / (shapes**2).sum(axis=2)
        nearest = left.argmin(axis=1)
        best, step = np.take_along_axis(rates, nearest[:, None], 1)[:, 0], 4 * step / _RATES
    on_exponential = left.min(axis=1)
    return tuple(np.sqrt(np.maximum(one, 0) / curves.shape[1]) for one in (on_line, on_exponential))  # type: ignore[return-value]


def bend(curves: NDArray) -> NDArray:
    """(curves, layers) -> (curves,): by how much the exponential fits better than the line."""
    line, exponential = misses(curves)
    return line - exponential


def similarity(first: Curve, second: Curve) -> Interval | None:
    """Spearman's correlation of two curves over layers 1..L; None if one is flat or their layers differ.

    Noise lowers a rank correlation, so its draws lie below it. The interval therefore reaches as far above the value as the draws
    reach below it (the union of the percentile and the basic bootstrap interval).
    """
    first, second = first.since(1), second.since(1)
    if not np.array_equal(first.layers, second.layers):
        return None
    found = interval(correlations(first.values[None], second.values[None]), correlations(first.drawn, second.drawn))
    if found is None:
        return None
    reach = max(found.value - found.low, found.high - found.value)
    return Interval(found.value, max(found.value - reach, -1.0), min(found.value + reach, 1.0))


def correlations(first: NDArray, second: NDArray) -> NDArray:
    """(rows, values) twice -> (rows,): Spearman's correlation of each row; NaN if one is flat or has fewer than three values."""
    first_ranks, second_ranks = (scipy.stats.rankdata(values, axis=1) for values in (first, second))
    rho = np.full(len(first_ranks), np.nan)
    defined = (np.ptp(first_ranks, axis=1) > 0) & (np.ptp(second_ranks, axis=1) > 0) & (first_ranks.shape[1] >= 3)
    if defined.any():
        rho[defined] = scipy.stats.pearsonr(first_ranks[defined], second_ranks[defined], axis=1).statistic
    return rho
