"""The runs that follow a training state by state."""

from probing.forgetting.kind_series import RULES, SCANS
from probing.forgetting.store_series_queries import series_runs
from probing.forgetting.tables_series import TABLES, __doc__
from probing.forgetting.ways_series_run import SeriesRunConfig
from probing.kernel.store.kinds import Kind

#: Shared with the runs that ask for lost facts.
SERIES = Kind(
    "series",
    SeriesRunConfig,
    TABLES,
    RULES,
    SCANS,
    about=__doc__,
    listed=series_runs,
    command="series follow",
    title="series",
    line="series {against}{states:,} states of a training, {facts:,} facts of {probe_set}",
)
