"""The kinds of probes and labels that a run of edge probing can have."""

from probing.kernel.provenance import ENCODERS, RANDOM, RANDOM_BODY, TRAINED

__all__ = [
    "AT",
    "CONTROL",
    "CUMULATIVE",
    "ENCODERS",
    "FULL",
    "KINDS",
    "LABELS",
    "RANDOM",
    "RANDOM_BODY",
    "TASK",
    "TRAINED",
]
#: P(l) mixes the layers 0..l; a probe at l reads layer l alone; the full mix reads all layers.
CUMULATIVE, AT, FULL = KINDS = ("cumulative", "at", "full")
#: The gold labels, and those of the control task (Hewitt and Liang 2019).
TASK, CONTROL = LABELS = ("task", "control")


def layers_of_kind(kind: str, last: int) -> tuple[int, ...]:
    """The layers l that a run of this kind has a probe for."""
    return (last,) if kind == FULL else tuple(range(last + 1))


def layers_read(kind: str, layer: int) -> tuple[int, ...]:
    """The layers that a probe of this kind mixes."""
    return (layer,) if kind == AT else tuple(range(layer + 1))
