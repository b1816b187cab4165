"""What is chosen on the page that compares two models: which they are, and what of the loss is shown."""

from dataclasses import dataclass

from probing.finetuning.report import LOSSES
from probing.forgetting.ways import LISTED_BY
from probing.kernel.app.selection import FILTERS, declared, one_of
from probing.kernel.figures.yardsticks import MODES
from probing.sentences.examples import POOLINGS

TABS = {
    "relations": "Relations",
    "layers": "Layer by layer",
    "when": "When",
    "prevention": "What prevents it",
    "beyond": "Beyond facts",
    "models": "All models",
}
#: All lost facts, however they come back.
ALL_LOST = "lost"
#: What a change of sentence probes is measured against: the base's probe of the same pooling, or the base's mean-pooled
#: one.
CHANGES = ("first", "mean", "base-mean")
#: Sentences that changed: all, or one direction only.
WAYS = ("both", "wrong", "right")


@declared("compare", "head", "probe_set", "k", *FILTERS)
@dataclass(frozen=True)
class CompareSelection:
    """The page's own choices. An empty string means the page's default; an empty ``lost_way`` lists no facts.

    ``protected`` has base and objective, with a blank between them.
    """

    tuned: str = ""
    versus_model: str = ""
    compare_tab: str = one_of(tuple(TABS))
    lost_way: str = one_of(("", ALL_LOST, *LISTED_BY))
    lost_relation: str = ""
    lost_fact: str = ""
    pair_minus: str = one_of(tuple(MODES))
    lost_training: str = ""
    followed_fact: str = ""
    protected: str = ""
    beyond_measure: str = ""
    change_kind: str = one_of(CHANGES)
    gone_task: str = ""
    gone_pooling: str = one_of(("", *POOLINGS))
    gone_layer: int | None = None
    turned_way: str = one_of(WAYS)
    plane_loss: str = one_of(("", *LOSSES))
