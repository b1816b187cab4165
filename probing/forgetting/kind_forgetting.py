"""The runs that ask for facts that fine-tuning lost."""

from probing.forgetting import tables
from probing.forgetting.kind import RULES, SCANS
from probing.forgetting.store import forgetting_runs
from probing.forgetting.ways_run import ForgettingRunConfig
from probing.kernel.store.kinds import Kind

FORGETTING = Kind(
    "forgetting",
    ForgettingRunConfig,
    tables.TABLES,
    RULES,
    SCANS,
    about=tables.__doc__,
    listed=forgetting_runs,
    command="forgetting recover",
    title="recoveries of lost facts",
    line="forgetting {against}{probe_set} {template_set}, rank <= {k}: {lost:,} of {known:,} known facts lost{left}",
)
