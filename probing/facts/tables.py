"""The tables of runs on facts, of what their counts need, and of runs that rank candidates.

Ranks count from 1; log-probabilities are natural logarithms.
"""

import math

import pyarrow as pa

from probing.facts.requests import AMONG_CANDIDATES
from probing.facts.totals import KIND_LABELS
from probing.kernel.metric import RANKS
from probing.kernel.stats.paired_tests import ClusterSums
from probing.kernel.store.columns import (
    BASE,
    LAYER,
    LAYERS,
    LEFT_OUT,
    MADE,
    MODEL,
    MOST,
    OBJECTIVE,
    RUN,
    RUN_ID,
    SEED,
    Column,
    Table,
    count,
    flag,
    real,
    several,
    small,
    text,
)

_FACT = text("fact_id", "hash of the fact and its prompt")
_PROBE_SET = text("probe_set", "the set that the facts are from")
_RUN = (
    *RUN,
    text("head", "kind of decoding heads"),
    SEED,
    text("role", "primary (seed 0) or replicate", ("primary", "replicate")),
    text("template_set", "the set that the prompts are from"),
    count("top_k", "how many of the best tokens are stored", 1),
    _PROBE_SET,
    LAYERS,
    count("n_read", "facts that were read"),
    count("n_probed", "facts that were probed"),
    LEFT_OUT,
    text("tokenizer", "id of the tokenizer, in ``vocabulary``"),
    text("dtype", "the precision that it was computed in").or_empty(),
    *MADE,
)
_OF_COUNTS = (
    RUN_ID,
    text("relation", "relation of the facts"),
    text("exposure", "how the base's training text stated them"),
    flag("answer_in_subject", "whether the subject contains the answer"),
)
_OF_COUNTS_KEY = "run_id relation exposure answer_in_subject"
_K = Column("k", pa.uint8(), "a fact is known at k with rank <= k", among=RANKS)
_N = count("n", "number of facts")


def _known(names: tuple[str, ...], says: str) -> tuple[Column, ...]:
    """A count for each name and each k."""
    return tuple(count(f"{name}_{k}", says.format(name=name, k=k)) for name in names for k in RANKS)


def _up(*names: str) -> tuple[str, ...]:
    """What is known at a k is known at a larger one."""
    return tuple(" ".join([*(f"{name}_{k}" for k in RANKS), "n"]) for name in names)


def _rank(name: str, says: str) -> Column:
    return count(name, says, 1)


