"""The kinds of decoding heads, in the order in which pages offer them.

``tied`` trains its own transform, the vocabulary matrix is shared and frozen; ``lens`` is the pre-trained head on every layer and is
not trained; in ``full`` everything trains, as in the paper. ``least_squares`` is the pre-trained head behind the affine map from the
layer to the last one that has the least squared error; ``tuned_lens`` trains such a map to the last layer's distribution (Belrose et
al. 2023). The map is folded into the head's first layer, so both own the same parameters as ``tied``.
"""

from probing.core.metric import Metric

HEADS = ("tied", "lens", "full", "least_squares", "tuned_lens")
#: Those that lie in files.
STORED = tuple(kind for kind in HEADS if kind != "lens")
#: Those that begin with an affine map to the last layer.
MAPPED = ("least_squares", "tuned_lens")

#: What is shown of heads and of what they change.
HEAD_METRICS = (
    Metric(
        "head_loss",
        "validation loss",
        "nats",
        0.0,
        None,
        "neither",
        "Mean cross-entropy of the right word pieces at the masked positions of a validation text, by layer and kind of head. "
        "Lower: the head reads the layer's words better. It does not say that the layer knows facts.",
        "no ties: a value, not an order",
        "no value where the training of the head is not stored",
        "as masked language modelling; Belrose et al. 2023 train the tuned lens by KL divergence and report that",
        "models.heads.files.validation_losses",
    ),
    Metric(
        "points_lost",
        "loss from the base",
        "difference of shares",
        -1.0,
        1.0,
        "neither",
        "P@k of the base minus that of the fine-tuned model at their last layers, read by the same kind of head, over facts; and the same "
        "of P@k minus the swapped subject, so that only what comes from the subject counts. The read-out changes a conclusion where the "
        "95 % intervals of two kinds of heads do not touch.",
        "as of the two shares",
        "no value without facts; minus the swapped subject none where either of the two has no swapped subject",
        "ours; not in the paper",
        "reports.knowledge.pairs.yardsticks.joined",
    ),
)


def listed(kinds: tuple[str, ...] = HEADS) -> str:
    """The kinds as a sentence names them."""
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}"
