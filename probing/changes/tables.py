"""The tables of what fine-tuning changed: attention, perplexity and similarity of states, layer by layer.

A *run* measures one model. A fine-tuned model and its base are measured on the same sentences and blocks; a base alone.
``variant`` and ``tuned_seed`` are as in ``sentence_runs``.
"""

import pyarrow as pa

from probing.changes.measures import MEASURES
from probing.kernel.store.columns import (
    BASE,
    LAYER,
    LAYERS,
    LEFT_OUT,
    MADE,
    MODEL,
    MOST_ROWS,
    RUN,
    RUN_ID,
    SEED,
    Table,
    count,
    flag,
    real,
    several,
    small,
    text,
    whole,
)

#: In the column ``head``: the mean over all heads of a layer.
ALL_HEADS = 255
#: Which layers can be replaced by the base's.
REPLACED = ("none", "last", "first", "single")

TABLES = (
    Table(
        "change_runs",
        "One run of measurements; what its sentences and blocks are taken from is in ``config``.",
        "run_id",
        (
            *RUN,
            text("variant", "the same for models that differ by the seed of their fine-tuning alone"),
            whole("tuned_seed", "seed of the fine-tuning").or_empty(),
            SEED,
            LAYERS,
            small("heads", "attention heads per layer", 1),
            count("width", "size of a hidden state", 1),
            count("sentences", "sentences that were read for attention and similarity"),
            count("blocks", "blocks for perplexity"),
            count("block_pieces", "tokens per block"),
            LEFT_OUT,
            *MADE,
        ),
        per="run_id",
        sort="model seed run_id",
    ),
    Table(
        "change_values",
        "One measure at one layer, with its 95 % interval (bootstrap over sentences).",
        "run_id measure layer head",
        (
            RUN_ID,
            text("measure", "what is measured", tuple(MEASURES)),
            LAYER,
            small(
                "head",
                "attention head, from 0; 255 for the mean over a layer's heads, and for measures that are not of heads",
            ),
            real("value", "the value", -1e6, 1e6),
            real("low", "lower end of the interval", -1e6, 1e6).or_empty(),
            real("high", "upper end of the interval", -1e6, 1e6).or_empty(),
            count("n", "sentences or tokens", 1),
        ),
        per="run_id",
    ),
    Table(
        "perplexity",
        "Sums of cross-entropy (nats) at the masked tokens, with layers of a fine-tuned model replaced by its base's.",
        "run_id replaced n embeddings",
        (
            RUN_ID,
            text("replaced", "the n last or first layers, the single layer n, or none", REPLACED),
            small("n", "number of layers, or the layer"),
            flag("embeddings", "whether the base's embeddings were put in, too"),
            count("masked", "masked tokens", 1),
            real("cross_entropy", "sum over them", 0),
            several(real("by_block", "sum of each block", 0), pa.float32()).or_empty(),
            several(count("masked_by_block", "masked tokens of each block")).or_empty(),
        ),
        per="run_id",
        longest=MOST_ROWS,
    ),
    Table(
        "epoch_perplexity",
        "Perplexity of a model while it was fine-tuned, with the base's own head.",
        "model step",
        (
            MODEL,
            BASE,
            real("epoch", "passes through the data; 0: before", 0),
            count("step", "training steps"),
            count("blocks", "number of blocks"),
            count("masked", "masked tokens", 1),
            real("cross_entropy", "sum over them", 0),
        ),
        per="model",
    ),
)
