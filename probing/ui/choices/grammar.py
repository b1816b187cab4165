"""What is chosen on the page of grammar."""

from dataclasses import dataclass

from probing.core.sentences.example import POOLINGS, PROTOCOLS
from probing.ui.frame.selection import declared, noted, one_of

#: Parts of a task's data that have scores.
PARTS = ("dev", "test")
#: What is drawn layer by layer.
SHOWN = ("cumulative", "at", "selectivity", "compression")

#: Parts of the page below its answer, by their names in links -> labels of their tabs.
TABS = {"scores": "Scores", "layers": "Layer by layer", "order": "Order and labels", "whole": "Whole sentences", "own": "Your own file"}
#: What is drawn layer by layer of whole sentences: right answers, or those beyond a baseline.
MINUS = ("value", "majority", "surface")


@declared("grammar", "live_model")
@dataclass(frozen=True)
class GrammarSelection:
    """The page's own choices. An empty string or tuple means the page's default.

    Attributes:
        edge_models, edge_tasks: the models and tasks that are shown.
        edge_part: the part of the data that is scored.
        unseen: whether only targets whose span texts do not occur in training are counted.
        published: whether the paper's models are shown, too.
        layerwise: what is drawn layer by layer.
        bars_of: the model whose weights and gains are drawn.
        normed: whether weights are multiplied by the norm of their layer.
        ordered: the model whose tasks are ordered.
        labels_of: the task that is shown label by label.
        grammar_tab: the tab that is open.
        sentence_models, sentence_tasks: the models and tasks of whole sentences.
        sentence_protocol: how the sentences of a task were divided.
        poolings: how a sentence becomes one vector; none means all.
        sentence_minus: what is drawn layer by layer of whole sentences.
        learned_task, learned_layer: the learning curve that is shown; without a layer, at each line's best one.
    """

    edge_models: tuple[str, ...] = ()
    edge_tasks: tuple[str, ...] = ()
    edge_part: str = one_of(PARTS)
    unseen: bool = False
    published: bool = True
    layerwise: str = one_of(SHOWN)
    bars_of: str = ""
    normed: bool = False
    ordered: str = ""
    labels_of: str = ""
    grammar_tab: str = one_of(tuple(TABS))
    sentence_models: tuple[str, ...] = ()
    sentence_tasks: tuple[str, ...] = ()
    sentence_protocol: str = one_of(("", *PROTOCOLS))
    poolings: tuple[str, ...] = noted((), each=POOLINGS)
    sentence_minus: str = one_of(MINUS)
    learned_task: str = ""
    learned_layer: int | None = None
