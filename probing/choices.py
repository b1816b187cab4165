"""What users choose on each page: keys, values and labels, which the pages and their links share."""

from dataclasses import dataclass

from probing.compared.report import LOSSES
from probing.edges.targets import OWN
from probing.facts import forgotten
from probing.facts.figures_relations import ORDERS
from probing.facts.forgotten import DEFINITIONS
from probing.facts.requests import AMONG_CANDIDATES, DTYPES, INDEPENDENT, VOCABULARY
from probing.forgetting.ways import LISTED_BY
from probing.kernel.app.selection import FILTERS, ONE_RUN, declared, noted, one_of
from probing.kernel.figures.yardsticks import MODES
from probing.kernel.metric import RANKS
from probing.kernel.models.names import HEADS, LOGIT_LENS
from probing.kernel.questions import MAX_PIECES
from probing.live import page_live_models, perturb
from probing.own_model.page_run import asked_models
from probing.own_model.space import WHAT
from probing.sentences.examples import POOLINGS, PROTOCOLS

# The menu of models lists those of own runs, too.
page_live_models.of_own_runs = asked_models

#: Tabs: fill a gap, predict every token, label spans of words, analyse a whole sentence, or compare the words of
#: minimal pairs.
VIEWS = ("gap", "tokens", "spans", "sentence", "pairs")
SCALES = ("rank", "probability", "entropy")
TOPS = (3, 5, 10)
#: Tokens that fill a gap; 0: as many as the first followed word has.
PIECES = tuple(range(MAX_PIECES + 1))
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
    pieces: int = one_of(PIECES)
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


