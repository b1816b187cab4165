"""What is chosen on the page of layers."""

from dataclasses import dataclass

from probing.core.knowledge.forgetting import DEFINITIONS
from probing.figures.knowledge.relation_map import ORDERS
from probing.figures.yardsticks import MODES
from probing.ui.frame.selection import FILTERS, ONE_RUN, declared, noted, one_of

METRICS = ("p_at_k", "mrr", "answer_p_at_1")
TABS = ("relations", "heads")


@declared("layers", "models", "heads", "probe_sets", *ONE_RUN, "k", "average", *FILTERS)
@dataclass(frozen=True)
class LayersSelection:
    """The page's own choices.

    Attributes:
        metric: what the curves show.
        minus: the yardstick that is subtracted, in curves and map.
        panels: one panel per probe set instead of one for all.
        row_order, against_base: order of the map's rows, and whether it shows the difference to the base.
        relations: relations whose curves are drawn; none means the page's default.
        definition: of a relation that is better known inside.
        layers_tab: the open tab.
    """

    metric: str = one_of(METRICS)
    minus: str = one_of(tuple(MODES))
    panels: bool = False
    row_order: str = one_of(tuple(ORDERS))
    against_base: bool = False
    relations: tuple[str, ...] = noted((), of=("probe_set",))
    definition: str = one_of(DEFINITIONS, "strict")
    layers_tab: str = one_of(TABS)
