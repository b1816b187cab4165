"""What is chosen on the page of sentence probes."""

from dataclasses import dataclass

from probing.core.sentences.example import POOLINGS, PROTOCOLS
from probing.ui.frame.selection import declared, noted, one_of

#: What is drawn layer by layer: accuracy, or what lies above a baseline.
MINUS = ("value", "majority", "surface")


@declared("sentence_probes", "live_model")
@dataclass(frozen=True)
class SentenceProbesSelection:
    """The page's own choices. An empty string or tuple means the page's default.

    Attributes:
        sentence_models, sentence_tasks: the models and tasks that are shown.
        sentence_protocol: how the sentences of a task were divided.
        poolings: how a sentence becomes one vector; none means all.
        sentence_minus: what is drawn layer by layer.
        learned_task, learned_layer: the learning curve that is shown; without a layer, at each line's best one.
    """

    sentence_models: tuple[str, ...] = ()
    sentence_tasks: tuple[str, ...] = ()
    sentence_protocol: str = one_of(("", *PROTOCOLS))
    poolings: tuple[str, ...] = noted((), each=POOLINGS)
    sentence_minus: str = one_of(MINUS)
    learned_task: str = ""
    learned_layer: int | None = None
