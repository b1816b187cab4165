"""What is chosen on the compare page."""

from dataclasses import dataclass

from probing.ui.frame.selection import FILTERS, declared


@declared("compare", "head", "probe_set", "k", *FILTERS)
@dataclass(frozen=True)
class CompareSelection:
    """The page's own choices.

    Attributes:
        tuned, versus_model: the two models that are compared.
        never: whether the flow draws the facts that neither of them knows.
    """

    tuned: str = ""
    versus_model: str = ""
    never: bool = False
