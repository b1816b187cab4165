"""What is chosen on the live page: the sentence, who is asked it, and how it is changed."""

from dataclasses import dataclass

from probing.core.perturb import rules
from probing.ui.frame.selection import declared, one_of

SCALES = ("rank", "probability")
TOPS = (3, 5, 10)
PERTURBATIONS = ("", *rules.PERTURBATIONS)
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
#: What is asked: a fact that fills a gap, what spans of words are, what becomes of a whole sentence, or which of two words is likelier.
VIEWS = ("fact", "spans", "sentence", "pairs")
#: Whole sentences that are worth asking.
SENTENCES = (
    "He left the bank in the city and walked along the bank of the river .",
    "The keys to the cabinet are on the table in the hall .",
    "The band did not play any songs on the first day of the festival .",
)
#: Stands for no model beside the one that is asked.
ALONE = "-"
#: The sentences of Figure 3 of Tenney et al. (2019), as it writes them -> the spans that its text follows.
SPAN_EXAMPLES = {
    "he smoked toronto in the playoffs with six hits, seven walks and eight stolen bases ...": ("1-2", "2-3"),
    "china today blacked out a cnn interview that was ...": ("2-3", "0-2"),
}
#: Stands for no second span, where the example would have one.
NO_SPAN = "-"
#: Stands for the words of the example, and for none with another sentence; a field that was emptied says otherwise.
OF_EXAMPLE = ","


@declared("live", "live_model")
@dataclass(frozen=True)
class LiveSelection:
    """The page's own choices.

    Attributes:
        live_head, prompt, watch, scale, top, mask: what is asked. ``mask`` counts from 1; 0 fills all.
        live_models: models asked beside ``live_model``.
        perturbation, prime, shuffle_seed, keep_words, other_name: how the sentence is changed, and with what.
        replaced, live_base: which layers of ``live_model`` are put back, and to whose where its base is not known.
        live_view: what is asked.
        words, span1, span2: a sentence, and half-open spans of its words as ``1-2``; empty spans are those of the example.
        base_probes: whether fine-tuned models are read by the probes of their bases.
        whole, second: a whole sentence, and a second one behind it.
        beside: the model beside ``live_model``; empty: its base or, of a base, a model that was fine-tuned from it.
        attending, attention_head: the token whose attention is shown, from 0; the head, from 1, or 0 for the mean of all.
        swapped: the word that changes places with the next one, from 1; 0: none.
        likelier, unlikelier: a minimal pair of the visitor's: two sentences, or a sentence with a gap and two words.
        minimal_pair: the pair that is drawn: number of a shipped one, from 1, or 0 for the visitor's.
    """

    live_head: str = ""
    prompt: str = EXAMPLES[0][0]
    watch: str = OF_EXAMPLE
    scale: str = one_of(SCALES)
    top: int = one_of(TOPS, 5)
    mask: int = 1
    live_models: tuple[str, ...] = ()
    perturbation: str = one_of(PERTURBATIONS)
    prime: str = ""
    shuffle_seed: int = 1
    keep_words: int = 2
    other_name: str = ""
    replaced: str = one_of(REPLACED)
    live_base: str = ""
    live_view: str = one_of(VIEWS)
    words: str = next(iter(SPAN_EXAMPLES))
    span1: str = ""
    span2: str = ""
    base_probes: bool = False
    whole: str = SENTENCES[0]
    second: str = ""
    beside: str = ""
    attending: int = 0
    attention_head: int = 0
    swapped: int = 0
    likelier: str = ""
    unlikelier: str = ""
    minimal_pair: int = 1
