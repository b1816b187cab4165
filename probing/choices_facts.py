"""What is chosen on the page of facts: which facts are listed, and which one is shown."""

from dataclasses import dataclass

from probing.facts import forgotten
from probing.forgetting.ways import LISTED_BY
from probing.kernel.app.selection import FILTERS, ONE_RUN, RANKS, declared, noted, one_of
from probing.kernel.models.names import HEADS, LOGIT_LENS

ORDERS = ("telling", "layers known", "fact", "first layer", "last layer", "best rank", "last rank", "worst last rank")
KNOWN = ("any", "ever", "never")
#: Which facts of a pair of models are listed; ``""`` lists those of one model.
PARTS = ("", *forgotten.PARTS, *forgotten.FATES)
TABS = {"stored": "One fact", "own": "Your own facts"}


@declared("facts", *ONE_RUN, *FILTERS, "live_model")
@dataclass(frozen=True)
class FactsSelection:
    """The page's own choices; an empty ``way_back`` lists all facts."""

    relation: str = noted("", of=("probe_set",))
    text: str = ""
    known: str = one_of(KNOWN)
    known_at: int | None = None
    first_known: int | None = None
    last_known: int | None = None
    at_layer: int | None = None
    at_rank: int = one_of(RANKS)
    order: str = one_of(ORDERS)
    list_page: int = noted(1, of=("model", "probe_set"))
    fact: str = noted("", of=("model", "probe_set"))
    versus: str = ""
    part: str = one_of(PARTS)
    part_k: int = one_of(RANKS)
    way_back: str = one_of(("", *LISTED_BY))
    fact_models: tuple[str, ...] = noted((), kept=True)
    facts_tab: str = one_of(tuple(TABS))
    own_head: str = one_of(HEADS, LOGIT_LENS)
    own_base: str = ""
