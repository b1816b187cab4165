"""The tables of sentence-level probing.

A *run* is all probes of one model on one task by one protocol: for every pooling, layer 0..L and reading one probe, or
one for each ``portion`` of the training sentences (1: all of them, 4: a quarter; the learning curve). The reading
``frozen`` is of fine-tuned models only. Numbers on pages are arithmetic on ``sentence_scores`` and ``sentence_pairs``,
both additive counts; ``sentence_predictions`` may be left out, of a whole run or of some kinds of probes (pooling,
reading, portion). If they are stored, both are recomputed from them.

Fine-tuned models that differ by the seed of their fine-tuning alone have the same ``variant``: the first 12 digits of
the sha256 of the recipe without its seed (empty for a model without a recipe). The one with the smallest seed
represents them; the others give the spread.
"""

import pyarrow as pa

from probing.kernel.store.columns import (
    LAYER,
    LAYERS,
    LEFT_OUT,
    MADE,
    MOST_ROWS,
    RUN,
    RUN_ID,
    SEED,
    Column,
    Table,
    count,
    real,
    several,
    small,
    text,
    whole,
)
from probing.sentences.examples import POOLINGS, PROTOCOLS, READINGS

_TASK, _PROTOCOL = (
    text("task", "name of the task"),
    text("protocol", "how its sentences became parts", PROTOCOLS),
)
#: Runs of earlier versions have two further readings; nothing asks for them any more.
_READINGS = (*READINGS, "rescaled", "aligned")
_CELL = (
    RUN_ID,
    text("pooling", "how a sentence becomes one vector", POOLINGS),
    LAYER,
    text("reading", "kind of the probe", _READINGS),
    small("portion", "1: all training sentences, 4: a quarter, 16: a sixteenth", 1),
)
_CELL_KEY = "run_id pooling layer reading portion"

TABLES = (
    Table(
        "sentence_tasks",
        "One task by one protocol.",
        "task protocol",
        (
            _TASK,
            _PROTOCOL,
            text("title", "name of the task for readers"),
            text("level", "surface, syntactic, semantic, discourse or own"),
            text("source", "the data sets"),
            text("licence", "of the data"),
            several(text("labels", "the labels' names in order of number")),
            several(count("n_train_labels", "training sentences that have each label")),
            count("n_train", "training sentences"),
            count("n_dev", "dev sentences"),
            count("n_test", "test sentences"),
            count("majority_right", "test sentences that have the commonest training label"),
            count(
                "surface_right",
                "test sentences that a probe on length, first letter's case, final mark and words has right",
            ),
            text("dropped", "JSON of what was dropped: reason -> number"),
            text("sha256", "of the data"),
        ),
        per="task protocol",
    ),
    Table(
        "sentence_examples",
        "One test sentence, in the order of predictions.",
        "task protocol place",
        (
            _TASK,
            _PROTOCOL,
            count("place", "number of the sentence, from 0"),
            text("example", "first 16 digits of the sha256 of text, pair and label"),
            small("label", "number of its gold label"),
            text("text", "the sentence; empty if the licence forbids it").or_empty(),
            text("pair", "the second sentence, of pairs").or_empty(),
        ),
        per="task protocol",
        withheld=("text", "pair"),
    ),
    Table(
        "sentence_runs",
        "One run of sentence-level probing.",
        "run_id",
        (
            *RUN,
            text("variant", "the same for models that differ by the seed of their fine-tuning alone"),
            whole("tuned_seed", "seed of the fine-tuning").or_empty(),
            _TASK,
            _PROTOCOL,
            SEED,
            LAYERS,
            count("width", "size of a hidden state", 1),
            count("n_test", "test sentences that the model and its base can take"),
            LEFT_OUT,
            *MADE,
        ),
        per="run_id",
        sort="model task protocol seed run_id",
    ),
    Table(
        "sentence_scores",
        "What one probe has right.",
        _CELL_KEY,
        (
            *_CELL,
            count("n_train", "training sentences", 1),
            count("dev_right", "dev sentences that it has right"),
            count("n_dev", "dev sentences"),
            count("right", "test sentences that it has right"),
            count("n_test", "test sentences", 1),
            real("c", "inverse strength of regularisation that dev chose; empty of MLP probes", 0).or_empty(),
            real("code_length", "bits of the online code of the training labels, if it was computed", 0).or_empty(),
        ),
        per="run_id",
    ),
    Table(
        "sentence_pairs",
        "How many test sentences two probes have right. The second is a probe of the run's own model or of its base.",
        f"{_CELL_KEY} with_model with_pooling with_layer with_reading with_portion",
        (
            *_CELL,
            text("with_model", "model of the second probe"),
            text("with_pooling", "its pooling", POOLINGS),
            small("with_layer", "its layer"),
            text("with_reading", "its kind", _READINGS),
            small("with_portion", "its portion", 1),
            count("both", "sentences that both have right"),
            count("only_this", "that only the first has right"),
            count("only_other", "that only the second has right"),
            count("neither", "that neither has right"),
        ),
        per="run_id",
    ),
    Table(
        "sentence_predictions",
        "Predictions of one probe.",
        _CELL_KEY,
        (
            *_CELL,
            Column(
                "predicted",
                pa.list_(pa.uint8()),
                "label numbers; 255 for a sentence that the model or its base cannot take",
            ),
        ),
        per="run_id",
        many=True,
        longest=MOST_ROWS,
    ),
)
