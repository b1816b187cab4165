"""The runs that ask for facts that fine-tuning lost."""

from probing.core.forgetting.run import ForgettingRunConfig
from probing.store.forgetting.queries import forgetting_runs
from probing.store.kinds import Kind
from probing.store.rules import forgetting as rules
from probing.store.tables import forgetting as tables

FORGETTING = Kind(
    "forgetting",
    ForgettingRunConfig,
    tables.TABLES,
    rules.RULES,
    rules.SCANS,
    about=tables.__doc__,
    listed=forgetting_runs,
    command="forgetting recover",
    title="recoveries of lost facts",
    line="forgetting {against}{probe_set} {template_set}, rank <= {k}: {lost:,} of {known:,} known facts lost{left}",
)
