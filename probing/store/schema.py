"""What the tables are: columns, types, which may be empty, and what identifies a row.

Parquet is canonical; the tables of the same names in the database have the same columns, except ``runs``, which ``store.run_tables``
splits into the columns of all runs and those of runs on facts.
"""

import pyarrow as pa

from probing.store.changes.tables import CHANGE_BOUNDS, CHANGE_KEYS, CHANGE_SCHEMAS, CHANGE_SORT
from probing.store.edges.tables import EDGE_BOUNDS, EDGE_KEYS, EDGE_SCHEMAS, EDGE_SORT
from probing.store.sentences.tables import SENTENCE_BOUNDS, SENTENCE_KEYS, SENTENCE_SCHEMAS, SENTENCE_SORT
from probing.store.tables.columns import ordered, table_schema

#: Raised when a table gets another version; earlier versions of the program refuse its files by name.
SCHEMA_VERSION = 2
#: Kinds of runs.
FACTS, EDGES, SENTENCES, CHANGES = "facts", "edges", "sentences", "changes"
#: Kind of run -> its table of files, of those that are not on facts.
OF_KIND = {EDGES: "edge_runs", SENTENCES: "sentence_runs", CHANGES: "change_runs"}


_TEXT = pa.string()
_OF_COUNTS = dict.fromkeys(["run_id", "relation", "exposure"], _TEXT) | {"answer_in_subject": pa.bool_()}
_RUNS = ordered(
    table_schema(
        dict.fromkeys(["run_id", "model", "head", "role", "template_set", "probe_set", "tokenizer", "config"], _TEXT)
        | {
            "seed": pa.int64(),
            "top_k": pa.uint32(),
            "layers": pa.uint8(),
            "n_read": pa.uint32(),
            "n_probed": pa.uint32(),
        },
        dict.fromkeys(["model_revision", "base", "objective", "left_out", "dtype", "device", "code_version", "created"], _TEXT),
    ),
    "run_id model model_revision base objective head seed role template_set top_k probe_set layers n_read n_probed "
    "left_out tokenizer dtype device code_version created config",
)