TABLES = (
    Table(
        "predictions",
        "One fact at one layer. Files of earlier versions are ordered by layer, and no reader relies on the order.",
        "run_id fact_id layer",
        (
            RUN_ID,
            _FACT,
            LAYER,
            _rank("gold_rank", "rank of the right answer in the whole vocabulary, from 1; ties take the worst place"),
            _rank("answer_rank", "rank of the right answer among the answers that occur in its relation, from 1"),
            _rank("other_rank", "rank of that answer with the swapped subject; empty if there is none").or_empty(),
            Column(
                "gold_logp", pa.float32(), "natural logarithm of the right answer's probability", low=-math.inf, high=0
            ),
            several(count("top_ids", "numbers of the best tokens in ``vocabulary``, best first")),
            several(real("top_logp", "natural logarithms of their probabilities", high=0), pa.float32()),
        ),
        per="run_id",
        many=True,
        aligned=("top_ids top_logp",),
        # Those of a million facts at twenty layers.
        most_rows=20_000_000,
    ),
    Table(
        "known",
        "One fact of a run: at which of the layers 1..L it is known, that is, has rank 1.",
        "run_id fact_id",
        (
            RUN_ID,
            _FACT,
            *_OF_COUNTS[1:],
            small("first_layer", "first layer that knows it; empty if none does", 1).or_empty(),
            small("last_layer", "last layer that knows it").or_empty(),
            small("layers_known", "how many layers know it"),
            Column(
                "known_layers",
                pa.uint64(),
                "bit l is set if layer l knows it, the embeddings included",
                low=0,
                high=math.inf,
            ),
            _rank("best_rank", "best rank of the layers 1..L"),
            _rank("last_rank", "rank at the last layer"),
            _rank("inner_rank", "best rank of the layers between; empty if there are none").or_empty(),
            _rank(
                "swapped_last_rank", "rank at the last layer with the swapped subject; empty if there is none"
            ).or_empty(),
            _rank("swapped_inner_rank", "best such rank of the layers between").or_empty(),
        ),
        per="run_id",
        many=True,
        most_rows=1_000_000,
    ),
    Table(
        "facts",
        "One fact with its prompt.",
        "fact_id",
        (
            _FACT,
            _PROBE_SET,
            text("relation", "its relation"),
            text("subject", "its subject"),
            text("object", "the right answer"),
            text("prompt", "the cloze sentence that is probed"),
            text("template", "the template of the prompt; the prompt itself if there is none").or_empty(),
            text("template_set", "the set that the template is from").or_empty(),
            flag("answer_in_subject", "whether the subject contains the answer"),
            text("pred", "the relation's predicate in the source").or_empty(),
        ),
        sort="probe_set relation subject object fact_id",
        # A fact's id does not hold the name of its template set: two sets may have the same template.
        free=("template_set",),
    ),
    Table(
        "relations",
        "One relation of a probe set.",
        "probe_set relation",
        (
            text("relation", "id of the relation"),
            _PROBE_SET,
            text("label", "its name").or_empty(),
            text("cardinality", "1-1, 1-N, N-1 or N-M").or_empty(),
        ),
    ),
    Table(
        "runs", "One run on facts.", "run_id", _RUN, per="run_id", sort="model probe_set head template_set seed run_id"
    ),
    Table(
        "swapped_counts",
        "Of the facts of a layer that have a swapped subject, how many are known.",
        f"{_OF_COUNTS_KEY} layer",
        (
            *_OF_COUNTS,
            LAYER,
            _N,
            *_known(("own", "swapped", "both"), "facts of rank <= {k} with the subject: {name}"),
        ),
        per="run_id",
        ascending=(
            *_up("own", "swapped", "both"),
            *(f"both_{k} {side}_{k}" for k in RANKS for side in ("own", "swapped")),
        ),
        unions=tuple(f"own_{k} swapped_{k} both_{k} n" for k in RANKS),
    ),
    Table(
        "inner_counts",
        "Of the facts that the last layer misses with both subjects, how many inner layers find.",
        f"{_OF_COUNTS_KEY} k",
        (
            *_OF_COUNTS,
            _K,
            _N,
            count("own", "found with the own subject"),
            count("swapped", "found with the swapped one"),
            count("own_and_swapped", "found with both"),
        ),
        per="run_id",
        ascending=("own_and_swapped own n", "own_and_swapped swapped n"),
        unions=("own swapped own_and_swapped n",),
    ),
    Table(
        "layer_counts",
        "What is known at one layer.",
        f"{_OF_COUNTS_KEY} layer",
        (
            *_OF_COUNTS,
            LAYER,
            _N,
            *_known(("hits",), "facts of rank <= {k}"),
            real("sum_reciprocal_rank", "sum of 1 / rank", 0, MOST),
            real("sum_squared_reciprocal_rank", "sum of its square", 0, MOST),
            count("answer_hits_1", "facts whose answer is the best of the relation's answers"),
            real("sum_answer_reciprocal_rank", "sum of 1 / rank among these", 0, MOST),
        ),
        per="run_id",
        # 1/r^2 is at most 1/r, and 1 at rank 1.
        ascending=(
            *_up("hits"),
            "hits_1 sum_squared_reciprocal_rank sum_reciprocal_rank n",
            "answer_hits_1 sum_answer_reciprocal_rank n",
        ),
    ),
    Table(
        "total_counts",
        "What is known at the last layer and at any of the layers 1..L.",
        _OF_COUNTS_KEY,
        (
            *_OF_COUNTS,
            _N,
            *_known(("last", "any"), "facts of rank <= {k} at the layer: {name}"),
            count("majority_hits", "facts whose answer is the relation's most frequent one"),
            count("answers", "number of different answers"),
        ),
        per="run_id",
        ascending=(*_up("last", "any"), *(f"last_{k} any_{k}" for k in RANKS), "majority_hits n"),
    ),
    Table(
        "against_counts",
        "What an inner layer and the last one know.",
        f"{_OF_COUNTS_KEY} layer k",
        (
            *_OF_COUNTS,
            LAYER,
            _K,
            count("both", "facts that both know"),
            count("inner_only", "facts that the inner layer alone knows"),
            count("last_only", "facts that the last layer alone knows"),
            count("neither", "facts that neither knows"),
        ),
        per="run_id",
    ),
    Table(
        "answer_counts",
        "What kinds of tokens a layer puts first.",
        f"{_OF_COUNTS_KEY} layer kind",
        (
            *_OF_COUNTS,
            LAYER,
            text("kind", "kind of the best token", tuple(KIND_LABELS)),
            count("n", "number of facts", 1),
        ),
        per="run_id",
    ),
    Table(
        "answer_clusters",
        "How far the right answers of a relation move the share of known facts, at one layer.",
        "run_id layer relation",
        (
            RUN_ID,
            LAYER,
            text("relation", "relation of the facts"),
            *(
                real(
                    f"{value}_{k}_{name}",
                    f"of {says} with rank <= {k}: {name}, as ``kernel.stats.paired_tests.ClusterSums`` defines it",
                )
                for value, says in (("hits", "facts known"), ("above", "the same minus the swapped subject,"))
                for k in RANKS
                for name in ClusterSums._fields
            ),
        ),
        per="run_id",
    ),
    Table(
        "vocabulary",
        "One token of a tokenizer.",
        "tokenizer id",
        (
            text("tokenizer", "id of the tokenizer"),
            count("id", "number of the token"),
            text("token", "the token as the vocabulary has it"),
            text("text", "the token in words for readers"),
            flag("starts_word", "whether it begins a word"),
        ),
        per="tokenizer",
        version=2,
    ),
    Table(
        "exposure",
        "How often a model's training text stated one fact.",
        "model fact_key",
        (MODEL, text("fact_key", "the fact without its prompt"), text("exposure", "how it was stated")),
        per="model",
    ),
    Table(
        "weight_drift",
        "How far fine-tuning moved one layer's weights.",
        "model layer",
        (
            MODEL,
            BASE,
            LAYER,
            Column(
                "drift",
                pa.float32(),
                "Frobenius norm of the change over that of the base's layer",
                low=0,
                high=math.inf,
            ),
            Column("parameters", pa.uint32(), "number of weights of the layer"),
        ),
        per="model",
    ),
    Table(
        "head_training",
        "Validation losses of one trained head.",
        "model head seed recipe layer",
        (
            MODEL,
            text("head", "kind of decoding heads"),
            SEED,
            LAYER,
            real("lens_loss", "by the logit lens; empty if the head began at random").or_empty(),
            real("start_loss", "at the start of the training"),
            real("loss", "at its best point"),
            count("steps", "steps that were taken"),
            real("seconds", "of the training on its machine, without the encoder's pass").or_empty(),
            text("recipe", "canonical JSON of how it was trained"),
        ),
        # Equal heads may be trained twice, in different times.
        free=("seconds",),
    ),
    Table(
        "tasks",
        "What a fine-tuned model reaches on its own task.",
        "model metric chance_name",
        (
            MODEL,
            BASE,
            OBJECTIVE,
            text("metric", "what is measured, as ``python -m probing terms`` defines it"),
            real("value", "0 to 1, a correlation -1 to 1", -1, 1),
            real("chance", "the value of what ``chance_name`` names, if it is known", 0, 1).or_empty(),
            text("chance_name", "a baseline or a comparison such as BM25").or_empty(),
            count("n", "number of examples"),
        ),
        per="model",
    ),
)

