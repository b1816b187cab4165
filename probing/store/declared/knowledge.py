"""The runs on facts."""

from probing.core.knowledge.run import RunConfig
from probing.store.kinds import FACTS as NAME
from probing.store.kinds import Kind
from probing.store.knowledge.counting import count_facts
from probing.store.rules import knowledge as rules
from probing.store.run_queries import runs
from probing.store.tables import knowledge as tables

FACTS = Kind(
    NAME,
    RunConfig,
    tables.TABLES,
    rules.RULES,
    rules.SCANS,
    about=tables.__doc__,
    listed=runs,
    command="probe",
    title="runs",
    counts=count_facts,
    counted_from=("predictions", "facts", "vocabulary", "exposure"),
    needs=("layer_counts", "total_counts"),
    line=(
        "{head:<13} {probe_set:<12} {template_set:<10} read {n_read:,} = probed {n_probed:,} + left out"
        " ({left_out}){only}"
    ),
)
