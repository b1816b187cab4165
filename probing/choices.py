"""What users choose on each page: keys, values and labels, which the pages and their links share."""

from dataclasses import dataclass

from probing.compared.report import LOSSES
from probing.edges.targets import OWN
from probing.facts import forgotten
from probing.facts.figures_relations import ORDERS
from probing.facts.requests import AMONG_CANDIDATES, DTYPES, INDEPENDENT, VOCABULARY
from probing.forgetting.ways import LISTED_BY
from probing.kernel.app.selection import (
    FILTERS,
    MAX_TEXT,
    OF_EXAMPLE,
    ONE_RUN,
    SEGMENTS,
    SENTENCE,
    declared,
    noted,
    one_of,
    ranks,
    segments,
)
from probing.kernel.figures.looks import head_name
from probing.kernel.figures.yardsticks import MODES
from probing.kernel.metric import RANKS
from probing.kernel.models.names import HEADS, LOGIT_LENS
from probing.kernel.questions import MAX_PIECES
from probing.live import page_live_models, perturb
from probing.own_model.page_run import asked_models
from probing.own_model.space import WHAT
from probing.sentences.examples import OURS, POOLINGS, PROTOCOLS, QUICK, SENTEVAL
from probing.sentences.figures import POOLING_NAMES

# The menu of models lists those of own runs, too.
page_live_models.of_own_runs = asked_models

#: Tabs: fill a gap, predict every token, label spans of words, analyse a whole sentence, or compare the words of
#: minimal pairs, or put one sentence's state into another.
VIEWS = ("gap", "tokens", "spans", "sentence", "pairs", "swap")
SCALES = ("rank", "probability", "entropy")
TOPS = (3, 5, 10)
#: Tokens that fill a gap; 0: as many as the first followed word has.
PIECES = {0: "automatic", **{pieces: str(pieces) for pieces in range(1, MAX_PIECES + 1)}}
#: Which layers of a fine-tuned model are replaced by the base's.
REPLACED = {"": "none", "last": "the last", "first": "the first"}
#: Example sentences, each with its right word (empty: none) and others to follow.
EXAMPLES = {
    "Paris is the capital of [MASK].": "france, italy",
    "Windows Media Player is a product made by [MASK].": "microsoft, apple",
    "In San Marino, official documents are written in [MASK].": "italian, english",
    "Fresh snow is [MASK].": "white, black",
    "A robin is not a [MASK].": ", bird",
    "[MASK] is the capital of [MASK].": ", paris, france",
}
SENTENCES = (
    "He left the bank in the city and walked along the bank of the river .",
    "The keys to the cabinet are on the table in the hall .",
    "The band did not play any songs on the first day of the festival .",
)
#: Two sentences with different answers each.
SWAP_EXAMPLES = (
    ("Paris is the capital of [MASK].", "Rome is the capital of [MASK]."),
    ("Mozart was born in [MASK].", "Chopin was born in [MASK]."),
    ("A dog is an [MASK].", "Fresh snow is [MASK]."),
)
#: The sentences of Figure 3 of Tenney et al. (2019), as written there -> the spans that its text discusses.
SPAN_EXAMPLES = {
    "he smoked toronto in the playoffs with six hits, seven walks and eight stolen bases ...": ("1-2", "2-3"),
    "china today blacked out a cnn interview that was ...": ("2-3", "0-2"),
}
#: Value of ``span1`` and ``span2`` for no span, not even that of the example.
NO_SPAN = "-"
#: Value of ``live_models`` for no second model.
ALONE = "-"


