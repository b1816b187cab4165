"""What is chosen on the page of sentence probes."""

from dataclasses import dataclass

from probing.core.sentences.example import POOLINGS, PROTOCOLS
from probing.ui.frame.selection import declared, noted, one_of

#: What is drawn layer by layer: accuracy, or what lies above a baseline.
MINUS = ("value", "majority", "surface")
#: What a change is measured against: the base's probe of the same pooling, or the base's mean-pooled one.
CHANGES = ("first", "mean", "base-mean")
#: Sentences that changed: all, or one direction only.
WAYS = ("both", "wrong", "right")


@declared("sentence_probes", "live_model")
@dataclass(frozen=True)
class SentenceProbesSelection:
    """The page's own choices. An empty string or tuple means the page's default.

    Attributes:
        sentence_models, sentence_tasks: the models and tasks that are shown.
        sentence_protocol: how the sentences of a task were divided.
        poolings: how a sentence becomes one vector; none means all.
        sentence_minus: what is drawn layer by layer.
        tuned_model: the fine-tuned model whose change is shown.
        change_kind: what the change is measured against.
        learned_task, learned_layer: the learning curve that is shown; without a layer, at each line's best one.
        turned_task, turned_pooling, turned_layer, turned_way: the sentences that are listed.
        turned_example: the first digits of the sha256 of the sentence that is shown.
    """

    sentence_models: tuple[str, ...] = ()
    sentence_tasks: tuple[str, ...] = ()
    sentence_protocol: str = one_of(("", *PROTOCOLS))
    poolings: tuple[str, ...] = noted((), each=POOLINGS)
    sentence_minus: str = one_of(MINUS)
    tuned_model: str = ""
    learned_task: str = ""
    learned_layer: int | None = None
