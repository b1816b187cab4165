"""The runs of edge probing."""

from probing.edges import tables
from probing.edges.kind import RULES, SCANS
from probing.edges.requests_run import EdgeRunConfig
from probing.edges.store import edge_runs
from probing.edges.store_counting import count_edges
from probing.edges.tasks import EDGE_TASKS
from probing.kernel.store.kinds import Kind

EDGES = Kind(
    "edges",
    EdgeRunConfig,
    tables.TABLES,
    RULES,
    SCANS,
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
