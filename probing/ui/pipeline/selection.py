"""What is chosen on the page of the pipeline."""

from dataclasses import dataclass

from probing.ui.frame.selection import declared, one_of

#: Parts of a task's data that have scores.
PARTS = ("dev", "test")
#: What is drawn layer by layer.
SHOWN = ("cumulative", "at", "selectivity", "compression")


@declared("pipeline")
@dataclass(frozen=True)
class PipelineSelection:
    """The page's own choices. An empty text or tuple means: the page's default.

    Attributes:
        edge_models, edge_tasks: what is laid over each other.
        edge_part: the part of the data that is scored.
        unseen: whether only targets count whose span texts do not occur in training.
        published: whether the paper's models stand beside.
        layerwise: what is drawn layer by layer.
        bars_of: the model whose weights and gains are drawn.
        normed: whether weights are taken times the norm of their layer.
        ordered: the model whose tasks are put in order.
        labels_of: the task that is shown label by label.
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
