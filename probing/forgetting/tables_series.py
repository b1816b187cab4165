"""The tables of series: the states of one training, asked for the same facts at every layer.

The first state is the model before the training. Of the facts that it knows, each is *kept* (known at every state
since), *lost* (not known now) or *returned* (known now, but not at every state since); a fact that it does not know is
*gained* if it is known now.
"""

import pyarrow as pa

from probing.forgetting.series_rank_buckets import ENDS, KNOWN_UP_TO
from probing.kernel.store.columns import (
    LAYER,
    LAYERS,
    LEFT_OUT,
    MADE,
    MOST_ROWS,
    RUN,
    RUN_ID,
    Column,
    Table,
    count,
    flag,
    real,
    several,
    small,
    text,
    whole,
)

TABLES = (
    Table(
        "series_runs",
        "One training whose states were asked for facts.",
        "run_id",
        (
            *RUN,
            text("variant", "the same for trainings that differ by their seed alone"),
            whole("tuned_seed", "seed of the training").or_empty(),
            text("protection", "what the training did against forgetting").or_empty(),
            text("probe_set", "the set of facts"),
            text("template_set", "the templates of its prompts"),
            LAYERS,
            count("states", "states that were asked, the model before the training among them", 1),
            count("facts", "facts that were asked", 1),
            LEFT_OUT,
            *MADE,
        ),
        per="run_id",
        sort="model run_id",
    ),
    Table(
        "series_steps",
        "What is known of a training at one step: a state that was asked, or a loss or score that was logged.",
        "run_id step",
        (
            RUN_ID,
            count("step", "training steps; 0: before the training"),
            flag("asked", "whether the state was asked for facts"),
            real("loss", "mean training loss since the entry before").or_empty(),
            real("score", "score on the task").or_empty(),
            text("metric", "name of the score").or_empty(),
        ),
        per="run_id",
    ),
    Table(
        "series_counts",
        "Numbers of facts of one relation at one state and layer.",
        "run_id step layer relation k",
        (
            RUN_ID,
            count("step", "training steps"),
            LAYER,
            text("relation", "name of the relation"),
            Column("k", pa.uint8(), "a fact is known at k with rank <= k", among=tuple(KNOWN_UP_TO)),
            count("asked", "facts"),
            count("known", "of them known"),
            count("kept", "known before the training and at every state since"),
            count("lost", "known before the training, not now"),
            count("returned", "known before the training and now, but not at every state since"),
            count("gained", "not known before the training, but now"),
            count("paired", "facts with a swapped subject"),
            count("own", "of them known"),
            count("swapped", "of them answered rightly with the swapped subject"),
            count("before_paired", "as ``paired``, of the facts known before the training"),
            count("before_own", "as ``own``, of the facts known before the training"),
            count("before_swapped", "as ``swapped``, of the facts known before the training"),
        ),
        per="run_id",
        ascending=(
            "own paired asked",
            "own known asked",
            "swapped paired",
            "before_own before_paired",
            "before_swapped before_paired",
        ),
    ),
    Table(
        "series_facts",
        "A fact whose answer is among the first ten at the last layer of some state, with the buckets of its ranks.",
        "run_id fact_id",
        (
            RUN_ID,
            text("fact_id", "hash of the fact"),
            several(
                small(
                    "buckets",
                    "bucket of the rank at every state and layer, the layers of a state together; bucket n ends at the"
                    f" n-th of the ranks {', '.join(map(str, ENDS))}, counted from 0",
                    0,
                    len(ENDS),
                )
            ),
        ),
        per="run_id",
        longest=MOST_ROWS,
    ),
)
