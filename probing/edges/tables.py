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

from probing.edges import targets as target
from probing.edges import targets_encoders as encoders
from probing.kernel.store import columns as col

_TASK = col.text("task", "name of the task")
#: All parts of a task's data: one of the user's own sentences has predictions and no scores.
_PART = col.text("part", "part of the task's data", (*target.PARTS, target.OWN))
_SCORED = col.text("part", "part of the task's data", target.PARTS)
_SEEN = col.flag("seen", "whether the text of the span (of both spans) occurs in training")
_LABEL = col.count("label", "number of a label of the task")
_COUNTS = (
    col.count("tp", "targets that have the label and were predicted to"),
    col.count("fp", "targets that were predicted to have it and do not"),
    col.count("fn", "targets that have it and were not predicted to"),
    col.count("tn", "targets that neither have it nor were predicted to"),
)
#: Probabilities are stored in steps of 1/255.
_STEPS = "in steps of 1/255"

TABLES = (
    col.Table(
        "edge_tasks",
        "One part of a task's data: train, dev, test, and own.",
        "task part",
        (
            _TASK,
            _PART,
            col.text("title", "name of the task for readers"),
            col.text("source", "the data sets"),
            col.text("sha256", "of the part's records"),
            col.text("licence", "of the data"),
            col.small("spans", "spans per target", 1, 2),
            col.count("sentences", "number of sentences"),
            col.count("records", "number of records"),
            col.count("targets", "number of targets"),
            col.count("labels", "number of gold labels"),
            col.count("unseen_labels", "gold labels, with repeats, that training does not have"),
            col.real(
                "ceiling", "micro F1 of the best answers that equal inputs allow; empty if no label counts", 0, 1
            ).or_empty(),
            col.text("dropped", "JSON of what was dropped: reason -> number"),
        ),
        per="task",
    ),
    col.Table(
        "edge_labels",
        "One label of a task.",
        "task label",
        (
            _TASK,
            _LABEL,
            col.text("name", "the label"),
            col.flag("counts", "whether F1 counts it"),
            col.count("n", "training targets that have it"),
        ),
        per="task",
        most_rows=1000,
    ),
    col.Table(
        "edge_sentences",
        "One sentence of the stored targets.",
        "task part sentence",
        (
            _TASK,
            _PART,
            col.count("sentence", "number of the sentence"),
            col.text("text_sha256", "sha256 of its text"),
            col.text("text", "its words, separated by blanks; empty if the licence forbids it").or_empty(),
            col.text("document", "the document that it is from").or_empty(),
        ),
        per="task",
    ),
    col.Table(
        "edge_targets",
        "One target of which predictions are stored; spans are half-open, in words.",
        "task part target",
        (
            _TASK,
            _PART,
            col.count("target", "number of the target"),
            col.count("sentence", "number of its sentence"),
            col.count("start1", "first word of its span"),
            col.count("end1", "the word after it"),
            col.count("start2", "the same of the second span, if it has two").or_empty(),
            col.count("end2", "the word after that").or_empty(),
            col.several(col.count("gold", "numbers of its gold labels")),
            col.count("unknown_gold", "further gold labels that F1 would count and training does not have"),
            col.several(col.count("memory", "the answer of the memory baseline")),
            _SEEN,
        ),
        per="task",
    ),
    col.Table(
        "edge_baselines",
        "Counts of a baseline for one label.",
        "task part baseline seen label",
        (
            _TASK,
            _SCORED,
            col.text(
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
    col.Table(
        "edge_runs",
        "One run of edge probing.",
        "run_id",
        (
            *col.RUN,
            _TASK,
            col.text("kind", "kind of its probes", encoders.KINDS),
            col.text("encoder", "the trained model, or one with random weights", encoders.ENCODERS),
            col.text("labels", "gold labels, or those of the control task", encoders.LABELS),
            col.SEED,
            col.LAYERS,
            col.count("width", "size of a hidden state", 1),
            col.flag("codes", "whether the online code was computed"),
            col.LEFT_OUT,
            *col.MADE,
        ),
        per="run_id",
        sort="model task encoder kind labels seed run_id",
    ),
    col.Table(
        "edge_scores",
        "Counts of a probe for one label.",
        "run_id layer part seen label",
        (col.RUN_ID, col.LAYER, _SCORED, _SEEN, _LABEL, *_COUNTS),
        per="run_id",
    ),
    col.Table(
        "edge_mix",
        "The share of one layer in the mix of a probe.",
        "run_id layer of_layer",
        (
            col.RUN_ID,
            col.LAYER,
            col.small("of_layer", "the layer that is mixed"),
            col.real("weight", "its weight", 0, 1),
            col.real("gamma", "scale of the mix"),
            col.real("norm", "mean norm of that layer's states", 0),
        ),
        per="run_id",
    ),
    col.Table(
        "edge_codes",
        "The online code of one portion of the training data.",
        "run_id layer portion",
        (
            col.RUN_ID,
            col.LAYER,
            col.small("portion", "number of the portion, from 0"),
            col.count("targets", "targets in it"),
            col.real("bits", "code length of its labels", 0),
            col.real("uniform", "that of the uniform code", 0),
        ),
        per="run_id",
    ),
    col.Table(
        "edge_training",
        "The training of one probe.",
        "run_id layer",
        (
            col.RUN_ID,
            col.LAYER,
            col.count("steps", "steps that were taken"),
            col.count("best_step", "the step that was kept"),
            col.real("best", "its F1 on dev, which also stopped it", 0, 1),
            col.real("rate", "learning rate", 0, 1000),
            col.flag("stopped", "whether dev stopped it"),
        ),
        per="run_id",
    ),
    col.Table(
        "edge_predictions",
        "One target at one layer; normalised p is ``p / p_sum``.",
        "run_id part target layer",
        (
            col.RUN_ID,
            _PART,
            col.count("target", "number of the target"),
            col.LAYER,
            col.several(col.count("predicted", "numbers of the labels with p >= 0.5")),
            col.count("top", "the most probable label"),
            col.small("p_top", f"its p {_STEPS}"),
            col.several(col.count("p_gold", f"p of each gold label {_STEPS}", 0, 255)),
            col.count(
                "wrong", "the wrong label with the greatest mean of normalised p over all layers, one for all layers"
            ),
            col.small("p_wrong", f"its p {_STEPS}"),
            col.count("p_sum", f"sum over all labels {_STEPS}"),
        ),
        per="run_id",
        many=True,
    ),
    col.Table(
        "edge_sentence_counts",
        "Counts of one sentence at one layer, of the labels that F1 counts; of runs whose predictions are stored.",
        "run_id part sentence seen layer",
        (
            col.RUN_ID,
            _PART,
            col.count("sentence", "number of the sentence"),
            _SEEN,
            col.LAYER,
            col.count("tp", "gold labels that were predicted"),
            col.count("fp", "other labels that were predicted"),
            col.count("fn", "gold labels that were not predicted"),
            col.count("targets", "number of targets"),
        ),
        per="run_id",
        many=True,
    ),
    col.Table(
        "edge_traces",
        "How the answers for one target change from layer to layer, as ``edges.words`` defines.",
        "run_id part target",
        (
            col.RUN_ID,
            _PART,
            col.count("target", "number of the target"),
            col.small(
                "settled", "the layer from which the most probable label stays right; empty if the last layer is wrong"
            ).or_empty(),
            col.small("revisions", "how often the most probable label changes"),
            col.real("strongest_mean", "the greatest mean of normalised p over the layers", 0, 1),
        ),
        per="run_id",
        many=True,
    ),
)
