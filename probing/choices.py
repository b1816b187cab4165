"""What is chosen on the page Ask: the sentences, the models, and how a sentence is changed."""

from dataclasses import dataclass

from probing.kernel.app.selection import declared, noted, one_of
from probing.kernel.models.names import HEADS, LOGIT_LENS
from probing.live import perturb

#: Tabs: fill a gap, predict every token, label spans of words, analyse a whole sentence, or compare the words of
#: minimal pairs.
VIEWS = ("gap", "tokens", "spans", "sentence", "pairs")
SCALES = ("rank", "probability", "entropy")
TOPS = (3, 5, 10)
PERTURBATIONS = ("", *perturb.PERTURBATIONS)
#: Which layers of a fine-tuned model are replaced by the base's.
REPLACED = ("", "last", "first")
#: Example sentences, each with words to follow.
EXAMPLES = {
    "Paris is the capital of [MASK].": "france, italy",
    "Windows Media Player is a product made by [MASK].": "microsoft, apple",
    "In San Marino, official documents are written in [MASK].": "italian, english",
    "Fresh snow is [MASK].": "white, black",
    "A robin is not a [MASK].": "bird",
    "[MASK] is the capital of [MASK].": "paris, france",
}
SENTENCES = (
    "He left the bank in the city and walked along the bank of the river .",
    "The keys to the cabinet are on the table in the hall .",
    "The band did not play any songs on the first day of the festival .",
)
#: The token whose attention is shown first, from 0: in the first of these sentences "bank".
WORD = 4
#: The sentences of Figure 3 of Tenney et al. (2019), as written there -> the spans that its text discusses.
SPAN_EXAMPLES = {
    "he smoked toronto in the playoffs with six hits, seven walks and eight stolen bases ...": ("1-2", "2-3"),
    "china today blacked out a cnn interview that was ...": ("2-3", "0-2"),
}
#: Value of ``span1`` and ``span2`` for no span, not even that of the example.
NO_SPAN = "-"
#: Value of ``live_models`` for no second model.
ALONE = "-"
#: Value of ``prompt`` for the first sentence of Home, and of ``watch`` for the words of the example; an emptied field
#: holds ``""``.
OF_EXAMPLE = ","


@declared("ask", "live_model")
@dataclass(frozen=True)
class AskSelection:
    """The page's own choices.

    ``mask`` and ``gap`` count from 1; mask 0 fills all gaps, of which ``gap`` is shown. ``cell`` is the layer and the
    token, from 0, whose best tokens are listed, as ``8-3``. Without ``live_models`` its base, or a model that was
    fine-tuned from it, is asked with ``live_model``. ``span1, span2`` are half-open, as ``1-2``; if empty, those of the
    example. ``attending`` is a token, from 0; ``attention_head`` a head, from 1, or 0 for the mean of all; ``swapped``
    the word that changes places with the next one, from 1, or 0. ``likelier, unlikelier`` are the user's own minimal
    pair: two sentences, or a sentence with a gap and two words. ``minimal_pair`` is the number of a shipped one, from
    1, or 0 for the user's own; None: the first right one.
    """

    ask_view: str = one_of(VIEWS)
    live_head: str = one_of(HEADS, LOGIT_LENS)
    prompt: str = OF_EXAMPLE
    watch: str = OF_EXAMPLE
    scale: str = one_of(SCALES)
    top: int = one_of(TOPS)
    mask: int = 1
    gap: int = 1
    cell: str = ""
    live_models: tuple[str, ...] = noted((), emptied=(ALONE,))
    perturbation: str = one_of(PERTURBATIONS)
    prime: str = ""
    shuffle_seed: int = 1
    keep_words: int = 2
    other_name: str = ""
    replaced: str = one_of(REPLACED)
    live_base: str = ""
    words: str = next(iter(SPAN_EXAMPLES))
    span1: str = ""
    span2: str = ""
    base_probes: bool = False
    whole: str = SENTENCES[0]
    second: str = ""
    attending: int = WORD
    attention_head: int = 0
    swapped: int = 0
    likelier: str = ""
    unlikelier: str = ""
    minimal_pair: int | None = None
