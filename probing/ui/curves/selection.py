"""What is chosen on the page of layer curves."""

from dataclasses import dataclass

from probing.ui.frame.selection import OVERVIEW, declared, one_of

METRICS = ("p_at_1", "p_at_10", "p_at_100", "mrr", "answer_p_at_1")


@declared("layer_curves", *OVERVIEW)
@dataclass(frozen=True)
class CurvesSelection:
    """The page's own choices.

    Attributes:
        metric: what is drawn by layer.
        panels: one panel per probe set instead of one for all.
    """

    metric: str = one_of(METRICS)
    panels: bool = False
