"""The quantities of sentence-level probing, as data; ``terms`` lists them with the others."""

from probing.kernel.metric import NO_TIES, Metric

_MOSBACH = "Mosbach et al. 2020"
_NUMBERS = "sentences.numbers"

SENTENCE_METRICS = (
    Metric(
        "sentence_accuracy",
        "share of sentences",
        "Share of the test sentences that a logistic regression on one vector of a layer labels correctly: the first"
        " token's state, or the mean of all tokens' states. Wilson's 95 % interval. Of models that differ only by the"
        " seed of their fine-tuning, the one with the smallest seed is shown, with the minimum and maximum over all.",
        f"{_NUMBERS}.accuracy",
        label="probe accuracy",
        better="higher",
        ties="among equally probable labels the one with the smaller id",
        source=f"{_MOSBACH}; vectors are standardised, the strength of regularisation is chosen on the development"
        " part",
    ),
    Metric(
        "sentence_majority",
        "share of sentences",
        "Accuracy of always predicting the commonest training label. A probe is above it if as many or more right"
        " predictions have a probability of at most 5 % under the hypothesis that each is right as often as the"
        " majority label (one-sided exact binomial test).",
        f"{_NUMBERS}.above_majority",
        label="majority of a task",
        ties="among equally common labels the first by name",
    ),
    Metric(
        "surface_baseline",
        "share of sentences",
        "Accuracy of the same probe on features that need no model: length, case of the first letter, final punctuation"
        " mark, words.",
        "sentences.numbers.surface_features",
        ties="as for the accuracy",
    ),
    Metric(
        "sentence_change",
        "difference of shares",
        "Accuracy of the fine-tuned model's own probe minus that of its base's, on the same test sentences. With"
        " Newcombe's 95 % interval of a paired difference; p is exact McNemar's; q adjusts it by Benjamini and Hochberg"
        " over all layers, poolings and tasks of the model.",
        f"{_NUMBERS}.change",
        label="change of accuracy",
        ties="0 if both label the same sentences correctly",
        empty="undefined without test sentences",
        source=f"{_MOSBACH}, Figures 4 and 5; tests and intervals are ours",
    ),
    Metric(
        "change_by_group",
        "difference of shares",
        "Mean change of accuracy over the lower layers (0 to L / 2, rounded down) and over the upper ones. Layer 0 of"
        " the first token, which is one vector for all sentences and never changes, is one of the lower layers.",
        f"{_NUMBERS}.group_mean",
        label="mean change of layers",
        ties=NO_TIES,
        empty="undefined without layers",
        source=f"{_MOSBACH}, Tables 2 and 5, where layers 0 to 6 of 12 are the lower ones",
    ),
    Metric(
        "sentence_fate",
        "fate",
        "Where a property that a layer of the base had is read afterwards: as before, by a new reader of the same"
        " layer, at another layer or token, or nowhere. The first whose probe holds: the base's probe, unchanged; the"
        " fine-tuned model's own linear or neural probe; its own probe of the mean of the tokens, or of its best layer."
        " Each probe is compared with the base's own probe of the same task, layer and pooling, on the same test"
        " sentences. It holds if Newcombe's 95 % interval of the paired difference of the two accuracies lies above -2"
        " points and the probe is above its majority; it has lost if it does not hold and the interval lies below 0;"
        " otherwise it cannot be decided. If none holds, the fate is not found if all have lost, and undecided if not."
        " Layers and kinds of probe are chosen on the development part. To compare two probes that disagree on a share"
        " of the sentences takes 9,604 times that share: half the interval is 2 points then. Only cells in which the"
        " base is above its majority count.",
        f"{_NUMBERS}.property_fate",
        label="where a property is read after fine-tuning",
        ties="an interval that ends exactly at -2 points does not hold",
        empty="undefined if a probe was not trained, or its predictions were not stored",
        source=f"ours; answers the question of {_MOSBACH}, section 5.3",
    ),
    Metric(
        "fate_shares",
        "share of cells",
        "Share of a model's cells (task, pooling, layer) that have each fate, over the cells that have one; the shares"
        " sum to 1.",
        f"{_NUMBERS}.fate_shares",
        label="shares of fates",
        empty="undefined without a cell that has a fate",
    ),
    Metric(
        "online_code",
        "bits",
        "Bits of the training labels if each of ten growing blocks is coded by a probe trained on the sentences before"
        " it: the longer the code, the harder it is to predict the property.",
        "sentences.mlp.code_lengths",
        label="online code length",
        better="lower",
        empty="undefined if the code was not computed",
        source="Voita and Titov 2020",
    ),
)
