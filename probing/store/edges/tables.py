"""The tables of edge probing: columns, types, and what identifies a row.

A *run* is a series of probes of one task on one encoder: for a kind ``cumulative`` or ``at`` one probe for each layer 0..L, for ``full``
one for the mix of all layers, stored as layer L. Columns named ``layer`` are that l. Counts are additive: whatever a page shows of a run
is arithmetic on ``edge_scores``, ``edge_mix``, ``edge_codes`` and ``edge_predictions``.

Gold labels that training does not have, and that F1 would count, are counted as missed, under one further label, the last, which has
no training target in ``edge_labels`` (n = 0); without such gold labels it does not exist.
A run with control labels has scores and no predictions, as no stored target has its labels. Rows of ``edge_mix`` above a probe's layer
may exist, with weight 0, or not.
"""

import math

import pyarrow as pa

from probing.store.tables.columns import ordered, table_schema

_TEXT, _BOOL, _SMALL, _COUNT, _REAL = pa.string(), pa.bool_(), pa.uint8(), pa.uint32(), pa.float64()
_COUNTS = dict.fromkeys(["tp", "fp", "fn", "tn"], _COUNT)

#: Table name -> its columns in order.
#: ``edge_tasks``: one row for each part of a task's data: train, dev, test, and own (which has predictions and no scores).
#: ``sha256`` is of the records, ``dropped`` JSON (reason -> number), ``ceiling``
#: the micro F1 of the best answers that equal inputs allow (empty if no label counts), ``unseen_labels`` gold labels, with repeats,
#: that training does not have.
#: ``edge_labels``: ``label`` is a label's number, ``counts`` states whether F1 counts it, ``n`` how many training targets have it.
#: ``edge_sentences``: sentences of the stored targets; ``text`` (words separated by blanks) is empty if the licence forbids it.
#: ``edge_targets``: targets of which predictions are stored. Spans are half-open, in words; ``gold`` are label numbers, ``unknown_gold``
#: is the number of further gold labels that F1 would count and training does not have; ``memory`` is the answer of the memory baseline,
#: ``seen`` whether the text of the span (of both spans) occurs in training.
#: ``edge_baselines``: counts of ``memory`` and ``majority`` by label; of tasks whose targets have several labels also of ``memory-each``.
#: ``edge_runs``: ``encoder`` is trained, random or random-body; ``labels`` is task or control; ``left_out`` JSON (reason -> number);
#: ``layers`` counts layer 0, as in ``runs``, so that L is ``layers - 1``.
#: ``edge_scores``: counts by label; ``tn`` of the targets that neither have it nor were predicted to have it.
#: ``edge_mix``: weight of each layer in the mix of a probe, its scale gamma, and the mean norm of that layer's states.
#: ``edge_codes``: online code; ``portion`` counts from 0, ``bits`` the code length of its targets, ``uniform`` that of the uniform code.
#: ``edge_training``: steps of a probe's training; ``best`` is its F1 on dev, which also stopped it.
#: ``edge_predictions``: ``predicted`` label numbers with p >= 0.5; ``top`` the most probable label; ``p_gold`` of each gold label and
#: ``p_wrong`` of the label ``wrong`` in steps of 1/255 (the wrong label with the greatest mean of normalised p over all layers, one for
#: all layers); ``p_sum`` the sum over all labels in the same steps, so that normalised p is ``p / p_sum``; ``p_top`` likewise.
EDGE_SCHEMAS: dict[str, pa.Schema] = {
    "edge_tasks": ordered(
        table_schema(
            dict.fromkeys(["task", "part", "title", "source", "sha256", "licence", "dropped"], _TEXT)
            | dict.fromkeys(["sentences", "records", "targets", "labels", "unseen_labels"], _COUNT)
            | {"spans": _SMALL},
            {"ceiling": _REAL},
        ),
        "task part title source sha256 licence spans sentences records targets labels unseen_labels ceiling dropped",
    ),
    "edge_labels": table_schema({"task": _TEXT, "label": _COUNT, "name": _TEXT, "counts": _BOOL, "n": _COUNT}),
    "edge_sentences": table_schema(
        {"task": _TEXT, "part": _TEXT, "sentence": _COUNT, "text_sha256": _TEXT}, {"text": _TEXT, "document": _TEXT}
    ),
    "edge_targets": ordered(
        table_schema(
            {"task": _TEXT, "part": _TEXT, "seen": _BOOL}
            | dict.fromkeys(["target", "sentence", "start1", "end1", "unknown_gold"], _COUNT)
            | dict.fromkeys(["gold", "memory"], pa.list_(_COUNT)),
            {"start2": _COUNT, "end2": _COUNT},
        ),
        "task part target sentence start1 end1 start2 end2 gold unknown_gold memory seen",
    ),
    "edge_baselines": table_schema({"task": _TEXT, "part": _TEXT, "baseline": _TEXT, "seen": _BOOL, "label": _COUNT} | _COUNTS),
    "edge_runs": ordered(
        table_schema(
            dict.fromkeys(["run_id", "model", "task", "kind", "encoder", "labels", "config"], _TEXT)
            | {"seed": pa.int64(), "layers": _SMALL, "width": _COUNT, "codes": _BOOL},
            dict.fromkeys(["model_revision", "base", "objective", "left_out", "device", "code_version", "created"], _TEXT),
        ),
        "run_id model model_revision base objective task kind encoder labels seed layers width codes left_out device code_version created "
        "config",
    ),
    "edge_scores": table_schema({"run_id": _TEXT, "layer": _SMALL, "part": _TEXT, "seen": _BOOL, "label": _COUNT} | _COUNTS),
    "edge_mix": table_schema({"run_id": _TEXT, "layer": _SMALL, "of_layer": _SMALL} | dict.fromkeys(["weight", "gamma", "norm"], _REAL)),
    "edge_codes": table_schema(
        {"run_id": _TEXT, "layer": _SMALL, "portion": _SMALL, "targets": _COUNT} | dict.fromkeys(["bits", "uniform"], _REAL)
    ),
    "edge_training": table_schema(
        {"run_id": _TEXT, "layer": _SMALL, "steps": _COUNT, "best_step": _COUNT, "best": _REAL, "rate": _REAL, "stopped": _BOOL}
    ),
    "edge_predictions": ordered(
        table_schema(
            {"run_id": _TEXT, "part": _TEXT, "target": _COUNT, "layer": _SMALL, "top": _COUNT, "wrong": _COUNT}
            | dict.fromkeys(["predicted", "p_gold"], pa.list_(_COUNT))
            | dict.fromkeys(["p_top", "p_wrong"], _SMALL)
            | {"p_sum": _COUNT}
        ),
        "run_id part target layer predicted top p_top p_gold wrong p_wrong p_sum",
    ),
}
EDGE_KEYS: dict[str, tuple[str, ...]] = {
    "edge_tasks": ("task", "part"),
    "edge_labels": ("task", "label"),
    "edge_sentences": ("task", "part", "sentence"),
    "edge_targets": ("task", "part", "target"),
    "edge_baselines": ("task", "part", "baseline", "seen", "label"),
    "edge_runs": ("run_id",),
    "edge_scores": ("run_id", "layer", "part", "seen", "label"),
    "edge_mix": ("run_id", "layer", "of_layer"),
    "edge_codes": ("run_id", "layer", "portion"),
    "edge_training": ("run_id", "layer"),
    "edge_predictions": ("run_id", "part", "target", "layer"),
}
EDGE_SORT: dict[str, tuple[str, ...]] = {"edge_runs": ("model", "task", "encoder", "kind", "labels", "seed", "run_id")}
#: Table -> column -> its minimum and maximum.
EDGE_BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "edge_tasks": {"ceiling": (0, 1)},
    "edge_runs": {"layers": (1, 255), "width": (0, math.inf)},
    "edge_mix": {"weight": (0, 1), "gamma": (-math.inf, math.inf), "norm": (0, math.inf)},
    "edge_codes": {"bits": (0, math.inf), "uniform": (0, math.inf)},
    "edge_training": {"best": (0, 1), "rate": (0, math.inf)},
}
