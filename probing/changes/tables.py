"""The tables of what fine-tuning changed: attention, perplexity and similarity of states, layer by layer.

A *run* measures one model. A fine-tuned model and its base are measured on the same sentences and blocks; a base alone.
``variant`` and ``tuned_seed`` are as in ``sentence_runs``.
"""

import pyarrow as pa

from probing.changes.measures import MEASURES
from probing.kernel.store import columns as col

#: In the column ``head``: the mean over all heads of a layer.
ALL_HEADS = 255
#: Which layers can be replaced by the base's.
REPLACED = ("none", "last", "first", "single")

TABLES = (
    col.Table(
        "change_runs",
        "One run of measurements; what its sentences and blocks are taken from is in ``config``.",
        "run_id",
        (
            *col.RUN,
            col.text("variant", "the same for models that differ by the seed of their fine-tuning alone"),
            col.whole("tuned_seed", "seed of the fine-tuning").or_empty(),
            col.SEED,
            col.LAYERS,
            col.small("heads", "attention heads per layer", 1),
            col.count("width", "size of a hidden state", 1),
            col.count("sentences", "sentences that were read for attention and similarity"),
            col.count("blocks", "blocks for perplexity"),
            col.count("block_pieces", "tokens per block"),
            col.LEFT_OUT,
            *col.MADE,
        ),
        per="run_id",
        sort="model seed run_id",
    ),
    col.Table(
        "change_values",
        "One measure at one layer, with its 95 % interval (bootstrap over sentences).",
        "run_id measure layer head",
        (
            col.RUN_ID,
            col.text("measure", "what is measured", tuple(MEASURES)),
            col.LAYER,
            col.small(
                "head",
                "attention head, from 0; 255 for the mean over a layer's heads, and for measures that are not of heads",
            ),
            col.real("value", "the value", -1e6, 1e6),
            col.real("low", "lower end of the interval", -1e6, 1e6).or_empty(),
            col.real("high", "upper end of the interval", -1e6, 1e6).or_empty(),
            col.count("n", "sentences or tokens", 1),
        ),
        per="run_id",
    ),
    col.Table(
        "perplexity",
        "Sums of cross-entropy (nats) at the masked tokens, with layers of a fine-tuned model replaced by its base's.",
        "run_id replaced n embeddings",
        (
            col.RUN_ID,
            col.text("replaced", "the n last or first layers, the single layer n, or none", REPLACED),
            col.small("n", "number of layers, or the layer"),
            col.flag("embeddings", "whether the base's embeddings were put in, too"),
            col.count("masked", "masked tokens", 1),
            col.real("cross_entropy", "sum over them", 0),
            col.several(col.real("by_block", "sum of each block", 0), pa.float32()).or_empty(),
            col.several(col.count("masked_by_block", "masked tokens of each block")).or_empty(),
        ),
        per="run_id",
        longest=col.MOST_ROWS,
    ),
    col.Table(
        "epoch_perplexity",
        "Perplexity of a model while it was fine-tuned, with the base's own head.",
        "model step",
        (
            col.MODEL,
            col.BASE,
            col.real("epoch", "passes through the data; 0: before", 0),
            col.count("step", "training steps"),
            col.count("blocks", "number of blocks"),
            col.count("masked", "masked tokens", 1),
            col.real("cross_entropy", "sum over them", 0),
        ),
        per="model",
    ),
)
