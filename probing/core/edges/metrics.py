"""The quantities of edge probing, as data; ``core.metrics`` lists them with the others."""

from probing.core.metric import Metric

_TENNEY = "Tenney, Das and Pavlick 2019"
_NO_TIES = "no ties: a value, not an order"
_FIRST = "of equally probable labels the one with the smaller number"
_NUMBERS = "core.edges.numbers"

EDGE_METRICS = (
    Metric(
        "micro_f1", "micro F1", "F1", 0.0, 1.0, "higher",
        "2 TP / (2 TP + FP + FN) over all pairs of a target and a label that counts; a label is given where its probability is at least "
        "0.5, so a target can get none or several. A gold label that training does not have counts as missed. Of several seeds: the mean.",
        "a probability of just 0.5 gives the label", "no value where there is neither a gold label nor an answer",
        f"{_TENNEY} and the authors' code", f"{_NUMBERS}.f1",
    ),
    Metric(
        "centre_of_gravity", "centre of gravity", "layer", 0.0, None, "neither",
        "Mean of the layers 0 to L, each weighted by its share in the mix of the probe on all layers. Shares begin equal and leave that "
        "slowly, so it lies near the middle after a short training.",
        _NO_TIES, "no value where the weights are not stored",
        f"{_TENNEY}, equation 2; the weights of P(L), the authors train the mix of all layers once more", f"{_NUMBERS}.centre_of_gravity",
    ),
    Metric(
        "expected_layer", "expected layer", "layer", None, None, "neither",
        "Mean of the layers 1 to L, each weighted by what P(l) gains in F1 on P(l - 1), losses included; made of the mean F1 over seeds. "
        "Its 95 % interval draws seeds and sentences again. Not resolved where F1(L) - F1(0) is below one point or its interval holds 0.",
        _NO_TIES, "no value where it is not resolved; the formula alone can then lie beyond the last layer",
        f"{_TENNEY}, equation 4; interval and guard are ours", f"{_NUMBERS}.expected_layer",
    ),
    Metric(
        "k_weights", "K(s)", "bits", 0.0, None, "neither",
        "Kullback-Leibler divergence of the mixing weights of the layers 0 to L from equal ones: 0 where all weigh the same, log2(L + 1) "
        "where one has it all.",
        _NO_TIES, "no value where the weights are not stored", _TENNEY, f"{_NUMBERS}.k_weights",
    ),
    Metric(
        "k_gains", "K(Δ)", "bits", 0.0, None, "neither",
        "Kullback-Leibler divergence of the gains of the layers 1 to L from equal ones; a layer that loses counts as gaining nothing.",
        _NO_TIES, "no value where the expected layer is not resolved", f"{_TENNEY} and the authors' code", f"{_NUMBERS}.k_gains",
    ),
    Metric(
        "weight_times_norm", "mixing weight × norm", "share", 0.0, 1.0, "neither",
        "Mixing weight times the mean norm of the layer's states, as share of the sum over layers: weights alone mislead where layers have "
        "vectors of different length.",
        _NO_TIES, "no value where the weights are not stored", "Fayyaz et al. 2021", f"{_NUMBERS}.times_norm",
    ),
    Metric(
        "selectivity", "selectivity", "difference of F1", -1.0, 1.0, "higher",
        "F1 minus that of an equal probe on control labels, which are drawn once for every span text: what memorising texts cannot give.",
        "as of the two F1s", "no value where control labels were not trained", "Hewitt and Liang 2019", f"{_NUMBERS}.selectivity",
    ),
    Metric(
        "compression", "compression", "ratio", 0.0, None, "higher",
        "Length of the uniform code of the training labels over that of the online code: 1 where the layers say nothing of the labels.",
        _NO_TIES, "no value where the code was not computed", "Voita and Titov 2020", f"{_NUMBERS}.compression",
    ),
    Metric(
        "memory", "memory baseline", "F1", 0.0, 1.0, "neither",
        "F1 of always giving the commonest training label of the same span text (of both spans, without case), and the majority label "
        "where the text does not occur in training.",
        "of equally common labels the first by name", "as of the F1", "ours; not in the paper", "core.edges.baselines.memory_answers",
    ),
    Metric(
        "majority_label", "majority label", "F1", 0.0, 1.0, "neither",
        "F1 of giving every target the commonest training label.",
        "of equally common labels the first by name", "as of the F1", "ours; not in the paper", "core.edges.baselines.majority_answer",
    ),
    Metric(
        "ceiling", "ceiling of a task", "F1", 0.0, 1.0, "neither",
        "The greatest F1 that answers can have which are the same for equal inputs: a probe sees spans, and one span of a sentence may be "
        "several targets with different gold labels.",
        _NO_TIES, "as of the F1", "ours; not in the paper", "core.edges.baselines.ceiling",
    ),
    Metric(
        "settled_layer", "settled layer", "layer", 0.0, None, "neither",
        "First layer from which the most probable label of a target is a gold one up to the last layer.",
        _FIRST, "no value where the last layer is wrong", "ours; after the paper's Figure 3", "core.edges.traces.settled_layer",
    ),
    Metric(
        "revisions", "revisions", "changes", 0.0, None, "neither",
        "How many times the most probable label of a target is another one than at the layer below.",
        _FIRST, "0 where one layer is stored", "ours; after the paper's Figure 3", "core.edges.traces.revisions",
    ),
    Metric(
        "mean_share", "greatest mean share", "share", 0.0, 1.0, "neither",
        "Of each label the mean over layers of its probability divided by the sum over all labels; of these the greatest. At most 0.7: the "
        "target is ambiguous. Computed from the stored probabilities of the gold labels and of the best wrong one, in steps of 1/255.",
        _NO_TIES, "0 where no label has a probability above 0", f"{_TENNEY}, Figure 3", "core.edges.traces.strongest_mean",
    ),
    Metric(
        "layer_order", "order of expected layers", "verdict", None, None, "neither",
        "Earlier or later: the 95 % interval of the difference of two expected layers lies on one side of 0, at the level of Holm's "
        "correction for the number of pairs. Order not resolved: it does not, or one of the two is not resolved. Models are compared by "
        "share of depth.",
        "a difference of 0 is not resolved", "order not resolved", "ours; not in the paper", "core.edges.order.compare_pairs",
    ),
)  # fmt: skip
