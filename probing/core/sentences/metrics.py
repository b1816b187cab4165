"""The quantities of sentence-level probing, as data; ``core.metrics`` lists them with the others."""

from probing.core.metric import Metric

_MOSBACH = "Mosbach et al. 2020"
_OURS = "ours; not in the paper"
_NUMBERS, _FATES = "core.sentences.numbers", "core.sentences.fates"
_NO_TIES = "no ties: a value, not an order"

SENTENCE_METRICS = (
    Metric(
        "sentence_accuracy", "probe accuracy", "share of sentences", 0.0, 1.0, "higher",
        "Share of the test sentences to which a logistic regression on one vector of a layer gives the right label: the first token's "
        "state, or the mean of all tokens' states. Wilson's 95 % interval. Of models that differ by the seed of their fine-tuning "
        "alone the one with the least seed is shown, with the least and the greatest value of all.",
        "of equally probable labels the one with the smaller number", "no value without test sentences",
        f"{_MOSBACH}; vectors are standardised, the strength of regularisation is chosen on dev", f"{_NUMBERS}.accuracy",
    ),
    Metric(
        "sentence_majority", "majority of a task", "share of sentences", 0.0, 1.0, "neither",
        "Accuracy of always answering the commonest training label. A probe is above it where that many or more right answers have a "
        "probability of at most 5 %, were each right as often as the majority label is (one-sided exact binomial test).",
        "of equally common labels the first by name", "no value without test sentences", _OURS, f"{_FATES}.above_majority",
    ),
    Metric(
        "surface_baseline", "surface baseline", "share of sentences", 0.0, 1.0, "neither",
        "Accuracy of the same probe on what a sentence shows without a model: length, case of the first letter, final mark, words.",
        "as of the accuracy", "no value without test sentences", _OURS, "core.sentences.surface.surface_features",
    ),
    Metric(
        "sentence_change", "change of accuracy", "difference of shares", -1.0, 1.0, "neither",
        "Accuracy of the fine-tuned model's own probe minus that of its base's, on the same test sentences, with Newcombe's 95 % "
        "interval of a paired difference. p is exact McNemar's, q its adjustment by Benjamini and Hochberg over all layers, poolings "
        "and tasks of the model.",
        "0 where both have the same sentences right", "no value without test sentences",
        f"{_MOSBACH}, Figures 4 and 5; tests and intervals are ours", f"{_NUMBERS}.change",
    ),
    Metric(
        "change_by_group", "mean change of layers", "difference of shares", -1.0, 1.0, "neither",
        "Mean change of accuracy over the layers 0 to L / 2, rounded down, and over the rest. Layer 0 of the first token, which is one"
        " vector for all sentences and never changes, is among the lower ones.",
        _NO_TIES, "no value without layers", f"{_MOSBACH}, Tables 2 and 5, where the lower ones of 12 are 0 to 6", f"{_NUMBERS}.group_mean",
    ),
    Metric(
        "where_gone", "where it went", "fate", None, None, "neither",
        "What became of what a layer of the base had, the first that holds: unmoved, rescaled, turned, re-encoded, dearer, other "
        "tokens, other layer, not linear; else not found. A probe holds where it is at most one point below the base's and not "
        "significantly below it (exact McNemar, 5 %). Only cells count in which the base is above its majority.",
        "a probe exactly one point below holds", "no fate where what decides was not measured",
        f"ours; answers the question of {_MOSBACH}, section 5.3", f"{_FATES}.where_gone",
    ),
    Metric(
        "fate_shares", "shares of fates", "share of cells", 0.0, 1.0, "neither",
        "How many of a model's cells (task, pooling, layer) have each fate, of those that count; they sum to 1.",
        _NO_TIES, "no shares without a cell that counts", _OURS, f"{_FATES}.fate_shares",
    ),
    Metric(
        "online_code", "online code length", "bits", 0.0, None, "lower",
        "Bits of the training labels where each of ten growing blocks is coded by the probe of the sentences before it: the longer, the "
        "harder the property is to read out.",
        _NO_TIES, "no value where the code was not computed", "Voita and Titov 2020", "models.sentences.codes.code_lengths",
    ),
)  # fmt: skip
