"""What is chosen on the page of lost facts."""

from dataclasses import dataclass

from probing.core.forgetting.ways import LOST_OUTCOMES
from probing.ui.frame.selection import declared, one_of


@declared("forgetting")
@dataclass(frozen=True)
class ForgettingSelection:
    """The page's own choices. An empty string means the page's default.

    Attributes:
        lost_set, lost_k: the facts that models were asked, and the rank up to which one is known.
        lost_model: the fine-tuned model whose lost facts are shown.
        lost_way, lost_relation: the listed facts; empty keeps all.
        lost_fact: id of the fact whose story is shown.
    """

    lost_set: str = ""
    lost_k: int = one_of((1, 10))
    lost_model: str = ""
    lost_way: str = one_of(("", *LOST_OUTCOMES))
    lost_relation: str = ""
    lost_fact: str = ""