@declared("ask", "live_model", *SENTENCE)
@dataclass(frozen=True)
class AskSelection:
    """The page's own choices.

    ``cell`` is the layer and the token, from 0, whose best tokens are listed, as ``8-3``. Without ``live_models`` its
    base, or a model that was fine-tuned from it, is asked with ``live_model``. ``span1, span2`` are half-open, as
    ``1-2``; if empty, those of the example, or the first name. ``attending`` is a token, from 0, by default the gap;
    ``attention_head`` a head, from 1, or 0 for the mean of all; ``swapped`` the word that changes places with the next
    one, from 1, or 0. Without ``swap_into`` the second sentence is about another name. ``unlikelier`` has two words for
    the gap, or is the worse sentence; ``minimal_pair`` is the number of a shipped pair, from 1, or 0.
    """

    ask_view: str = one_of(VIEWS)
    live_head: str = segments(HEADS, LOGIT_LENS, label="Read with (head)", wrap=True, format_func=head_name)
    watch: str = noted(OF_EXAMPLE, label="Followed words", max_chars=200, placeholder="berlin, paris")
    scale: str = segments(SCALES, label="Followed words by layer")
    top: int = segments(TOPS, label="Words per layer")
    pieces: int = segments(PIECES, label="Pieces in the gap")
    cell: str = ""
    live_models: tuple[str, ...] = noted((), emptied=(ALONE,), label="Compare with", placeholder="no other model")
    perturbation: str = segments({"": "as typed", **perturb.PERTURBATIONS}, label="Changed sentence")
    prime: str = noted("", label="The word before the sentence", max_chars=60, width=280)
    shuffle_seed: int = noted(1, widget="number_input", label="Seed", min_value=1, max_value=9999, step=1, width=160)
    keep_words: int = noted(2, widget="number_input", min_value=0, max_value=20, step=1, width=280)
    other_name: str = noted("", max_chars=60, width=280)
    replaced: str = segments(REPLACED, label="Layers of the base put back")
    live_base: str = ""
    span1: str = ""
    span2: str = ""
    base_probes: bool = noted(False, label="Use the base's probes")
    second: str = noted("", label="Second sentence", max_chars=MAX_TEXT, placeholder="follows the first one")
    attending: int | None = None
    attention_head: int = 0
    swapped: int = noted(0, widget="number_input", label="Word swapped with the next", min_value=0, step=1)
    swap_into: str = noted("", label="The state of its gap is put into the gap of")
    hidden_words: tuple[str, ...] = noted(
        (), widget="pills", selection_mode="multi", label="Hidden from the gap", label_visibility="collapsed"
    )
    unlikelier: str = noted("", max_chars=400, label="Two words for the gap: better, worse")
    minimal_pair: int = noted(0, label="Pair", label_visibility="collapsed")


COMPARE_TABS = {
    "relations": "Lost facts",
    "layers": "Layer by layer",
    "carried": "Does it go by it?",
    "when": "When",
    "prevention": "What prevents it",
    "beyond": "Beyond facts",
    "models": "All models",
}
#: All lost facts, however they come back.
ALL_LOST = "lost"
#: What a change of sentence probes is measured against: the base's probe of the same pooling, or the base's mean-pooled
#: one.
CHANGES = {"first": "first token", "mean": "mean of all tokens", "base-mean": "first token against the base's mean"}
#: Sentences that changed: all, or one direction only.
WAYS = {"both": "both", "wrong": "turned wrong", "right": "turned right"}


@declared("compare", "head", "probe_set", "k", *FILTERS)
@dataclass(frozen=True)
class CompareSelection:
    """The page's own choices. An empty string means the page's default; an empty ``lost_way`` lists no facts.

    ``protected`` has base and objective, with a blank between them.
    """

    tuned: str = noted("", label="Model")
    versus_model: str = noted("", label="Compared with")
    compare_tab: str = one_of(tuple(COMPARE_TABS), visited=True)
    lost_way: str = one_of(("", ALL_LOST, *LISTED_BY), label="How they come back")
    lost_relation: str = noted("", label="Relation")
    pair_minus: str = segments(tuple(MODES), label="Show", wrap=True)
    lost_training: str = noted("", label="Training", width=360)
    followed_fact: str = noted("", label="Fact", label_visibility="collapsed")
    protected: str = noted("", label="Fine-tuning", width=420)
    beyond_measure: str = noted("", widget=SEGMENTS, label="Measured", wrap=True, label_visibility="collapsed")
    change_kind: str = one_of(CHANGES, label="Read from")
    gone_task: str = noted("", label="Property")
    gone_pooling: str = one_of(("", *POOLINGS), words=POOLING_NAMES, label="Read from")
    gone_layer: int | None = noted(None, label="Layer")
    turned_way: str = segments(WAYS, label="Sentences")
    plane_loss: str = segments(("", *LOSSES), label="What was lost", wrap=True, label_visibility="collapsed")


