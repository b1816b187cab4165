"""Which measurements a run has: their quantities, their configuration, and means with bootstrap intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from probing.kernel.metric import Metric
from probing.kernel.provenance import Provenance


class ChangeRunConfig(Provenance):
    """All that decides a run's numbers; ``base_weights`` is empty for one model, ``blocks_sha256`` if not masked."""

    base_weights: str
    sentences_sha256: str
    sentences: int
    blocks_sha256: str
    blocks: int
    #: Word pieces of each block.
    block_pieces: int
    #: Whether perplexity is also measured with layers replaced by the base's.
    replaced: bool = True


Array = NDArray[np.float64]
_DRAWS = 1000
#: Number of columns that are resampled at a time.
_COLUMNS = 4096


def mean_intervals(values: Array, seed: int = 0) -> tuple[Array, Array, Array]:
    """Means of the columns of (rows, columns) with 95 % bootstrap intervals, each (columns,); all share the draws."""
    rows = len(values)
    mean = values.mean(0)
    if rows < 2:
        return mean, mean, mean
    weights = np.random.default_rng(seed).multinomial(rows, np.full(rows, 1 / rows), _DRAWS) / rows
    # Centred on the means, so that a column of equal values has an interval of width 0.
    apart = values - mean
    ends = [
        np.quantile(weights @ apart[:, some : some + _COLUMNS], [0.025, 0.975], axis=0)
        for some in range(0, values.shape[1], _COLUMNS)
    ]
    low, high = mean + np.concatenate(ends, axis=1)
    return mean, np.minimum(low, mean), np.maximum(high, mean)


_MOSBACH = "Mosbach et al. 2020"
_NO_TIES = "no ties: a value, not an order"
_ATTENTION, _SIMILARITY = "changes.attention", "changes.attention"
_PAIRED = "undefined for a model that is measured without a base"

CHANGE_METRICS = (
    Metric(
        "attention_entropy",
        "entropy of attention",
        "nats",
        0.0,
        None,
        "neither",
        "-Σ a ln a over the attention weights a of a token: 0 if one token gets all of it, ln n if all n tokens get the"
        " same. Mean over sentences, then over heads; for the first token, and as the mean over all tokens.",
        _NO_TIES,
        "sentences of one word piece or too long for the model are left out and counted",
        f"{_MOSBACH}, section 5.1 and equation 1, which lacks the minus",
        f"{_ATTENTION}.entropy",
    ),
    Metric(
        "attention_flatness",
        "flatness of attention",
        "share of ln n",
        0.0,
        1.0,
        "neither",
        "Entropy of attention divided by ln n, the entropy of equal attention to all n tokens of the sentence: 1 if"
        " attention is equal.",
        _NO_TIES,
        "as for the entropy",
        "ours; not in the paper",
        f"{_ATTENTION}.of_model",
    ),
    Metric(
        "attention_share",
        "share of attention",
        "share",
        0.0,
        1.0,
        "neither",
        "Attention of a token to the first token, to separators, to punctuation (tokens without a letter or digit), or"
        " to itself, summed.",
        _NO_TIES,
        "0 in a sentence without such a token",
        "after Clark et al. 2019 and Kovaleva et al. 2019",
        f"{_ATTENTION}.of_model",
    ),
    Metric(
        "attention_movers_distance",
        "earth mover's distance of attention",
        "tokens",
        0.0,
        None,
        "neither",
        "How far attention has to move to turn the base's into the fine-tuned model's: sum over positions of |CDF -"
        " CDF| for the same head and token, so the ground distance is the distance between two positions in tokens."
        " Also divided by n - 1, as a share of the sentence.",
        _NO_TIES,
        f"0 for equal models; {_PAIRED}",
        f"{_MOSBACH}, section 5.1, which names no ground distance",
        f"{_ATTENTION}.movers_distance",
    ),
    Metric(
        "attention_total_variation",
        "total variation of attention",
        "share",
        0.0,
        1.0,
        "neither",
        "Half the sum of |difference| of the same head's attention in base and fine-tuned model: the share that moved,"
        " at any distance.",
        _NO_TIES,
        f"0 for equal models; {_PAIRED}",
        "ours; not in the paper",
        f"{_ATTENTION}.total_variation",
    ),
    Metric(
        "attention_map_cosine",
        "cosine of attention maps",
        "cosine",
        0.0,
        1.0,
        "neither",
        "Cosine between the attention maps of the same head for a sentence in base and fine-tuned model.",
        _NO_TIES,
        f"1 for equal models; {_PAIRED}",
        "Kovaleva et al. 2019",
        f"{_ATTENTION}.map_cosine",
    ),
    Metric(
        "entropy_change",
        "change of entropy",
        "nats",
        None,
        None,
        "neither",
        "Entropy of attention of the fine-tuned model minus that of its base, sentence by sentence: below 0 if"
        " attention became sharper.",
        _NO_TIES,
        f"0 for equal models; {_PAIRED}",
        f"{_MOSBACH}, section 5.1, Figure 2",
        f"{_ATTENTION}.between",
    ),
    Metric(
        "masked_perplexity",
        "masked-LM perplexity",
        "perplexity",
        1.0,
        None,
        "lower",
        "exp of the mean cross-entropy at 15 % masked word pieces of blocks of 128 pieces of WikiText-2's test text,"
        " decoded by the base's complete head; masks are equal for all models with one tokenizer. With layers replaced,"
        " some of the fine-tuned model's layers are the base's: the last n, the first n, or layer n alone. Perplexities"
        " over different vocabularies cannot be compared.",
        _NO_TIES,
        "undefined without blocks; shared layers (ALBERT) cannot be replaced",
        f"{_MOSBACH}, section 5.2; first n and single layers are ours",
        "changes.perplexity.cross_entropy",
    ),
    Metric(
        "cka",
        "linear CKA",
        "share",
        None,
        1.0,
        "neither",
        "Centred kernel alignment of sentence vectors (first token, or mean over tokens) of base and fine-tuned model:"
        " 1 if one is the other rotated, shifted or scaled. With fewer than ten sentences per hidden unit the unbiased"
        " estimator is used.",
        _NO_TIES,
        f"undefined if all vectors are the same, as for the first token at layer 0; {_PAIRED}",
        "Kornblith et al. 2019; unbiased: Song et al. 2012, Nguyen et al. 2021",
        f"{_SIMILARITY}.linear_cka",
    ),
    Metric(
        "rsa",
        "representational similarity",
        "correlation",
        -1.0,
        1.0,
        "neither",
        "Pearson's correlation between the cosines of all pairs of at most 1,000 sentence vectors in base and"
        " fine-tuned model.",
        _NO_TIES,
        f"undefined if all vectors are the same, as for the first token at layer 0; {_PAIRED}",
        "Merchant et al. 2020",
        f"{_SIMILARITY}.rsa",
    ),
    Metric(
        "same_token_cosine",
        "cosine of the same token",
        "cosine",
        -1.0,
        1.0,
        "neither",
        "Cosine between a token's states in base and fine-tuned model; mean over the tokens of a sentence, then over"
        " sentences. Lower than the other similarities if all states were rotated together.",
        _NO_TIES,
        f"1 for equal models; {_PAIRED}",
        "ours; not in the paper",
        "changes.measure.measure",
    ),
    Metric(
        "self_similarity",
        "self-similarity of words",
        "cosine",
        -1.0,
        1.0,
        "neither",
        "Mean cosine between a word's states in all pairs of its sentences, mean over the words that occur in at least"
        " five sentences. For comparisons the anisotropy of the layer is subtracted.",
        _NO_TIES,
        "undefined if no word occurs in five sentences",
        "Ethayarajh 2019",
        f"{_SIMILARITY}.mean_cosine",
    ),
    Metric(
        "anisotropy",
        "anisotropy",
        "cosine",
        -1.0,
        1.0,
        "neither",
        "Mean cosine between the states of two different words, each word in one sentence: near 0 if states point in"
        " all directions.",
        _NO_TIES,
        "undefined with fewer than 40 words",
        "Ethayarajh 2019",
        f"{_SIMILARITY}.jackknife",
    ),
)
_METRICS = {metric.name: metric for metric in CHANGE_METRICS}

