"""What is chosen on the page of sentence probes."""

from dataclasses import dataclass

from probing.core.sentences.example import POOLINGS
from probing.ui.frame.selection import declared, one_of

#: What a change is measured against: the base's probe of the same pooling, or the base's mean-pooled one.
CHANGES = ("first", "mean", "base-mean")
#: Sentences that changed: all, or one direction only.
WAYS = ("both", "wrong", "right")


@declared("sentence_probes")
@dataclass(frozen=True)
class SentenceProbesSelection:
    """The page's own choices. An empty string or tuple means the page's default.

    Attributes:
        tuned_model: the fine-tuned model whose change is shown.
        change_kind: what the change is measured against.
        turned_task, turned_pooling, turned_layer, turned_way: the sentences that are listed.
        turned_example: the first digits of the sha256 of the sentence that is shown.
    """

    tuned_model: str = ""
    change_kind: str = one_of(CHANGES)
    turned_task: str = ""
    turned_pooling: str = one_of(("", *POOLINGS))
    turned_layer: int | None = None
    turned_way: str = one_of(WAYS)
    turned_example: str = ""
