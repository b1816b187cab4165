"""The runs that follow a training state by state."""

from probing.core.forgetting.series_run import SeriesRunConfig
from probing.store.forgetting.series_queries import series_runs
from probing.store.kinds import Card, Kind
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
    card=Card(
        title="Facts that the trainings of {name} lost, state by state",
        about=(
            "States of a training were asked for the same facts at every layer: which are kept, lost, returned and"
            " gained since the first state, the model before the training."
        ),
        tags=("fine-tuning", "factual-knowledge"),
        first=("series_counts",),
        of_runs=" of `series_runs`. Facts are named by the hash of their text.",
        columns={"facts": "probe_set", "asked": "facts", "states": "states", "layers": "layers"},
    ),
    listed=series_runs,
    command="series follow",
    title="series",
    line="series {against}{states:,} states of a training, {facts:,} facts of {probe_set}",
)