#: Which tokens' attention: suffix of a measure -> words in titles.
ATTENDING = {"first": "of the first token", "mean": "mean over all tokens"}
#: How the states of tokens become one of a sentence: suffix of a measure -> words in titles.
POOLED = {"first": "first token", "mean": "mean over tokens"}
#: Which tokens get attention: prefix of a measure -> words in titles.
TARGETS = {
    "to-first": "to the first token",
    "to-separator": "to separators",
    "to-punctuation": "to punctuation",
    "to-self": "to itself",
}


@dataclass(frozen=True)
class Measure:
    """A measure in ``change_values``; ``metric`` is its entry in ``terms.METRICS``."""

    name: str
    title: str
    metric: str
    #: Whether it starts at layer 0; attention starts at layer 1.
    layer0: bool = False
    #: Whether it compares a fine-tuned model with its base, instead of describing one model.
    change_of: bool = False
    by_head: bool = False

    @property
    def unit(self) -> str:
        """Unit of its values."""
        return "share of n - 1" if self.name.startswith("emd-share") else _METRICS[self.metric].unit

    @property
    def better(self) -> Literal["higher", "lower", "neither"]:
        """The better direction."""
        return _METRICS[self.metric].better

    @property
    def definition(self) -> str:
        """One or two sentences."""
        return _METRICS[self.metric].definition


def _by_token(name: str, title: str, metric: str, change_of: bool = False, by_head: bool = False) -> list[Measure]:
    return [
        Measure(f"{name}-{end}", f"{title}, {words}", metric, False, change_of, by_head and end == "first")
        for end, words in ATTENDING.items()
    ]


def _by_pooling(name: str, title: str, metric: str) -> list[Measure]:
    return [Measure(f"{name}-{end}", f"{title}, {words}", metric, True, True) for end, words in POOLED.items()]


#: Name -> measure, in the order in which pages list them.
MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        *_by_token("entropy", "Entropy of attention", "attention_entropy", by_head=True),
        *_by_token("flatness", "Flatness of attention", "attention_flatness"),
        *(
            measure
            for name, words in TARGETS.items()
            for measure in _by_token(name, f"Attention {words}", "attention_share")
        ),
        *_by_token("emd", "Earth mover's distance of attention", "attention_movers_distance", True, True),
        *_by_token("emd-share", "Earth mover's distance of attention by length", "attention_movers_distance", True),
        *_by_token("total-variation", "Total variation of attention", "attention_total_variation", True),
        Measure("map-cosine", "Cosine of attention maps", "attention_map_cosine", False, True),
        *_by_token("entropy-change", "Change of entropy", "entropy_change", True),
        *_by_pooling("cka", "Linear CKA", "cka"),
        *_by_pooling("rsa", "Representational similarity", "rsa"),
        Measure("same-token-cosine", "Cosine of the same token", "same_token_cosine", True, True),
        Measure("self-similarity", "Self-similarity of words", "self_similarity", True),
        Measure("anisotropy", "Anisotropy", "anisotropy", True),
    )
}
#: Measures that are stored for single heads.
BY_HEAD = tuple(name for name, measure in MEASURES.items() if measure.by_head)