COMPARE_TABS = {
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
    compare_tab: str = one_of(tuple(COMPARE_TABS))
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


FACT_ORDERS = (
    "telling",
    "layers known",
    "fact",
    "first layer",
    "last layer",
    "best rank",
    "last rank",
    "worst last rank",
)
KNOWN = ("any", "ever", "never")
#: Which facts of a pair of models are listed; ``""`` lists those of one model.
FACT_PARTS = ("", *forgotten.PARTS, *forgotten.FATES)
FACTS_TABS = {"stored": "One fact", "own": "Your own facts"}


@declared("facts", *ONE_RUN, *FILTERS, "live_model")
@dataclass(frozen=True)
class FactsSelection:
    """The page's own choices; an empty ``way_back`` lists all facts."""

    relation: str = noted("", of=("probe_set",))
    text: str = ""
    known: str = one_of(KNOWN)
    known_at: int | None = None
    first_known: int | None = None
    last_known: int | None = None
    at_layer: int | None = None
    at_rank: int = one_of(RANKS)
    order: str = one_of(FACT_ORDERS)
    list_page: int = noted(1, of=("model", "probe_set"))
    fact: str = noted("", of=("model", "probe_set"))
    versus: str = ""
    part: str = one_of(FACT_PARTS)
    part_k: int = one_of(RANKS)
    way_back: str = one_of(("", *LISTED_BY))
    fact_models: tuple[str, ...] = noted((), kept=True)
    facts_tab: str = one_of(tuple(FACTS_TABS))
    own_head: str = one_of(HEADS, LOGIT_LENS)
    own_base: str = ""


GRAMMAR_TABS = {
    "scores": "Scores",
    "order": "Order",
    "sentence": "Word by word",
    "whole": "Whole sentences",
    "own": "Your own file",
}
GRAMMAR_PARTS = ("dev", "test")
LAYERWISE = ("cumulative", "at", "selectivity", "compression")
#: The parts whose single sentences are stored, the preferred one first.
TRACE_PARTS = (OWN, "dev", "test")
KINDS = ("any", "ambiguous", "revised")
SENTENCE_ORDERS = ("ambiguous", "revised", "sentence")
#: What is drawn layer by layer of whole sentences: accuracy, or what lies above a baseline.
MINUS = ("value", "majority", "surface")


@declared("grammar", "live_model")
@dataclass(frozen=True)
class GrammarSelection:
    """The page's own choices. An empty string or tuple means the page's default, or any.

    ``edge_model`` is the one whose tasks are put in order, and whose single sentences are shown. ``trace_kind``:
    ambiguous targets, those whose most probable label changes, or any. ``settled``: the layer from which the right
    label stays the most probable one. ``later_first, earlier_last``: two tasks; sentences in which a target of the
    first settles before one of the second. ``text_hash`` is the sha256 of the text of the shown sentence. Without
    ``learned_layer``, the learning curve is at each line's best one.
    """

    grammar_tab: str = one_of(tuple(GRAMMAR_TABS))
    edge_models: tuple[str, ...] = ()
    edge_tasks: tuple[str, ...] = ()
    edge_part: str = one_of(GRAMMAR_PARTS)
    unseen: bool = False
    published: bool = True
    layerwise: str = one_of(LAYERWISE)
    edge_model: str = ""
    normed: bool = False
    labels_of: str = ""
    trace_task: str = ""
    trace_part: str = one_of(("", *TRACE_PARTS))
    trace_label: str = ""
    trace_kind: str = one_of(KINDS)
    settled: int | None = None
    trace_order: str = one_of(SENTENCE_ORDERS)
    trace_page: int = 1
    later_first: str = ""
    earlier_last: str = ""
    text_hash: str = ""
    every_target: bool = False
    other_panels: bool = False
    sentence_models: tuple[str, ...] = ()
    sentence_tasks: tuple[str, ...] = ()
    sentence_protocol: str = one_of(("", *PROTOCOLS))
    poolings: tuple[str, ...] = noted((), each=POOLINGS)
    sentence_minus: str = one_of(MINUS)
    learned_task: str = ""
    learned_layer: int | None = None


HOME_EXAMPLES = (1, 2, 3)


@declared("home", "models", "heads", "probe_sets")
@dataclass(frozen=True)
class HomeSelection:
    """The page's own choices; ``sentence`` is asked live in place of the stored example."""

    example: int = one_of(HOME_EXAMPLES)
    sentence: str = ""


METRICS = ("p_at_k", "mrr", "answer_p_at_1")
LAYERS_TABS = ("relations", "heads", "candidates")


@declared("layers", "models", "heads", "probe_sets", *ONE_RUN, "k", "average", *FILTERS)
@dataclass(frozen=True)
class LayersSelection:
    """The page's own choices; no ``relations`` means the page's default.

    ``ranked_set`` and the like are of ranks among candidates; empty means what most models have, of ``ranked_dtype``
    float32, and of ``ranked_file`` the answers of the relation.
    """

    metric: str = one_of(METRICS)
    minus: str = one_of(tuple(MODES))
    panels: bool = False
    row_order: str = one_of(tuple(ORDERS))
    against_base: bool = False
    relations: tuple[str, ...] = noted((), of=("probe_set",))
    definition: str = one_of(DEFINITIONS, "strict")
    layers_tab: str = one_of(LAYERS_TABS)
    ranked_set: str = ""
    ranked_measure: str = one_of(("", *AMONG_CANDIDATES))
    ranked_head: str = one_of(("", *HEADS))
    ranked_file: str = ""
    ranked_dtype: str = one_of(("", *DTYPES))


METHODS_TABS = {
    "glossary": "Glossary",
    "metrics": "Metrics",
    "data": "Data and licences",
    "models": "Models",
    "runs": "Runs",
    "differences": "Differences from the papers",
    "cite": "Cite",
}


@declared("methods")
@dataclass(frozen=True)
class MethodsSelection:
    """The page's own choices; without ``methods_search`` all entries of the glossary are shown."""

    methods_search: str = ""
    methods_tab: str = one_of(tuple(METHODS_TABS))


OWN_MODEL_TABS = {"facts": "Facts", "curve": "Curve", "ways": "Ways back", "new": "A run of your own", "space": "Space"}


@declared("own_model")
@dataclass(frozen=True)
class OwnModelSelection:
    """The page's own choices. An empty text means none, the newest run, or the measure that asks all facts.

    Models are typed: folders, hub ids or names. A link alone never makes the server contact the hub.
    """

    my_model: str = ""
    my_base: str = ""
    my_others: tuple[str, ...] = ()
    my_space: str = one_of(WHAT)
    my_run: str = ""
    my_measure: str = one_of(("", VOCABULARY, INDEPENDENT))
    my_k: int = one_of((1, 10))
    own_tab: str = one_of(tuple(OWN_MODEL_TABS))


PAPERS = {
    "bertnesia": "BERTnesia (Wallat et al. 2020)",
    "edge-probing": "Edge probing (Tenney et al. 2019)",
    "interplay": "Fine-tuning and probing (Mosbach et al. 2020)",
    "forgetting": "Unlearning (Deeb and Roger 2024)",
}
PAPERS_TABS = {"tables": "Tables", "figures": "Figures"}


@declared("papers")
@dataclass(frozen=True)
class PapersSelection:
    """The page's own choices, the same for every paper; ``""`` means the first, or the heads of most models."""

    paper: str = one_of(tuple(PAPERS))
    papers_subject: str = ""
    papers_head: str = ""
    papers_tab: str = one_of(tuple(PAPERS_TABS))
    figure: str = ""
    panel: str = ""
