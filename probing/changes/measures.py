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
_ATTENTION = "changes.attention"
_PAIRED = "undefined for a model that is measured without a base"

CHANGE_METRICS = (
    Metric(
        "attention_entropy",
        "nats",
        "-Σ a ln a over the attention weights a of a token: 0 if one token gets all of it, ln n if all n tokens get the"
        " same. Mean over sentences, then over heads; for the first token, and as the mean over all tokens.",
        f"{_ATTENTION}.entropy",
        label="entropy of attention",
        empty="sentences of one word piece or too long for the model are left out and counted",
        source=f"{_MOSBACH}, section 5.1 and equation 1, which lacks the minus",
    ),
    Metric(
        "attention_flatness",
        "share of ln n",
        "Entropy of attention divided by ln n, the entropy of equal attention to all n tokens of the sentence: 1 if"
        " attention is equal.",
        f"{_ATTENTION}.of_model",
        label="flatness of attention",
        empty="as for the entropy",
    ),
    Metric(
        "attention_share",
        "share",
        "Attention of a token to the first token, to separators, to punctuation (tokens without a letter or digit), or"
        " to itself, summed.",
        f"{_ATTENTION}.of_model",
        label="share of attention",
        empty="0 in a sentence without such a token",
        source="after Clark et al. 2019 and Kovaleva et al. 2019",
    ),
    Metric(
        "attention_movers_distance",
        "tokens",
        "How far attention has to move to turn the base's into the fine-tuned model's: sum over positions of |CDF -"
        " CDF| for the same head and token, so the ground distance is the distance between two positions in tokens."
        " Also divided by n - 1, as a share of the sentence.",
        f"{_ATTENTION}.movers_distance",
        label="earth mover's distance of attention",
        empty=f"0 for equal models; {_PAIRED}",
        source=f"{_MOSBACH}, section 5.1, which names no ground distance",
    ),
    Metric(
        "attention_total_variation",
        "share",
        "Half the sum of |difference| of the same head's attention in base and fine-tuned model: the share that moved,"
        " at any distance.",
        f"{_ATTENTION}.total_variation",
        label="total variation of attention",
        empty=f"0 for equal models; {_PAIRED}",
    ),
    Metric(
        "attention_map_cosine",
        "cosine",
        "Cosine between the attention maps of the same head for a sentence in base and fine-tuned model.",
        f"{_ATTENTION}.map_cosine",
        label="cosine of attention maps",
        ends=(0.0, 1.0),
        empty=f"1 for equal models; {_PAIRED}",
        source="Kovaleva et al. 2019",
    ),
    Metric(
        "entropy_change",
        "nats",
        "Entropy of attention of the fine-tuned model minus that of its base, sentence by sentence: below 0 if"
        " attention became sharper.",
        f"{_ATTENTION}.between",
        label="change of entropy",
        ends=(None, None),
        empty=f"0 for equal models; {_PAIRED}",
        source=f"{_MOSBACH}, section 5.1, Figure 2",
    ),
    Metric(
        "masked_perplexity",
        "perplexity",
        "exp of the mean cross-entropy at 15 % masked word pieces of blocks of 128 pieces of WikiText-2's test text,"
        " decoded by the base's complete head; masks are equal for all models with one tokenizer. With layers replaced,"
        " some of the fine-tuned model's layers are the base's: the last n, the first n, or layer n alone. Perplexities"
        " over different vocabularies cannot be compared.",
        "changes.perplexity.cross_entropy",
        label="masked-LM perplexity",
        better="lower",
        empty="undefined without blocks; shared layers (ALBERT) cannot be replaced",
        source=f"{_MOSBACH}, section 5.2; first n and single layers are ours",
    ),
    Metric(
        "cka",
        "share",
        "Centred kernel alignment of sentence vectors (first token, or mean over tokens) of base and fine-tuned model:"
        " 1 if one is the other rotated, shifted or scaled. With fewer than ten sentences per hidden unit the unbiased"
        " estimator is used.",
        f"{_ATTENTION}.linear_cka",
        label="linear CKA",
        ends=(None, 1.0),
        empty=f"undefined if all vectors are the same, as for the first token at layer 0; {_PAIRED}",
        source="Kornblith et al. 2019; unbiased: Song et al. 2012, Nguyen et al. 2021",
    ),
    Metric(
        "rsa",
        "correlation",
        "Pearson's correlation between the cosines of all pairs of at most 1,000 sentence vectors in base and"
        " fine-tuned model.",
        f"{_ATTENTION}.rsa",
        label="representational similarity",
        empty=f"undefined if all vectors are the same, as for the first token at layer 0; {_PAIRED}",
        source="Merchant et al. 2020",
    ),
    Metric(
        "same_token_cosine",
        "cosine",
        "Cosine between a token's states in base and fine-tuned model; mean over the tokens of a sentence, then over"
        " sentences. Lower than the other similarities if all states were rotated together.",
        "changes.measure.measure",
        label="cosine of the same token",
        empty=f"1 for equal models; {_PAIRED}",
    ),
    Metric(
        "self_similarity",
        "cosine",
        "Mean cosine between a word's states in all pairs of its sentences, mean over the words that occur in at least"
        " five sentences. For comparisons the anisotropy of the layer is subtracted.",
        f"{_ATTENTION}.mean_cosine",
        label="self-similarity of words",
        empty="undefined if no word occurs in five sentences",
        source="Ethayarajh 2019",
    ),
    Metric(
        "anisotropy",
        "cosine",
        "Mean cosine between the states of two different words, each word in one sentence: near 0 if states point in"
        " all directions.",
        f"{_ATTENTION}.jackknife",
        empty="undefined with fewer than 40 words",
        source="Ethayarajh 2019",
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
