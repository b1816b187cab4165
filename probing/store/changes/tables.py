"""The tables of what fine-tuning changed: attention, perplexity and similarity of states, layer by layer.

A *run* measures one model. A fine-tuned model and its base are measured on the same sentences and blocks; a base alone. ``variant`` and
``tuned_seed`` are as in ``sentence_runs``.
"""

import math

import pyarrow as pa

from probing.store.tables.columns import ordered, table_schema

_TEXT, _BOOL, _SMALL, _COUNT, _REAL = pa.string(), pa.bool_(), pa.uint8(), pa.uint32(), pa.float64()

#: In the column ``head``: the mean over all heads of a layer.
ALL_HEADS = 255
#: Table name -> its columns in order.
#: ``change_runs``: ``sentences`` were read for attention and similarity, ``blocks`` of ``block_pieces`` pieces for perplexity; what they
#: are taken from is in ``config``.
#: ``change_values``: one measure (``core.changes.measures``) at one layer, with its 95 % interval (bootstrap over sentences). ``head``
#: counts from 0; it is ``ALL_HEADS`` for the mean over a layer's heads, and for measures that are not of heads. ``n`` sentences or tokens.
#: ``perplexity``: sums of cross-entropy (nats) at the masked pieces with layers of a fine-tuned model replaced by its base's: ``replaced``
#: is none, last, first (``n`` layers) or single (layer ``n`` alone); ``embeddings`` whether the base's embeddings were put in, too.
#: ``by_block`` are the sums of each block, in the order of blocks, and ``masked_by_block`` the numbers of masked pieces: intervals and
#: paired differences come from them.
#: ``epoch_perplexity``: of the model while it was fine-tuned, after ``epoch`` passes (0: before), with the base's own head.
CHANGE_SCHEMAS: dict[str, pa.Schema] = {
    "change_runs": ordered(
        table_schema(
            dict.fromkeys(["run_id", "model", "variant", "config"], _TEXT)
            | {"seed": pa.int64(), "layers": _SMALL, "heads": _SMALL, "width": _COUNT}
            | dict.fromkeys(["sentences", "blocks", "block_pieces"], _COUNT),
            {"tuned_seed": pa.int64()}
            | dict.fromkeys(["model_revision", "base", "objective", "left_out", "device", "code_version", "created"], _TEXT),
        ),
        "run_id model model_revision base objective variant tuned_seed seed layers heads width sentences blocks block_pieces left_out "
        "device code_version created config",
    ),
    "change_values": ordered(
        table_schema(
            {"run_id": _TEXT, "measure": _TEXT, "layer": _SMALL, "head": _SMALL, "value": _REAL, "n": _COUNT},
            {"low": _REAL, "high": _REAL},
        ),
        "run_id measure layer head value low high n",
    ),
    "perplexity": ordered(
        table_schema(
            {"run_id": _TEXT, "replaced": _TEXT, "n": _SMALL, "embeddings": _BOOL, "masked": _COUNT, "cross_entropy": _REAL},
            {"by_block": pa.list_(pa.float32()), "masked_by_block": pa.list_(_COUNT)},
        ),
        "run_id replaced n embeddings masked cross_entropy by_block masked_by_block",
    ),
    "epoch_perplexity": table_schema(
        {"model": _TEXT, "base": _TEXT, "epoch": _REAL, "step": _COUNT, "blocks": _COUNT, "masked": _COUNT, "cross_entropy": _REAL}
    ),
}
CHANGE_KEYS: dict[str, tuple[str, ...]] = {
    "change_runs": ("run_id",),
    "change_values": ("run_id", "measure", "layer", "head"),
    "perplexity": ("run_id", "replaced", "n", "embeddings"),
    "epoch_perplexity": ("model", "step"),
}
CHANGE_SORT: dict[str, tuple[str, ...]] = {"change_runs": ("model", "seed", "run_id")}
#: Table -> column -> its minimum and maximum.
CHANGE_BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "change_runs": {"layers": (1, 255), "heads": (1, 255)},
    "change_values": dict.fromkeys(["value", "low", "high"], (-math.inf, math.inf)),
    "perplexity": {"cross_entropy": (0, math.inf)},
    "epoch_perplexity": {"epoch": (0, math.inf), "cross_entropy": (0, math.inf)},
}
