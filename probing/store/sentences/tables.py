"""The tables of sentence-level probing: columns, types, and what identifies a row.

A *run* is all probes of one model on one task by one protocol: for every pooling, layer 0..L and reading one probe, or one for each
``portion`` of the training sentences (1: all of them, 4: a quarter; the learning curve). The readings ``frozen``, ``rescaled`` and
``aligned`` are of fine-tuned models only. Numbers on pages are arithmetic on ``sentence_scores`` and ``sentence_pairs``, both additive
counts; ``sentence_predictions`` may be left out, of a whole run or of some kinds of probes (pooling, reading, portion). Where they
are stored, both are recomputed from them.

Fine-tuned models that differ by the seed of their fine-tuning alone have the same ``variant``: the first 12 digits of the sha256 of the
recipe without its seed (empty for a model without a recipe). The one with the smallest seed represents them; the others give the spread.
"""

import math

import pyarrow as pa

from probing.store.tables.columns import ordered, table_schema

_TEXT, _SMALL, _COUNT, _REAL = pa.string(), pa.uint8(), pa.uint32(), pa.float64()
_CELL = {"run_id": _TEXT, "pooling": _TEXT, "layer": _SMALL, "reading": _TEXT, "portion": _SMALL}

#: Table name -> its columns in order.
#: ``sentence_tasks``: one row per task and protocol. ``level`` is surface, syntactic, semantic, discourse or own; ``majority_right`` of
#: ``n_test`` test sentences have the commonest training label, ``surface_right`` are right by a probe on ``surface`` features (length,
#: first letter's case, final mark, words); ``dropped`` is JSON (reason -> number), ``labels`` the labels' names in order of number,
#: ``n_train_labels`` how many training sentences have each.
#: ``sentence_examples``: the test sentences in the order of predictions. ``example`` is the first 16 digits of ``Example.sha256``;
#: ``text`` and ``pair`` are empty if the licence forbids them.
#: ``sentence_runs``: ``base`` is the name of the model that a fine-tuned model is compared with; ``layers`` counts layer 0, as in ``runs``.
#: ``sentence_scores``: ``c`` is the inverse strength of regularisation that dev chose (empty for MLP probes), ``code_length`` the bits of
#: the online code of the training labels (empty if it was not computed).
#: ``sentence_pairs``: how many test sentences two probes have right: both, only the first, only the second, neither. The first is this
#: run's probe at the columns of a cell; the second is ``with_model``'s at the ``with_`` columns (``with_model`` may be the run's own).
#: ``sentence_predictions``: label numbers in the order of ``sentence_examples``, with 255 (``LEFT_OUT``) for each sentence that the model
#: or its base cannot take; ``n_test`` of a run and of its scores does not count those.
SENTENCE_SCHEMAS: dict[str, pa.Schema] = {
    "sentence_tasks": ordered(
        table_schema(
            dict.fromkeys(["task", "protocol", "title", "level", "source", "licence", "sha256", "dropped"], _TEXT)
            | dict.fromkeys(["n_train", "n_dev", "n_test", "majority_right", "surface_right"], _COUNT)
            | {"labels": pa.list_(_TEXT), "n_train_labels": pa.list_(_COUNT)}
        ),
        "task protocol title level source licence labels n_train_labels n_train n_dev n_test majority_right surface_right dropped sha256",
    ),
    "sentence_examples": table_schema(
        {"task": _TEXT, "protocol": _TEXT, "place": _COUNT, "example": _TEXT, "label": _SMALL}, {"text": _TEXT, "pair": _TEXT}
    ),
    "sentence_runs": ordered(
        table_schema(
            dict.fromkeys(["run_id", "model", "variant", "task", "protocol", "config"], _TEXT)
            | {"seed": pa.int64(), "layers": _SMALL, "width": _COUNT, "n_test": _COUNT},
            {"tuned_seed": pa.int64()}
            | dict.fromkeys(["model_revision", "base", "objective", "left_out", "device", "code_version", "created"], _TEXT),
        ),
        "run_id model model_revision base objective variant tuned_seed task protocol seed layers width n_test left_out device code_version "
        "created config",
    ),
    "sentence_scores": table_schema(
        _CELL | dict.fromkeys(["n_train", "dev_right", "n_dev", "right", "n_test"], _COUNT), {"c": _REAL, "code_length": _REAL}
    ),
    "sentence_pairs": table_schema(
        _CELL
        | {"with_model": _TEXT, "with_pooling": _TEXT, "with_layer": _SMALL, "with_reading": _TEXT, "with_portion": _SMALL}
        | dict.fromkeys(["both", "only_this", "only_other", "neither"], _COUNT)
    ),
    "sentence_predictions": table_schema(_CELL | {"predicted": pa.list_(_SMALL)}),
}
_CELL_KEY = tuple(_CELL)
SENTENCE_KEYS: dict[str, tuple[str, ...]] = {
    "sentence_tasks": ("task", "protocol"),
    "sentence_examples": ("task", "protocol", "place"),
    "sentence_runs": ("run_id",),
    "sentence_scores": _CELL_KEY,
    "sentence_pairs": (*_CELL_KEY, "with_model", "with_pooling", "with_layer", "with_reading", "with_portion"),
    "sentence_predictions": _CELL_KEY,
}
SENTENCE_SORT: dict[str, tuple[str, ...]] = {"sentence_runs": ("model", "task", "protocol", "seed", "run_id")}
#: Table -> column -> its minimum and maximum.
SENTENCE_BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "sentence_runs": {"layers": (1, 255), "width": (1, math.inf)},
    "sentence_scores": {"c": (0, math.inf), "code_length": (0, math.inf)},
}
