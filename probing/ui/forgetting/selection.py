"""What is chosen on the page of lost facts."""

from dataclasses import dataclass

from probing.core.forgetting.ways import LOST_OUTCOMES
from probing.ui.frame.selection import declared, one_of

#: Parts of the page below its answer, by their names in links -> labels of their tabs.
TABS = {"facts": "Where, and which facts", "trainings": "When, and what prevents it"}


@declared("forgetting")
@dataclass(frozen=True)
class ForgettingSelection:
    """The page's own choices. An empty string means the page's default.

    Attributes:
        lost_set, lost_k: the facts that models were asked, and the rank up to which one is known.
        lost_model: the fine-tuned model whose lost facts are shown.
        lost_way, lost_relation: the listed facts; empty keeps all.
        lost_fact: id of the fact whose story is shown.
        lost_training: the training that is shown state by state.
        followed_fact: id of the fact that is followed through it.
        protected: base and objective, with a blank between them, of the fine-tuning whose recipes are compared.
        forgetting_tab: the tab that is open.
    """

    lost_set: str = ""
    lost_k: int = one_of((1, 10))
    lost_model: str = ""
    lost_way: str = one_of(("", *LOST_OUTCOMES))
    lost_relation: str = ""
    lost_fact: str = ""
    lost_training: str = ""
    followed_fact: str = ""
    protected: str = ""
    forgetting_tab: str = one_of(tuple(TABS))
