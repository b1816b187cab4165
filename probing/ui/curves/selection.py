"""What is chosen on the page of layer curves."""

from dataclasses import dataclass

from probing.figures.yardsticks import MODES
from probing.ui.frame.selection import OVERVIEW, declared, one_of

METRICS = ("p_at_1", "p_at_10", "p_at_100", "mrr", "answer_p_at_1")


@declared("layers", *OVERVIEW)
@dataclass(frozen=True)
class CurvesSelection:
    """The page's own choices.

    Attributes:
        metric: what is drawn by layer.
        panels: one panel per probe set instead of one for all.
        minus: the yardstick that is subtracted.
        point_run, point_layer: the point whose facts are offered; none means the first line's last layer.
    """

    metric: str = one_of(METRICS)
    panels: bool = False
    minus: str = one_of(tuple(MODES))
    point_run: str = ""
    point_layer: int | None = None
