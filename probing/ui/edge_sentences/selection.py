"""What is chosen on the page of single targets."""

from dataclasses import dataclass

from probing.core.edges.target import OWN
from probing.ui.frame.selection import declared, one_of

#: The parts of the data, the page's preferred one first.
PARTS = (OWN, "dev", "test")
KINDS = ("any", "ambiguous", "revised")
ORDERS = ("ambiguous", "revised", "sentence")


@declared("edge_sentences")
@dataclass(frozen=True)
class EdgeSentencesSelection:
    """The page's own choices. An empty string means the page's default, or any.

    Attributes:
        trace_model, trace_task, trace_part: which targets are listed.
        trace_label: their right label.
        trace_unseen: whether only targets whose span texts do not occur in training are listed.
        trace_kind: ambiguous targets, those whose most probable label changes, or any.
        settled: the layer from which the right label stays the most probable one.
        trace_order: order of the list.
        later_first, earlier_last: two tasks; sentences in which a target of the first settles before one of the second.
        text_hash: sha256 of the text of the sentence that is shown.
        every_target: whether all of its targets are drawn, not only those that pass the filters.
        other_panels: whether the panels that the first figure leaves out are drawn, too.
        trace_page: page of the list.
    """

    trace_model: str = ""
    trace_task: str = ""
    trace_part: str = one_of(("", *PARTS))
    trace_label: str = ""
    trace_unseen: bool = False
    trace_kind: str = one_of(KINDS)
    settled: int | None = None
    trace_order: str = one_of(ORDERS)
    later_first: str = ""
    earlier_last: str = ""
    text_hash: str = ""
    every_target: bool = False
    other_panels: bool = False
    trace_page: int = 1
