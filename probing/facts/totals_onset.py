"""Where knowledge appears: the first layer that reaches half of what the last one knows, and the steepest rise."""

from collections.abc import Mapping
from itertools import pairwise


def onset(by_layer: Mapping[int, float], last: int) -> int | None:
    """The first layer from 1 with at least half of the last layer's share known; None if the last has none."""
    known = by_layer.get(last, 0.0)
    if not known > 0:
        return None
    return min((layer for layer, value in by_layer.items() if layer >= 1 and value >= known / 2), default=None)


def steepest(by_layer: Mapping[int, float]) -> tuple[int, int] | None:
    """The two neighbouring layers between which the share rises most, the first of several; None under two layers."""
    layers = sorted(by_layer)
    steps = list(pairwise(layers))
    return max(steps, key=lambda step: by_layer[step[1]] - by_layer[step[0]], default=None)
