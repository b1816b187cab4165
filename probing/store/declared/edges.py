"""The runs of edge probing."""

from probing.core.edges.run import EdgeRunConfig
from probing.core.edges.tasks import EDGE_TASKS
from probing.store.edges.counting import count_edges
from probing.store.edges.queries import edge_runs
from probing.store.kinds import Card, Kind
from probing.store.rules import edges as rules
from probing.store.tables import edges as tables

EDGES = Kind(
    "edges",
    EdgeRunConfig,
    tables.TABLES,
    rules.RULES,
    rules.SCANS,
    about=tables.__doc__,
    listed=edge_runs,
    command="edges train",
    title="probes",
    open_tasks=dict.fromkeys(EDGE_TASKS, True),
    counts=count_edges,
    counted_from=("edge_predictions", "edge_targets", "edge_labels"),
    needs=("edge_scores",),
    line="edges {task:<18} {kind} probes, {encoder} encoder, {labels} labels, seed {seed}",
    card=Card(
        title="Edge probing of every layer of {name}",
        about=(
            "Probes predict labels of spans of words from frozen layers (Tenney et al. 2019): true and false positives"
            " and negatives by layer and label, mixing weights, code lengths, and the predictions for single targets"
            " where they are stored."
        ),
        tags=("edge-probing",),
        first=("edge_scores",),
        of_runs=" of `edge_runs`.",
        columns={"task": "task", "probes": "kind"}
        | {name: name for name in ("encoder", "labels", "seed", "layers", "width")},
        named="Sentences whose words may not be published are named by the sha256 of their text.",
    ),
)
