"""What is chosen on the page of grammar: tasks on words and spans, one sentence, and whole sentences."""

from dataclasses import dataclass

from probing.edges.targets import OWN
from probing.kernel.app.selection import declared, noted, one_of
from probing.sentences.examples import POOLINGS, PROTOCOLS

TABS = {
    "scores": "Scores",
    "order": "Order",
    "sentence": "Word by word",
    "whole": "Whole sentences",
    "own": "Your own file",
}
PARTS = ("dev", "test")
LAYERWISE = ("cumulative", "at", "selectivity", "compression")
#: The parts whose single sentences are stored, the preferred one first.
TRACE_PARTS = (OWN, "dev", "test")
KINDS = ("any", "ambiguous", "revised")
ORDERS = ("ambiguous", "revised", "sentence")
#: What is drawn layer by layer of whole sentences: accuracy, or what lies above a baseline.
MINUS = ("value", "majority", "surface")


@declared("grammar", "live_model")
@dataclass(frozen=True)
class GrammarSelection:
    """The page's own choices. An empty string or tuple means the page's default, or any.

    ``edge_model`` is the one whose tasks are put in order, and whose single sentences are shown. ``trace_kind``:
    ambiguous targets, those whose most probable label changes, or any. ``settled``: the layer from which the right
    label stays the most probable one. ``later_first, earlier_last``: two tasks; sentences in which a target of the
    first settles before one of the second. ``text_hash`` is the sha256 of the text of the shown sentence. Without
    ``learned_layer``, the learning curve is at each line's best one.
    """

    grammar_tab: str = one_of(tuple(TABS))
    edge_models: tuple[str, ...] = ()
    edge_tasks: tuple[str, ...] = ()
    edge_part: str = one_of(PARTS)
    unseen: bool = False
    published: bool = True
    layerwise: str = one_of(LAYERWISE)
    edge_model: str = ""
    normed: bool = False
    labels_of: str = ""
    trace_task: str = ""
    trace_part: str = one_of(("", *TRACE_PARTS))
    trace_label: str = ""
    trace_kind: str = one_of(KINDS)
    settled: int | None = None
    trace_order: str = one_of(ORDERS)
    trace_page: int = 1
    later_first: str = ""
    earlier_last: str = ""
    text_hash: str = ""
    every_target: bool = False
    other_panels: bool = False
    sentence_models: tuple[str, ...] = ()
    sentence_tasks: tuple[str, ...] = ()
    sentence_protocol: str = one_of(("", *PROTOCOLS))
    poolings: tuple[str, ...] = noted((), each=POOLINGS)
    sentence_minus: str = one_of(MINUS)
    learned_task: str = ""
    learned_layer: int | None = None