FACT_ORDERS = {
    "telling": "most telling first",
    "layers known": "known at most layers first",
    "fact": "by name",
    "first layer": "known earliest first",
    "last layer": "known latest first",
    "best rank": "best rank first",
    "last rank": "best last rank first",
    "worst last rank": "worst last rank first",
}
KNOWN = ("any", "ever", "never")
#: Which facts of a pair of models are listed; ``""`` lists those of one model.
FACT_PARTS = ("", *forgotten.PARTS, *forgotten.FATES)
FACTS_TABS = {"stored": "One fact", "own": "Your own facts"}


@declared("facts", *ONE_RUN, *FILTERS, "live_model")
@dataclass(frozen=True)
class FactsSelection:
    """The page's own choices; an empty ``way_back`` lists all facts."""

    relation: str = noted("", of=("probe_set",))
    text: str = noted("", label="Search", icon=":material/search:")
    known: str = one_of(KNOWN)
    known_at: int | None = None
    first_known: int | None = None
    last_known: int | None = None
    at_layer: int | None = None
    at_rank: int = one_of(RANKS)
    order: str = one_of(FACT_ORDERS, label="Order", width=240)
    list_page: int = noted(1, of=("model", "probe_set"))
    fact: str = noted("", of=("model", "probe_set"))
    versus: str = ""
    part: str = one_of(FACT_PARTS)
    part_k: int = ranks(RANKS, "A fact counts as known with rank")
    way_back: str = one_of(("", *LISTED_BY))
    fact_models: tuple[str, ...] = noted((), kept=True, label="Grids of further models")
    facts_tab: str = one_of(tuple(FACTS_TABS))
    own_head: str = one_of(HEADS, LOGIT_LENS, label="Read with (head)", format_func=head_name)
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
TRACE_PARTS = {OWN: "our own", "dev": "dev", "test": "test"}
KINDS = {"any": "all", "ambiguous": "depend on context", "revised": "change between layers"}
SENTENCE_ORDERS = {
    "ambiguous": "most that depend on context",
    "revised": "most changes first",
    "sentence": "as in the data",
}
#: What is drawn layer by layer of whole sentences: accuracy, or what lies above a baseline.
MINUS = {"value": "nothing", "majority": "the commonest answer", "surface": "length and words alone"}
PROTOCOL_NAMES = {OURS: "ours", QUICK: "quick", SENTEVAL: "SentEval's"}


@declared("grammar", "live_model")
@dataclass(frozen=True)
class GrammarSelection:
    """The page's own choices. An empty string or tuple means the page's default, or any.

    ``edge_model`` is the one whose tasks are put in order, and whose single sentences are shown. ``trace_kind``:
    ambiguous targets, those whose most probable label changes, or any. ``settled``: the layer from which the right
    label stays the most probable one. ``text_hash`` is the sha256 of the text of the shown sentence. Without
    ``learned_layer``, the learning curve is at each line's best one.
    """

    grammar_tab: str = one_of(tuple(GRAMMAR_TABS), visited=True)
    edge_models: tuple[str, ...] = noted((), label="Models")
    edge_tasks: tuple[str, ...] = noted((), label="Tasks")
    edge_part: str = segments(GRAMMAR_PARTS, label="Part of the data")
    unseen: bool = noted(False, label="Only words not seen in training")
    published: bool = noted(True, label="Published BERT")
    layerwise: str = segments(LAYERWISE, label="What is drawn", wrap=True, label_visibility="collapsed")
    edge_model: str = noted("", label="Model")
    normed: bool = noted(False, label="Weights times the norm of the layer")
    labels_of: str = noted("", label="Task", width=240)
    trace_task: str = noted("", label="Task")
    trace_part: str = segments(("", *TRACE_PARTS), words=TRACE_PARTS, label="Sentences")
    trace_label: str = noted("", label="Right label")
    trace_kind: str = segments(KINDS, label="Labels")
    settled: int | None = noted(None, label="Final from layer", placeholder="any")
    trace_order: str = one_of(SENTENCE_ORDERS, label="Order", width=260)
    trace_page: int = 1
    text_hash: str = ""
    every_target: bool = noted(False, label="Also labels that the filters leave out")
    other_panels: bool = noted(False, label="More labels than those that change most")
    sentence_models: tuple[str, ...] = noted((), label="Models")
    sentence_tasks: tuple[str, ...] = noted((), label="Tasks")
    sentence_protocol: str = segments(("", *PROTOCOLS), words=PROTOCOL_NAMES, label="Protocol")
    poolings: tuple[str, ...] = noted(
        (), each=POOLINGS, words=POOLING_NAMES, label="Vector of a sentence", placeholder="both"
    )
    sentence_minus: str = segments(MINUS, label="Right answers minus")
    learned_task: str = noted("", label="Property", width=300)
    learned_layer: int | None = noted(None, label="Layer", placeholder="best on dev", width=200)


