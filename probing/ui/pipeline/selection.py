"""What is chosen on the page of the pipeline."""

from dataclasses import dataclass

from probing.ui.frame.selection import declared, one_of

#: Parts of a task's data that have scores.
PARTS = ("dev", "test")
#: What is drawn layer by layer.
SHOWN = ("cumulative", "at", "selectivity", "compression")

#: Parts of the page below its answer, by their names in links -> labels of their tabs.
TABS = {"scores": "Scores", "layers": "Layer by layer", "order": "Order and labels"}


@declared("grammar")
@dataclass(frozen=True)
class PipelineSelection:
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
        edge_tab: the tab that is open.
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
    edge_tab: str = one_of(tuple(TABS))
