"""The quantities of edge probing, as data; ``terms`` lists them with the others."""

from probing.kernel.metric import Metric

_TENNEY = "Tenney, Das and Pavlick 2019"
_FIRST = "among equally probable labels the one with the smaller id"
_NUMBERS = "edges.numbers"

EDGE_METRICS = (
    Metric(
        "micro_f1",
        "F1",
        "2 TP / (2 TP + FP + FN) over all pairs of a target and a label that counts; a label is predicted if its"
        " probability is at least 0.5, so a target can get none or several. A gold label that is not in the training"
        " data counts as missed. For several seeds: the mean.",
        f"{_NUMBERS}.f1",
        label="micro F1",
        better="higher",
        ties="a probability of exactly 0.5 predicts the label",
        empty="undefined if there is neither a gold label nor a prediction",
        source=f"{_TENNEY} and the authors' code",
    ),
    Metric(
        "top_f1",
        "F1",
        "Micro F1 if each target gets its most probable label and no other. With many balanced labels no probability"
        " may reach 0.5, so micro F1 can be below the majority label's while this one is not.",
        f"{_NUMBERS}.f1",
        label="F1 of the most probable label",
        better="higher",
        ties=_FIRST,
        empty="undefined if predictions are not stored, or targets have several labels",
    ),
    Metric(
        "gain_above_memory",
        "difference of F1",
        "F1(L) minus the greater of F1(0) and the memory baseline. Its interval takes the baseline as exact.",
        f"{_NUMBERS}.gain_above_memory",
        better="higher",
        ties="as for the F1s",
        empty="undefined if the baseline is not stored",
    ),
    Metric(
        "centre_of_gravity",
        "layer",
        "Mean of the layers 0 to L, each weighted by its share in the scalar mix of the probe on all layers. The shares"
        " start equal and change slowly, so the centre is near the middle after a short training.",
        f"{_NUMBERS}.centre_of_gravity",
        empty="undefined if the weights are not stored",
        source=f"{_TENNEY}, equation 2; with the weights of P(L), whereas the authors train the mix of all layers"
        " again",
    ),
    Metric(
        "expected_layer",
        "layer",
        "Mean of the layers 1 to L, each weighted by the gain in F1 of P(l) over P(l - 1), losses included, from the"
        " mean F1 over seeds. Its 95 % interval resamples seeds and sentences. Not resolved if F1(L) - F1(0) is below"
        " one point, its interval contains 0, or the interval of the expected layer leaves 0 to L.",
        f"{_NUMBERS}.expected_layer",
        ends=(None, None),
        empty="undefined if it is not resolved; a reason is given: already at layer 0, not above the majority label,"
        " gain is inconclusive, or interval leaves the layers",
        source=f"{_TENNEY}, equation 4; interval and guard are ours",
    ),
    Metric(
        "half_layer",
        "layer",
        "First of the layers 1 to L whose probe P(l) has half of the gain F1(L) - F1(0).",
        f"{_NUMBERS}.half_layer",
        empty="undefined if the gain is below one point or its interval contains 0",
    ),
    Metric(
        "k_weights",
        "bits",
        "Kullback-Leibler divergence of the mixing weights of the layers 0 to L from uniform weights: 0 if all are"
        " equal, log2(L + 1) if one layer has all the weight. Below 0.05 the weights are near uniform, and their centre"
        " of gravity is no place.",
        f"{_NUMBERS}.k_weights",
        label="K(s)",
        empty="undefined if the weights are not stored",
        source=_TENNEY,
    ),
    Metric(
        "k_gains",
        "bits",
        "Kullback-Leibler divergence of the gains of the layers 1 to L from uniform gains; a negative gain counts"
        " as 0.",
        f"{_NUMBERS}.k_gains",
        label="K(Δ)",
        empty="undefined if the expected layer is not resolved",
        source=f"{_TENNEY} and the authors' code",
    ),
    Metric(
        "weight_times_norm",
        "share",
        "Mixing weight times the mean norm of the layer's states, as a share of the sum over layers: weights alone"
        " mislead if the vectors of layers differ in length.",
        f"{_NUMBERS}.times_norm",
        label="mixing weight × norm",
        empty="undefined if the weights are not stored",
        source="Fayyaz et al. 2021",
    ),
    Metric(
        "selectivity",
        "difference of F1",
        "F1 minus the F1 of the same kind of probe on control labels, which are drawn once per span text and can only"
        " be memorised. Tasks are compared on targets whose span text occurs in training: no other control label can be"
        " known.",
        f"{_NUMBERS}.selectivity",
        better="higher",
        ties="as for the two F1s",
        empty="undefined if control labels were not trained",
        source="Hewitt and Liang 2019",
    ),
    Metric(
        "compression",
        "ratio",
        "Length of the uniform code of the training labels divided by that of the online code: 1 if the layers do not"
        " help to predict them.",
        f"{_NUMBERS}.compression",
        better="higher",
        empty="undefined if the code was not computed",
        source="Voita and Titov 2020",
    ),
    Metric(
        "memory",
        "F1",
        "F1 of always predicting the commonest training label of the same span text (of both spans, without case), or"
        " the majority label if the text does not occur in training.",
        "edges.numbers.memory_answers",
        label="memory baseline",
        ties="among equally common labels the first by name",
    ),
    Metric(
        "majority_label",
        "F1",
        "F1 of predicting the commonest training label for every target.",
        "edges.numbers.majority_answer",
        ties="among equally common labels the first by name",
    ),
    Metric(
        "ceiling",
        "F1",
        "The greatest F1 of predictions that are the same for equal inputs: a probe sees only spans, and one span of a"
        " sentence can be several targets with different gold labels.",
        "edges.numbers.ceiling",
        label="ceiling of a task",
    ),
    Metric(
        "settled_layer",
        "layer",
        "First layer from which on, up to the last layer, the most probable label of a target is a gold label.",
        "edges.words.settled_layer",
        ties=_FIRST,
        empty="undefined if the last layer is wrong",
        source="ours; after the paper's Figure 3",
    ),
    Metric(
        "revisions",
        "changes",
        "Number of layers at which the most probable label of a target differs from that at the layer below.",
        "edges.words.revisions",
        ties=_FIRST,
        empty="0 if one layer is stored",
        source="ours; after the paper's Figure 3",
    ),
    Metric(
        "mean_share",
        "share",
        "The probability of a label divided by the sum over all labels, mean over layers; the greatest over labels. A"
        " target with at most 0.7 is ambiguous. Computed from the stored probabilities of the gold labels and of the"
        " best wrong one, in steps of 1/255.",
        "edges.words.strongest_mean",
        label="greatest mean share",
        empty="0 if no label has a probability above 0",
        source=f"{_TENNEY}, Figure 3",
    ),
    Metric(
        "layer_order",
        "verdict",
        "Earlier or later: the 95 % interval of the difference of two expected layers, over sentences and seeds, with"
        " Holm's correction for the number of pairs, excludes 0. A task with one seed has the variance over seeds that"
        " is pooled over the model's tasks with several. Order not resolved: the interval contains 0, one of the two is"
        " not resolved, or there are too few seeds. Models are compared by share of depth.",
        "edges.numbers.compare_pairs",
        label="order of expected layers",
        ties="a difference of 0 is not resolved",
        empty="order not resolved",
    ),
)