#: Six facts that the base knows, and one that it does not.
HOME_EXAMPLES = tuple(range(1, 8))


@declared("home", "models", "heads", "probe_sets", *SENTENCE)
@dataclass(frozen=True)
class HomeSelection:
    """The page's own choices; a typed sentence is asked live in place of the stored example."""

    example: int = one_of(HOME_EXAMPLES)


METRICS = {
    "p_at_k": "right answers (P@k)",
    "mrr": "mean of 1 / rank (MRR)",
    "answer_p_at_1": "right among the relation's answers",
}
DEFINITION_WORDS = {
    "strict": "paired test and 2 points (ours)",
    "authors": "t-test (authors' code)",
    "caption": "any gain (Table 2's caption)",
}
LAYERS_TABS = ("relations", "carried", "heads", "candidates")


@declared("layers", "models", "heads", "probe_sets", *ONE_RUN, "k", "average", *FILTERS)
@dataclass(frozen=True)
class LayersSelection:
    """The page's own choices; no ``relations`` means the page's default.

    ``ranked_set`` and the like are of ranks among candidates; empty means what most models have, of ``ranked_dtype``
    float32, and of ``ranked_file`` the answers of the relation.
    """

    metric: str = one_of(METRICS, label="Curve", width="stretch")
    minus: str = segments(tuple(MODES), label="Show", wrap=True)
    panels: bool = noted(False, label="One panel per probe set")
    row_order: str = one_of(ORDERS, label="Rows")
    against_base: bool = noted(False, label="Minus its base")
    relations: tuple[str, ...] = noted((), of=("probe_set",), label="Relations")
    definition: str = segments(DEFINITION_WORDS, label="A relation is better known inside by", wrap=True)
    layers_tab: str = one_of(LAYERS_TABS, visited=True)
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

    methods_search: str = noted("", label="Search", placeholder="a word, such as rank", icon=":material/search:")
    methods_tab: str = one_of(tuple(METHODS_TABS), visited=True)


SPACE = dict(zip(WHAT, ("Runs", "Probe sets with all their runs", "Models"), strict=True))
AMONG = {VOCABULARY: "all words", INDEPENDENT: "answers of the file"}
OWN_MODEL_TABS = {"facts": "Facts", "curve": "Curve", "ways": "Ways back", "new": "A run of your own", "space": "Space"}


@declared("own_model")
@dataclass(frozen=True)
class OwnModelSelection:
    """The page's own choices. An empty text means none, the newest run, or the measure that asks all facts.

    Models are typed: folders, hub ids or names. A link alone never makes the server contact the hub.
    """

    my_model: str = noted("", label="Your model", placeholder="folder, hub id or name", max_chars=MAX_TEXT)
    my_base: str = noted("", label="The base that it was fine-tuned from", max_chars=MAX_TEXT)
    my_others: tuple[str, ...] = noted((), label="Further models with the same base")
    my_space: str = segments(SPACE, label="What")
    my_run: str = noted("", label="Run", width=370)
    my_measure: str = segments(("", *AMONG), words=AMONG, label="Ranked among", visited=True)
    my_k: int = ranks((1, 10), "Known: rank")
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

    paper: str = one_of(PAPERS, label="Paper", width=380, visited=True)
    papers_subject: str = noted("", label="Model")
    papers_head: str = noted("", label="Read with (head)", format_func=head_name)
    papers_tab: str = one_of(tuple(PAPERS_TABS))
    figure: str = noted("", label="Figure")
    panel: str = noted("", label="Panel")
