"""The quantities of edge probing, as data; ``core.metrics`` lists them with the others."""

from probing.core.metric import Metric

_TENNEY = "Tenney, Das and Pavlick 2019"
_NO_TIES = "no ties: a value, not an order"
_FIRST = "among equally probable labels the one with the smaller id"
_NUMBERS = "core.edges.numbers"

EDGE_METRICS = (
    Metric(
        "micro_f1", "micro F1", "F1", 0.0, 1.0, "higher",
        "2 TP / (2 TP + FP + FN) over all pairs of a target and a label that counts; a label is predicted if its probability is at least "
        "0.5, so a target can get none or several. A gold label that is not in the training data counts as missed. For several seeds: the "
        "mean.",
        "a probability of exactly 0.5 predicts the label", "undefined if there is neither a gold label nor a prediction",
        f"{_TENNEY} and the authors' code", f"{_NUMBERS}.f1",
    ),
    Metric(
        "top_f1", "F1 of the most probable label", "F1", 0.0, 1.0, "higher",
        "Micro F1 if each target gets its most probable label and no other. With many balanced labels no probability may reach 0.5, so "
        "micro F1 can be below the majority label's while this one is not.",
        _FIRST, "undefined if predictions are not stored, or targets have several labels", "ours; not in the paper", f"{_NUMBERS}.f1",
    ),
    Metric(
        "gain_above_memory", "gain above memory", "difference of F1", -1.0, 1.0, "higher",
        "F1(L) minus the greater of F1(0) and the memory baseline. Its interval takes the baseline as exact.",
        "as for the F1s", "undefined if the baseline is not stored", "ours; not in the paper", f"{_NUMBERS}.gain_above_memory",
    ),
    Metric(
        "centre_of_gravity", "centre of gravity", "layer", 0.0, None, "neither",
        "Mean of the layers 0 to L, each weighted by its share in the scalar mix of the probe on all layers. The shares start equal and "
        "change slowly, so the centre is near the middle after a short training.",
        _NO_TIES, "undefined if the weights are not stored",
        f"{_TENNEY}, equation 2; with the weights of P(L), whereas the authors train the mix of all layers again",
        f"{_NUMBERS}.centre_of_gravity",
    ),
    Metric(
        "expected_layer", "expected layer", "layer", None, None, "neither",
        "Mean of the layers 1 to L, each weighted by the gain in F1 of P(l) over P(l - 1), losses included, from the mean F1 over seeds. "
        "Its 95 % interval resamples seeds and sentences. Not resolved if F1(L) - F1(0) is below one point, its interval contains 0, or "
        "the interval of the expected layer leaves 0 to L.",
        _NO_TIES,
        "undefined if it is not resolved; a reason is given: already at layer 0, not above the majority label, gain is inconclusive, or "
        "interval leaves the layers",
        f"{_TENNEY}, equation 4; interval and guard are ours", f"{_NUMBERS}.expected_layer",
    ),
    Metric(
        "k_weights", "K(s)", "bits", 0.0, None, "neither",
        "Kullback-Leibler divergence of the mixing weights of the layers 0 to L from uniform weights: 0 if all are equal, log2(L + 1) "
        "if one layer has all the weight. Below 0.05 the weights are near uniform, and their centre of gravity is no place.",
        _NO_TIES, "undefined if the weights are not stored", _TENNEY, f"{_NUMBERS}.k_weights",
    ),
    Metric(
        "k_gains", "K(Δ)", "bits", 0.0, None, "neither",
        "Kullback-Leibler divergence of the gains of the layers 1 to L from uniform gains; a negative gain counts as 0.",
        _NO_TIES, "undefined if the expected layer is not resolved", f"{_TENNEY} and the authors' code", f"{_NUMBERS}.k_gains",
    ),
    Metric(
        "weight_times_norm", "mixing weight × norm", "share", 0.0, 1.0, "neither",
        "Mixing weight times the mean norm of the layer's states, as a share of the sum over layers: weights alone mislead if the "
        "vectors of layers differ in length.",
        _NO_TIES, "undefined if the weights are not stored", "Fayyaz et al. 2021", f"{_NUMBERS}.times_norm",
    ),
    Metric(
        "selectivity", "selectivity", "difference of F1", -1.0, 1.0, "higher",
        "F1 minus the F1 of the same kind of probe on control labels, which are drawn once per span text and can only be memorised. Tasks "
        "are compared on targets whose span text occurs in training: no other control label can be known.",
        "as for the two F1s", "undefined if control labels were not trained", "Hewitt and Liang 2019", f"{_NUMBERS}.selectivity",
    ),
    Metric(
        "compression", "compression", "ratio", 0.0, None, "higher",
        "Length of the uniform code of the training labels divided by that of the online code: 1 if the layers do not help to "
        "predict them.",
        _NO_TIES, "undefined if the code was not computed", "Voita and Titov 2020", f"{_NUMBERS}.compression",
    ),
    Metric(
        "memory", "memory baseline", "F1", 0.0, 1.0, "neither",
        "F1 of always predicting the commonest training label of the same span text (of both spans, without case), or the majority label "
        "if the text does not occur in training.",
        "among equally common labels the first by name", "as for the F1", "ours; not in the paper", "core.edges.baselines.memory_answers",
    ),
    Metric(
        "majority_label", "majority label", "F1", 0.0, 1.0, "neither",
        "F1 of predicting the commonest training label for every target.",
        "among equally common labels the first by name", "as for the F1", "ours; not in the paper", "core.edges.baselines.majority_answer",
    ),
    Metric(
        "ceiling", "ceiling of a task", "F1", 0.0, 1.0, "neither",
        "The greatest F1 of predictions that are the same for equal inputs: a probe sees only spans, and one span of a sentence can be "
        "several targets with different gold labels.",
        _NO_TIES, "as for the F1", "ours; not in the paper", "core.edges.baselines.ceiling",
    ),
    Metric(
        "settled_layer", "settled layer", "layer", 0.0, None, "neither",
        "First layer from which on, up to the last layer, the most probable label of a target is a gold label.",
        _FIRST, "undefined if the last layer is wrong", "ours; after the paper's Figure 3", "core.edges.traces.settled_layer",
    ),
    Metric(
        "revisions", "revisions", "changes", 0.0, None, "neither",
        "Number of layers at which the most probable label of a target differs from that at the layer below.",
        _FIRST, "0 if one layer is stored", "ours; after the paper's Figure 3", "core.edges.traces.revisions",
    ),
    Metric(
        "mean_share", "greatest mean share", "share", 0.0, 1.0, "neither",
        "The probability of a label divided by the sum over all labels, mean over layers; the greatest over labels. A target with at "
        "most 0.7 is ambiguous. Computed from the stored probabilities of the gold labels and of the best wrong one, in steps of 1/255.",
        _NO_TIES, "0 if no label has a probability above 0", f"{_TENNEY}, Figure 3", "core.edges.traces.strongest_mean",
    ),
    Metric(
        "layer_order", "order of expected layers", "verdict", None, None, "neither",
        "Earlier or later: the 95 % interval of the difference of two expected layers, over sentences and seeds, with Holm's correction "
        "for the number of pairs, excludes 0. A task with one seed has the variance over seeds that is pooled over the model's tasks with "
        "several. Order not resolved: the interval contains 0, one of the two is not resolved, or there are too few seeds. Models are "
        "compared by share of depth.",
        "a difference of 0 is not resolved", "order not resolved", "ours; not in the paper", "core.edges.order.compare_pairs",
    ),
)  # fmt: skip
