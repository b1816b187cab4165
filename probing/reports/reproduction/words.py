"""Numbers of probes in sentences."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from probing.reports.reproduction.decisions import Interval


def ranged(number: Interval) -> str:
    """A number with its interval: "2.59 (2.41 to 2.80)"; alone if it has none."""
    if np.isnan([number.low, number.high]).any():
        return f"{number.value:.2f}"
    return f"{number.value:.2f} ({number.low + 0.0:.2f} to {number.high + 0.0:.2f})"


def in_points(number: Interval) -> str:
    """A difference of F1 in points: "+1.20 (+0.80 to +1.60)"."""
    return "not known" if np.isnan(number.value) else f"{100 * number.value:+.2f} ({100 * number.low:+.2f} to {100 * number.high:+.2f})"


def listed(words: Sequence[str]) -> str:
    """ "a, b and c"."""
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1] if words else ""


def without_interval(numbers: Iterable[Interval | None]) -> str:
    """A sentence if some numbers have no interval; else empty."""
    if any(one is not None and np.isnan([one.low, one.high]).any() for one in numbers):
        return " Only one seed was trained, so the variation of the weights over seeds is unknown."
    return ""


def points(share: float | None) -> str:
    """A share in per cent with one decimal, or a dash."""
    return "–" if share is None or pd.isna(share) else f"{round(100 * share, 1) + 0.0:.1f}"
