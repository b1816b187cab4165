"""The expected layer of a curve, why it is not resolved, and how much it varies over seeds."""

from collections.abc import Iterable

import numpy as np

from probing.edges.numbers import SeedSpread, seed_spread
from probing.edges.numbers_numbers import (
    ALREADY,
    INCONCLUSIVE,
    LEAST_GAIN,
    NOT_ABOVE,
    OUTSIDE,
    expected_layer,
    inside,
    resolved,
)
from probing.edges.report_curves import EdgeCurve, Number

_NONE = Number(np.nan, np.nan, np.nan)


def gain_of(curve: EdgeCurve) -> Number:
    """F1(L) - F1(0)."""
    return curve.number(lambda values: values[..., -1] - values[..., 0])


def expected_layer_of(curve: EdgeCurve) -> Number:
    """The expected layer with its interval; NaN if it is not resolved."""
    gain = gain_of(curve)
    if not resolved(gain.value, gain.low):
        return _NONE
    expected = curve.number(expected_layer)
    return expected if inside(expected.low, expected.high, int(curve.layers[-1])) else _NONE


def reason_of(curve: EdgeCurve, majority: float | None) -> str | None:
    """Why the expected layer is not resolved, as ``edges.numbers_numbers`` names it; None if it is.

    ``majority`` is F1 of the majority label on the same targets; None if it is not stored.
    """
    gain = gain_of(curve)
    if resolved(gain.value, gain.low):
        return None if not np.isnan(expected_layer_of(curve).value) else OUTSIDE
    ends = [curve.number(lambda values, place=place: values[..., place]) for place in (0, -1)]  # type: ignore[misc]
    if majority is not None and all(min(end.value, end.low) <= majority for end in ends):
        return NOT_ABOVE
    # A gain whose interval reaches one point may be one.
    return INCONCLUSIVE if max(gain.value, gain.high) >= LEAST_GAIN else ALREADY


def spread_of(curves: Iterable[EdgeCurve]) -> SeedSpread | None:
    """Variance over seeds of the expected layer, pooled over the curves with several seeds that resolve it."""
    several = [curve for curve in curves if curve.seeds > 1 and not np.isnan(expected_layer_of(curve).value)]
    return seed_spread(expected_layer(curve.by_seed) for curve in several)
