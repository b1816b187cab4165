"""The tables of edge probing.

A *run* is a series of probes of one task on one encoder: for a kind ``cumulative`` or ``at`` one probe for each layer
0..L, for ``full`` one for the mix of all layers, stored as layer L. Columns named ``layer`` are that l. Counts are
additive: whatever a page shows of a run is arithmetic on ``edge_scores``, ``edge_mix``, ``edge_codes`` and
``edge_predictions``.

Gold labels that training does not have, and that F1 would count, are counted as missed, under one further label, the
last, which has no training target in ``edge_labels`` (n = 0); without such gold labels it does not exist. A run with
control labels has scores and no predictions, as no stored target has its labels. Rows of ``edge_mix`` above a probe's
layer may exist, with weight 0, or not.
"""

from probing.edges.targets import KINDS, LABELS, OWN, PARTS
from probing.kernel.provenance import ENCODERS
from probing.kernel.store.columns import (
    LAYER,
    LAYERS,
    LEFT_OUT,
    MADE,
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
)

_TASK = text("task", "name of the task")
#: All parts of a task's data: one of the user's own sentences has predictions and no scores.
_PART = text("part", "part of the task's data", (*PARTS, OWN))
_SCORED = text("part", "part of the task's data", PARTS)
_SEEN = flag("seen", "whether the text of the span (of both spans) occurs in training")
_LABEL = count("label", "number of a label of the task")
_COUNTS = (
    count("tp", "targets that have the label and were predicted to"),
    count("fp", "targets that were predicted to have it and do not"),
    count("fn", "targets that have it and were not predicted to"),
    count("tn", "targets that neither have it nor were predicted to"),
)
#: Probabilities are stored in steps of 1/255.
_STEPS = "in steps of 1/255"

