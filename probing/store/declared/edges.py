"""The runs of edge probing."""

from probing.core.edges.run import EdgeRunConfig
from probing.core.edges.tasks import EDGE_TASKS
from probing.store.edges.counting import count_edges
from probing.store.edges.queries import edge_runs
from probing.store.kinds import Kind
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
)
