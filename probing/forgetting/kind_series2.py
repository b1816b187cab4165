"""The runs that follow a training state by state."""

from probing.forgetting import kind_series as rules
from probing.forgetting import tables_series as tables
from probing.forgetting.store_series_queries import series_runs
from probing.forgetting.ways_series_run import SeriesRunConfig
from probing.kernel.store.kinds_kinds import Kind

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