TABLES = (
    Table(
        "edge_tasks",
        "One part of a task's data: train, dev, test, and own.",
        "task part",
        (
            _TASK,
            _PART,
            text("title", "name of the task for readers"),
            text("source", "the data sets"),
            text("sha256", "of the part's records"),
            text("licence", "of the data"),
            small("spans", "spans per target", 1, 2),
            count("sentences", "number of sentences"),
            count("records", "number of records"),
            count("targets", "number of targets"),
            count("labels", "number of gold labels"),
            count("unseen_labels", "gold labels, with repeats, that training does not have"),
            real(
                "ceiling", "micro F1 of the best answers that equal inputs allow; empty if no label counts", 0, 1
            ).or_empty(),
            text("dropped", "JSON of what was dropped: reason -> number"),
        ),
        per="task",
    ),
    Table(
        "edge_labels",
        "One label of a task.",
        "task label",
        (
            _TASK,
            _LABEL,
            text("name", "the label"),
            flag("counts", "whether F1 counts it"),
            count("n", "training targets that have it"),
        ),
        per="task",
        most_rows=1000,
    ),
    Table(
        "edge_sentences",
        "One sentence of the stored targets.",
        "task part sentence",
        (
            _TASK,
            _PART,
            count("sentence", "number of the sentence"),
            text("text_sha256", "sha256 of its text"),
            text("text", "its words, separated by blanks; empty if the licence forbids it").or_empty(),
            text("document", "the document that it is from").or_empty(),
        ),
        per="task",
    ),
    Table(
        "edge_targets",
        "One target of which predictions are stored; spans are half-open, in words.",
        "task part target",
        (
            _TASK,
            _PART,
            count("target", "number of the target"),
            count("sentence", "number of its sentence"),
            count("start1", "first word of its span"),
            count("end1", "the word after it"),
            count("start2", "the same of the second span, if it has two").or_empty(),
            count("end2", "the word after that").or_empty(),
            several(count("gold", "numbers of its gold labels")),
            count("unknown_gold", "further gold labels that F1 would count and training does not have"),
            several(count("memory", "the answer of the memory baseline")),
            _SEEN,
        ),
        per="task",
    ),
    Table(
        "edge_baselines",
        "Counts of a baseline for one label.",
        "task part baseline seen label",
        (
            _TASK,
            _SCORED,
            text(
                "baseline",
                "memory, majority, or of targets with several labels memory-each",
                ("memory", "majority", "memory-each"),
            ),
            _SEEN,
            _LABEL,
            *_COUNTS,
        ),
        per="task",
    ),
    Table(
        "edge_runs",
        "One run of edge probing.",
        "run_id",
        (
            *RUN,
            _TASK,
            text("kind", "kind of its probes", KINDS),
            text("encoder", "the trained model, or one with random weights", ENCODERS),
            text("labels", "gold labels, or those of the control task", LABELS),
            SEED,
            LAYERS,
            count("width", "size of a hidden state", 1),
            flag("codes", "whether the online code was computed"),
            LEFT_OUT,
            *MADE,
        ),
        per="run_id",
        sort="model task encoder kind labels seed run_id",
    ),
    Table(
        "edge_scores",
        "Counts of a probe for one label.",
        "run_id layer part seen label",
        (RUN_ID, LAYER, _SCORED, _SEEN, _LABEL, *_COUNTS),
        per="run_id",
    ),
    Table(
        "edge_mix",
        "The share of one layer in the mix of a probe.",
        "run_id layer of_layer",
        (
            RUN_ID,
            LAYER,
            small("of_layer", "the layer that is mixed"),
            real("weight", "its weight", 0, 1),
            real("gamma", "scale of the mix"),
            real("norm", "mean norm of that layer's states", 0),
        ),
        per="run_id",
    ),
    Table(
        "edge_codes",
        "The online code of one portion of the training data.",
        "run_id layer portion",
        (
            RUN_ID,
            LAYER,
            small("portion", "number of the portion, from 0"),
            count("targets", "targets in it"),
            real("bits", "code length of its labels", 0),
            real("uniform", "that of the uniform code", 0),
        ),
        per="run_id",
    ),
    Table(
        "edge_training",
        "The training of one probe.",
        "run_id layer",
        (
            RUN_ID,
            LAYER,
            count("steps", "steps that were taken"),
            count("best_step", "the step that was kept"),
            real("best", "its F1 on dev, which also stopped it", 0, 1),
            real("rate", "learning rate", 0, 1000),
            flag("stopped", "whether dev stopped it"),
        ),
        per="run_id",
    ),
    Table(
        "edge_predictions",
        "One target at one layer; normalised p is ``p / p_sum``.",
        "run_id part target layer",
        (
            RUN_ID,
            _PART,
            count("target", "number of the target"),
            LAYER,
            several(count("predicted", "numbers of the labels with p >= 0.5")),
            count("top", "the most probable label"),
            small("p_top", f"its p {_STEPS}"),
            several(count("p_gold", f"p of each gold label {_STEPS}", 0, 255)),
            count(
                "wrong", "the wrong label with the greatest mean of normalised p over all layers, one for all layers"
            ),
            small("p_wrong", f"its p {_STEPS}"),
            count("p_sum", f"sum over all labels {_STEPS}"),
        ),
        per="run_id",
        many=True,
    ),
    Table(
        "edge_sentence_counts",
        "Counts of one sentence at one layer, of the labels that F1 counts; of runs whose predictions are stored.",
        "run_id part sentence seen layer",
        (
            RUN_ID,
            _PART,
            count("sentence", "number of the sentence"),
            _SEEN,
            LAYER,
            count("tp", "gold labels that were predicted"),
            count("fp", "other labels that were predicted"),
            count("fn", "gold labels that were not predicted"),
            count("targets", "number of targets"),
        ),
        per="run_id",
        many=True,
    ),
    Table(
        "edge_traces",
        "How the answers for one target change from layer to layer, as ``edges.words`` defines.",
        "run_id part target",
        (
            RUN_ID,
            _PART,
            count("target", "number of the target"),
            small(
                "settled", "the layer from which the most probable label stays right; empty if the last layer is wrong"
            ).or_empty(),
            small("revisions", "how often the most probable label changes"),
            real("strongest_mean", "the greatest mean of normalised p over the layers", 0, 1),
        ),
        per="run_id",
        many=True,
    ),
)