#: Table name -> its columns in order. Ranks count from 1; log-probabilities are natural logarithms; layer 0 is the embeddings.
#: ``predictions.other_rank`` is the rank with the swapped subject: of the same answer at the prompt of the fact that ``lenders`` names;
#: runs up to version 0.2 have no ``lenders``, and compact runs no swapped subject.
#: ``runs`` has the runs on facts: their provenance, the facts that were asked, and in ``config`` what the run's id is the hash of.
#: ``swapped_counts`` and ``inner_counts`` are what a compact run lacks, counted in another run of the same question (``swapped_runs``, with
#: that run's id and configuration): by layer, of the ``n`` facts that have a swapped subject, how many have rank <= k with their own
#: subject, with the swapped one, with both; and the same of what inner layers find among the facts that the last layer misses with both.
#: ``counted_runs`` are runs on facts of which counts alone are kept: as ``runs``, without a row of ``predictions``. Their counts are in
#: ``layer_counts``, ``total_counts``, ``against_counts``, ``swapped_counts`` and ``inner_counts``, as ``store.knowledge.counted_tables``
#: makes them from predictions. A run that has a row in ``runs`` is not read from them.
#: ``head_training`` has a trained head's validation losses: by the logit lens (empty if it began at random), at the start of the
#: training, and at its best point; the steps that were taken; and the seconds on the machine that trained it, without the encoder's pass.
#: ``weight_drift.drift`` is the Frobenius norm of what fine-tuning changed in a layer, over that of the base's layer, 0 or more.
#: ``vocabulary.text`` is ``token`` as a reader writes it, ``starts_word`` whether it begins a word; both come from the tokenizer.
#: ``tasks`` holds what a fine-tuned model reaches on its own task (0 to 1, a correlation -1 to 1) with ``chance``, if it is known:
#: the value of what ``chance_name`` names, which is a baseline or a comparison such as BM25; ``core.tasks.learned`` decides which.
SCHEMAS: dict[str, pa.Schema] = (
    {
        "predictions": ordered(
            table_schema(
                {
                    "run_id": _TEXT,
                    "fact_id": _TEXT,
                    "layer": pa.uint8(),
                    "gold_rank": pa.uint32(),
                    "answer_rank": pa.uint32(),
                    "gold_logp": pa.float32(),
                    "top_ids": pa.list_(pa.uint32()),
                    "top_logp": pa.list_(pa.float32()),
                },
                {"other_rank": pa.uint32()},
            ),
            "run_id fact_id layer gold_rank answer_rank other_rank gold_logp top_ids top_logp",
        ),
        "facts": ordered(
            table_schema(
                dict.fromkeys(["fact_id", "probe_set", "relation", "subject", "object", "prompt"], _TEXT)
                | {"answer_in_subject": pa.bool_()},
                dict.fromkeys(["template", "template_set", "pred"], _TEXT),
            ),
            "fact_id probe_set relation subject object prompt template template_set answer_in_subject pred",
        ),
        "relations": table_schema({"relation": _TEXT, "probe_set": _TEXT}, {"label": _TEXT, "cardinality": _TEXT}),
        "runs": _RUNS,
        "counted_runs": _RUNS,
        "lenders": table_schema({"run_id": _TEXT, "fact_id": _TEXT, "lender_id": _TEXT}),
        "swapped_runs": table_schema(dict.fromkeys(["run_id", "counted_by", "config"], _TEXT), dict.fromkeys(["device", "created"], _TEXT)),
        "swapped_counts": table_schema(
            _OF_COUNTS
            | {"layer": pa.uint8(), "n": pa.uint32()}
            | {f"{side}_{k}": pa.uint32() for side in ("own", "swapped", "both") for k in (1, 10, 100)}
        ),
        "inner_counts": table_schema(
            _OF_COUNTS | {"k": pa.uint8()} | dict.fromkeys(["n", "own", "swapped", "own_and_swapped"], pa.uint32())
        ),
        "layer_counts": table_schema(
            _OF_COUNTS
            | {"layer": pa.uint8()}
            | dict.fromkeys(["n", "hits_1", "hits_10", "hits_100"], pa.uint32())
            | dict.fromkeys(["sum_reciprocal_rank", "sum_squared_reciprocal_rank"], pa.float64())
            | {"answer_hits_1": pa.uint32(), "sum_answer_reciprocal_rank": pa.float64()}
        ),
        "total_counts": table_schema(
            _OF_COUNTS
            | {"n": pa.uint32()}
            | {f"{where}_{k}": pa.uint32() for where in ("last", "any") for k in (1, 10, 100)}
            | {"majority_hits": pa.uint32(), "answers": pa.uint32()}
        ),
        "against_counts": table_schema(
            _OF_COUNTS | {"layer": pa.uint8(), "k": pa.uint8()} | dict.fromkeys(["both", "inner_only", "last_only", "neither"], pa.uint32())
        ),
        "vocabulary": table_schema({"tokenizer": _TEXT, "id": pa.uint32(), "token": _TEXT, "text": _TEXT, "starts_word": pa.bool_()}),
        "exposure": table_schema({"model": _TEXT, "fact_key": _TEXT, "exposure": _TEXT}),
        "weight_drift": table_schema(
            {"model": _TEXT, "base": _TEXT, "layer": pa.uint8(), "drift": pa.float32(), "parameters": pa.uint32()}
        ),
        "head_training": ordered(
            table_schema(
                {"model": _TEXT, "head": _TEXT, "seed": pa.int64(), "layer": pa.uint8(), "recipe": _TEXT, "steps": pa.uint32()}
                | dict.fromkeys(["start_loss", "loss"], pa.float64()),
                dict.fromkeys(["lens_loss", "seconds"], pa.float64()),
            ),
            "model head seed layer lens_loss start_loss loss steps seconds recipe",
        ),
        "tasks": ordered(
            table_schema(
                dict.fromkeys(["model", "base", "objective", "metric"], _TEXT) | {"value": pa.float64(), "n": pa.uint32()},
                {"chance": pa.float64(), "chance_name": _TEXT},
            ),
            "model base objective metric value chance chance_name n",
        ),
    }
    | EDGE_SCHEMAS
    | SENTENCE_SCHEMAS
    | CHANGE_SCHEMAS
)