_TEXTS = (
    text("relation", "relation of the fact"),
    text("subject", "its subject"),
    text("object", "the right answer"),
    text("prompt", "the cloze sentence that is asked"),
    flag("answer_in_subject", "whether the subject contains the answer"),
)


def _of_rank(name: str, says: str) -> tuple[Column, Column]:
    """A rank among candidates, and how many tie at it."""
    return (
        real(f"{name}rank", f"{says}, from 1; candidates that tie have their mean rank", 1, MOST),
        count(f"{name}tied", "candidates with that rank, the right answer included", 1),
    )


def _log_likelihood(name: str, says: str) -> Column:
    return Column(name, pa.float32(), says, low=-math.inf, high=0)


CANDIDATE_TABLES = (
    Table(
        "candidate_runs",
        "One run that ranks the right answers of facts among candidates.",
        "run_id",
        (
            *RUN,
            text("head", "kind of decoding heads"),
            SEED,
            text("measure", "how the log-likelihood of a candidate is computed", AMONG_CANDIDATES),
            text("template_set", "the set that the prompts are from"),
            _PROBE_SET,
            text(
                "candidates_file", "the user's file of candidates; empty: the answers of the fact's relation"
            ).or_empty(),
            count("best", "of left to right: how many of the best candidates by ``independent`` each layer scores"),
            LAYERS,
            count("n_read", "facts that were read"),
            count("n_probed", "facts that were asked"),
            LEFT_OUT,
            text("dtype", "the precision that it was computed in").or_empty(),
            *MADE,
        ),
        per="run_id",
        sort="model probe_set head template_set measure seed run_id",
    ),
    Table(
        "candidate_facts",
        "One fact of a run, and the candidates that its right answer is ranked among.",
        "run_id fact_id",
        (
            RUN_ID,
            _FACT,
            *_TEXTS,
            count("pieces", "tokens of the right answer", 1),
            count("candidates", "candidates that it is ranked among, itself included", 1),
            count("filtered", "other right answers of the prompt, which are not among them"),
            count("fewer_pieces", "candidates with fewer tokens"),
            count("equal_pieces", "candidates with as many tokens, itself included", 1),
        ),
        per="run_id",
        sort="run_id relation subject object fact_id",
        many=True,
        ascending=("fewer_pieces candidates", "equal_pieces candidates"),
        most_rows=1_000_000,
    ),
    Table(
        "candidate_ranks",
        "The right answer of one fact at one layer.",
        "run_id fact_id layer",
        (
            RUN_ID,
            _FACT,
            LAYER,
            *_of_rank("", "rank by log-likelihood"),
            _log_likelihood(
                "log_likelihood",
                "sum of the natural logarithms of its tokens' probabilities; empty if left to right did not score it",
            ).or_empty(),
            text("best", "the candidate with rank 1; of several the first"),
            _log_likelihood("alone_log_likelihood", "the same without the prompt"),
            *_of_rank("alone_", "rank without the prompt"),
            *_of_rank("pmi_", "rank by the difference of the two log-likelihoods"),
        ),
        per="run_id",
        many=True,
        most_rows=20_000_000,
    ),
)

