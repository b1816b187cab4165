"""The runs that measure what fine-tuning changed."""

from probing.changes import tables
from probing.changes.kind import RULES, SCANS
from probing.changes.measures_run import ChangeRunConfig
from probing.changes.store import change_runs
from probing.kernel.store.kinds import Kind

#: Shared with the runs on whole sentences.
CHANGES = Kind(
    "changes",
    ChangeRunConfig,
    tables.TABLES,
    RULES,
    SCANS,
    about=tables.__doc__,
    listed=change_runs,
    command="changes measure",
    title="changes",
    line="changes {against}{sentences:,} sentences, {blocks:,} blocks, seed {seed}",
)
