"""The kinds of decoding heads, in the order of the menus.

``tied`` trains its own transform, the vocabulary matrix is shared and frozen; ``logit_lens`` is the pre-trained head on
every layer and is not trained (nostalgebraist 2020); in ``full`` everything trains, as in the paper. ``least_squares``
is the pre-trained head on top of the affine map from the layer to the last one with the least squared error;
``tuned_lens`` trains such a map to match the last layer's distribution (Belrose et al. 2023). The map is folded into
the head's first layer, so both own the same parameters as ``tied``.
"""

from collections.abc import Iterable

from probing.kernel.metric import Metric

HEADS = TIED, LOGIT_LENS, FULL, LEAST_SQUARES, TUNED_LENS = (
    "tied",
    "logit_lens",
    "full",
    "least_squares",
    "tuned_lens",
)
#: Kinds that are stored in files.
STORED = tuple(kind for kind in HEADS if kind != LOGIT_LENS)
#: Kinds that start with an affine map to the last layer.
MAPPED = (LEAST_SQUARES, TUNED_LENS)

#: Quantities of heads and of their effect on results.
HEAD_METRICS = (
    Metric(
        "head_loss",
        "validation loss",
        "nats",
        0.0,
        None,
        "lower",
        "Mean cross-entropy of the right word pieces at the masked positions of a validation text, by layer and kind of"
        " head. Lower: the head predicts words better from the layer. It is no evidence that the layer knows facts.",
        "no ties: a value, not an order",
        "undefined if the training of the head is not stored",
        "as masked language modelling; the logit lens is that of nostalgebraist 2020; Belrose et al. 2023 train the"
        " tuned lens by KL divergence and report the divergence",
        "heads.files.validation_losses",
    ),
    Metric(
        "points_lost",
        "loss from the base",
        "difference of shares",
        -1.0,
        1.0,
        "neither",
        "P@k of the base minus that of the fine-tuned model at their last layers, under the same kind of head, over"
        " facts. The same for P@k minus the swapped subject leaves out answers that do not depend on the subject; cues"
        " in the subject's name still count. The choice of the head changes a conclusion if the 95 % intervals of two"
        " kinds of heads do not overlap, and one of them leaves out 0 where the other does not, or on the other side.",
        "as for the two shares",
        "undefined without facts; minus the swapped subject undefined if either of the two has no swapped subject",
        "ours; not in the paper",
        "facts.report_pairs_yardsticks.joined",
    ),
)


def head_order(head: str) -> int:
    """Position of a kind of heads in lists; kinds that are not ours come last."""
    return (*HEADS, head).index(head)


def canonical_head(name: str) -> str:
    """The name of a kind of head: ``logit_lens`` for ``logit-lens``; an unknown name is returned unchanged."""
    canonical = name.replace("-", "_")
    return canonical if canonical in HEADS else name


def canonical_heads(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """``canonical_head`` of each, once; None stays None."""
    return None if names is None else tuple(dict.fromkeys(map(canonical_head, names)))


def listed(kinds: tuple[str, ...] = HEADS) -> str:
    """The kinds as a list in a sentence."""
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}"
