"""The runs that follow a training state by state."""

from probing.core.forgetting.series_run import SeriesRunConfig
from probing.store.forgetting.series_queries import series_runs
from probing.store.kinds import Kind
from probing.store.rules import series as rules
from probing.store.tables import series as tables

#: Shared with the runs that ask for lost facts.
SERIES = Kind(
    "series",
    SeriesRunConfig,
    tables.TABLES,
    rules.RULES,
    rules.SCANS,
    about=tables.__doc__,
    listed=series_runs,
    command="series follow",
    title="series",
    line="series {against}{states:,} states of a training, {facts:,} facts of {probe_set}",
)
