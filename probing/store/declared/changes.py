"""The runs that measure what fine-tuning changed."""

from probing.core.changes.run import ChangeRunConfig
from probing.store.changes.queries import change_runs
from probing.store.kinds import Kind
from probing.store.rules import changes as rules
from probing.store.tables import changes as tables

#: Shared with the runs on whole sentences.
CHANGES = Kind(
    "changes",
    ChangeRunConfig,
    tables.TABLES,
    rules.RULES,
    rules.SCANS,
    about=tables.__doc__,
    listed=change_runs,
    command="changes measure",
    title="changes",
    line="changes {against}{sentences:,} sentences, {blocks:,} blocks, seed {seed}",
)
