"""What is chosen on the page of decoding heads."""

from dataclasses import dataclass

from probing.figures.yardsticks import MODES
from probing.ui.frame.selection import FILTERS, declared, one_of


@declared("heads", "model", "probe_set", "k", "average", *FILTERS)
@dataclass(frozen=True)
class HeadsSelection:
    """The page's own choices.

    Attributes:
        heads_minus: the yardstick that is subtracted from the curves.
    """

    heads_minus: str = one_of(tuple(MODES))
