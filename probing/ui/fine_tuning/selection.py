"""What is chosen on the page of what fine-tuning changed."""

from dataclasses import dataclass

from probing.core.sentences.example import POOLINGS
from probing.reports.fine_tuning.by_layer import LOSSES
from probing.ui.frame.selection import declared, one_of

#: Parts of the page below its answer, by their names in links -> labels of their tabs.
TABS = {"layers": "Layer by layer", "properties": "Property by property", "all": "All models"}


@declared("fine_tuning", "head", "probe_set", "k")
@dataclass(frozen=True)
class FineTuningSelection:
    """The page's own choices. An empty string means the page's default.

    Attributes:
        changed_model: the fine-tuned model that is shown layer by layer.
        gone_task, gone_pooling, gone_layer: the property whose fate is shown.
        tuning_tab: the tab that is open.
        plane_loss: what the drift of weights is drawn against.
    """

    changed_model: str = ""
    gone_task: str = ""
    gone_pooling: str = one_of(("", *POOLINGS))
    gone_layer: int | None = None
    tuning_tab: str = one_of(tuple(TABS))
    plane_loss: str = one_of(("", *LOSSES))