#: What is measured of a fact at each layer.
MEASURED = ("alone", "alone_null", "against", "against_null", "settled", "settled_null")
#: Facts that the last layer answers, and those that only an inner layer reads.
CARRIED_GROUPS = ("known", "inner")
CARRIED_TABLES = (
    Table(
        "carried_runs",
        "One run on whether the model goes by what its layers show.",
        "run_id",
        (
            *RUN,
            text("head", "kind of decoding heads"),
            SEED,
            text("template_set", "the set that the prompts are from"),
            _PROBE_SET,
            LAYERS,
            count("n_read", "facts that were read"),
            count("n_probed", "facts that were asked"),
            count("n_known", "of these the last layer answers"),
            count("n_inner", "of these only an inner layer reads"),
            LEFT_OUT,
            text("dtype", "the precision that it was computed in").or_empty(),
            *MADE,
        ),
        per="run_id",
        sort="model probe_set head template_set seed run_id",
    ),
    Table(
        "carried_facts",
        "One fact of a run's sample, and the facts of its wording and length that it is measured with.",
        "run_id fact_id",
        (
            RUN_ID,
            _FACT,
            *_TEXTS,
            text("part", "known: the last layer answers it; inner: only an inner layer reads it", CARRIED_GROUPS),
            flag("guessed", "whether the answer is first with the subject masked"),
            text("host", "fact into whose sentence the state is put; empty if there is none").or_empty(),
            text("host_object", "the answer of that fact").or_empty(),
            text("third", "fact whose state is put there for the null; empty if there is none").or_empty(),
        ),
        per="run_id",
        sort="run_id part relation subject object fact_id",
        many=True,
        most_rows=1_000_000,
    ),
    Table(
        "carried_layers",
        "One fact at one layer: whether its answer is first at the layer, and at the last one after a change at it.",
        "run_id fact_id layer",
        (
            RUN_ID,
            _FACT,
            LAYER,
            flag("read", "at this layer, by the model's own head"),
            flag("alone", "the state after this layer put into the own sentence with the subject masked").or_empty(),
            flag("as_before", "so put, it brings what the unchanged model answers").or_empty(),
            flag("alone_null", "another fact's state put there").or_empty(),
            flag("against", "the state put into the host's sentence").or_empty(),
            flag("against_null", "a third fact's state put there").or_empty(),
            flag("settled", "the gap does not see the subject above this layer").or_empty(),
            flag("settled_null", "it does not see as many other tokens").or_empty(),
        ),
        per="run_id",
        many=True,
        most_rows=20_000_000,
    ),
)
