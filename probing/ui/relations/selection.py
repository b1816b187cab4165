"""What is chosen on the relations page."""

from dataclasses import dataclass

from probing.core.knowledge.forgetting import DEFINITIONS
from probing.figures.yardsticks import MODES
from probing.ui.frame.selection import FILTERS, ONE_RUN, declared, noted, one_of

ROW_ORDERS = ("onset", "last", "drop", "cardinality", "name")


@declared("relations", *ONE_RUN, "k", "average", *FILTERS)
@dataclass(frozen=True)
class RelationsSelection:
    """The page's own choices.

    Attributes:
        row_order, against_base: order of the relation map's rows, and whether it shows the difference to the base.
        relations: relations whose curves are drawn; none means the page's default.
        definition: of a forgotten relation.
        map_minus: the yardstick that is subtracted in the map and the curves.
    """

    row_order: str = one_of(ROW_ORDERS)
    against_base: bool = False
    relations: tuple[str, ...] = noted((), of=("probe_set",))
    definition: str = one_of(DEFINITIONS)
    map_minus: str = one_of(tuple(MODES))