#: Table name -> the version that its files are written with, raised when a column is added, removed or changes its meaning. A file of
#: an earlier version is read by ``store.migration`` if there is a step from it, else refused by name.
VERSIONS: dict[str, int] = dict.fromkeys(SCHEMAS, 1) | {"vocabulary": 2}

#: Table name -> the columns that identify a row.
KEYS: dict[str, tuple[str, ...]] = (
    {
        "predictions": ("run_id", "fact_id", "layer"),
        "facts": ("fact_id",),
        "relations": ("probe_set", "relation"),
        "runs": ("run_id",),
        "counted_runs": ("run_id",),
        "lenders": ("run_id", "fact_id"),
        "swapped_runs": ("run_id",),
        "swapped_counts": ("run_id", "relation", "exposure", "answer_in_subject", "layer"),
        "inner_counts": ("run_id", "relation", "exposure", "answer_in_subject", "k"),
        "layer_counts": ("run_id", "relation", "exposure", "answer_in_subject", "layer"),
        "total_counts": ("run_id", "relation", "exposure", "answer_in_subject"),
        "against_counts": ("run_id", "relation", "exposure", "answer_in_subject", "layer", "k"),
        "vocabulary": ("tokenizer", "id"),
        "exposure": ("model", "fact_key"),
        "weight_drift": ("model", "layer"),
        "head_training": ("model", "head", "seed", "recipe", "layer"),
        "tasks": ("model", "metric", "chance_name"),
    }
    | EDGE_KEYS
    | SENTENCE_KEYS
    | CHANGE_KEYS
)

#: Table name -> the order of rows in a file: that of its key, unless it is named here. If columns are equal, the writer's order
#: stays: of a run's predictions the writer chooses layer by layer or fact by fact, whichever is smaller; no reader relies on either.
SORT: dict[str, tuple[str, ...]] = (
    KEYS
    | {
        "predictions": ("run_id",),
        "facts": ("probe_set", "relation", "subject", "object", "fact_id"),
        "runs": ("model", "probe_set", "head", "template_set", "seed", "run_id"),
        "counted_runs": ("model", "probe_set", "head", "template_set", "seed", "run_id"),
    }
    | EDGE_SORT
    | SENTENCE_SORT
    | CHANGE_SORT
)

#: Table name -> column -> its minimum and maximum; in these columns only finite numbers are possible.
BOUNDS: dict[str, dict[str, tuple[float, float]]] = (
    {"tasks": {"value": (-1.0, 1.0), "chance": (0.0, 1.0)}} | EDGE_BOUNDS | SENTENCE_BOUNDS | CHANGE_BOUNDS
)

_SQL_TYPES = {
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.uint8(): "UTINYINT",
    pa.uint32(): "UINTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.list_(pa.string()): "VARCHAR[]",
    pa.list_(pa.uint8()): "UTINYINT[]",
    pa.list_(pa.uint32()): "UINTEGER[]",
    pa.list_(pa.float32()): "FLOAT[]",
}


def create_statement(table_name: str, schema: pa.Schema, temporary: bool = False) -> str:
    """The SQL that creates an empty table with the columns of a schema."""
    columns = ", ".join(f'"{field.name}" {_SQL_TYPES[field.type]}' for field in schema)
    return f"CREATE {'TEMP ' * temporary}TABLE {table_name} ({columns})"
