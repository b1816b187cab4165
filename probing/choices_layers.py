"""What is chosen on the page of layers."""

from dataclasses import dataclass

from probing.facts.figures_relations import ORDERS
from probing.facts.forgotten import DEFINITIONS
from probing.kernel.app.selection import FILTERS, ONE_RUN, declared, noted, one_of
from probing.kernel.figures.yardsticks import MODES

METRICS = ("p_at_k", "mrr", "answer_p_at_1")
TABS = ("relations", "heads")


@declared("layers", "models", "heads", "probe_sets", *ONE_RUN, "k", "average", *FILTERS)
@dataclass(frozen=True)
class LayersSelection:
    """The page's own choices; no ``relations`` means the page's default."""

    metric: str = one_of(METRICS)
    minus: str = one_of(tuple(MODES))
    panels: bool = False
    row_order: str = one_of(tuple(ORDERS))
    against_base: bool = False
    relations: tuple[str, ...] = noted((), of=("probe_set",))
    definition: str = one_of(DEFINITIONS, "strict")
    layers_tab: str = one_of(TABS)
