"""What is chosen on the compare page."""

from dataclasses import dataclass

from probing.figures.yardsticks import MODES
from probing.ui.frame.selection import FILTERS, declared, one_of

#: Parts of the page below its answer, by their names in links -> labels of their tabs.
TABS = {"facts": "Fact by fact", "models": "Model by model", "layers": "Layer by layer"}


@declared("compare", "head", "probe_set", "k", *FILTERS)
@dataclass(frozen=True)
class CompareSelection:
    """The page's own choices.

    Attributes:
        tuned, versus_model: the two models that are compared.
        never: whether the flow draws the facts that neither of them knows.
        pair_minus: the yardstick that is subtracted from both curves.
        compare_tab: the tab that is open.
    """

    tuned: str = ""
    versus_model: str = ""
    never: bool = False
    pair_minus: str = one_of(tuple(MODES))
    compare_tab: str = one_of(tuple(TABS))
