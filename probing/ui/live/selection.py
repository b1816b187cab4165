"""What is chosen on the live page: the sentence, who is asked it, and how it is changed."""

from dataclasses import dataclass

from probing.core.perturb import rules
from probing.ui.frame.selection import declared, one_of

SCALES = ("rank", "probability")
TOPS = (3, 5, 10)
BEHAVIOURS = ("", *rules.BEHAVIOURS)
#: Which layers of a fine-tuned model are put back to the base's.
REPLACED = ("", "last", "first")
#: Sentence -> words that are worth tracking in it.
EXAMPLES = (
    ("The capital of France is [MASK].", "paris, lyon"),
    ("Windows Media Player is a product made by [MASK].", "microsoft, apple"),
    ("Rocky Balboa was born in [MASK].", "philadelphia"),
    ("In San Marino, official documents are written in [MASK].", "italian, english"),
    ("Fresh snow is [MASK].", "white, black"),
    ("A robin is not a [MASK].", "bird"),
    ("[MASK] is the capital of [MASK].", "paris, france"),
)
#: Stands for the words of the example, and for none with another sentence; a field that was emptied says otherwise.
OF_EXAMPLE = ","


@declared("live", "live_model")
@dataclass(frozen=True)
class LiveSelection:
    """The page's own choices.

    Attributes:
        live_head, prompt, watch, scale, top, mask: what is asked. ``mask`` counts from 1; 0 fills all.
        live_models: models asked beside ``live_model``.
        behaviour, prime, shuffle_seed, keep_words, other_name: how the sentence is changed, and with what.
        replaced, live_base: which layers of ``live_model`` are put back, and to whose where its base is not known.
    """

    live_head: str = ""
    prompt: str = EXAMPLES[0][0]
    watch: str = OF_EXAMPLE
    scale: str = one_of(SCALES)
    top: int = one_of(TOPS, 5)
    mask: int = 1
    live_models: tuple[str, ...] = ()
    behaviour: str = one_of(BEHAVIOURS)
    prime: str = ""
    shuffle_seed: int = 1
    keep_words: int = 2
    other_name: str = ""
    replaced: str = one_of(REPLACED)
    live_base: str = ""
