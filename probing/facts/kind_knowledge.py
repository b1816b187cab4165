"""The runs on facts."""

from probing.facts import tables
from probing.facts.counts import count_facts
from probing.facts.kind import RULES, SCANS
from probing.facts.requests_run import RunConfig
from probing.facts.store import runs
from probing.kernel.store.kinds import FACTS as NAME
from probing.kernel.store.kinds import Kind

FACTS = Kind(
    NAME,
    RunConfig,
    tables.TABLES,
    RULES,
    SCANS,
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
