"""The tables of facts that fine-tuning lost, and of the ways by which they come back.

A *run* asks one fine-tuned model for all facts of a probe set that its base knows and it does not. What was asked, with the ways and the
yardsticks, is defined in ``docs/forgetting.md``. The facts' texts are in ``facts``.
"""

from probing.core.forgetting.excess import BINS
from probing.core.forgetting.groups import GROUPS
from probing.core.forgetting.protocols import PROTOCOLS
from probing.core.forgetting.summary import YARDSTICKS
from probing.core.forgetting.ways import NOT_RECOVERED, WAYS
from probing.store.tables import columns as col

#: In the column ``bin``: all bins of confidence.
ALL_BINS = 255

_RELATION = col.text("relation", "relation of the facts")
_WAY = col.text("way", "how the answer comes back", WAYS)
_LEVEL = col.small("level", "training steps; 0 for ways without training, which count at any of their levels")
_PROTOCOL = col.text("protocol", "what is relearned, or by which body", PROTOCOLS)

TABLES = (
    col.Table(
        "forgetting_runs",
        "One fine-tuned model, asked for the facts that its base knows at the last layer.",
        "run_id",
        (
            *col.RUN,
            col.text("probe_set", "the set that the facts are from"),
            col.text("template_set", "the set that the prompts are from"),
            col.small("k", "a fact is known with rank <= k", 1),
            col.SEED,
            col.small("seeds", "seeds of folds, pairs and relearning", 1),
            col.small("folds", "parts of the subjects", 2),
            col.LAYERS,
            col.count("facts", "facts that both models were asked"),
            col.count("known", "facts that the base knows"),
            col.count("kept", "facts of these that the fine-tuned model knows, too"),
            col.count("lost", "facts of these that it does not know"),
            col.LEFT_OUT,
            *col.MADE,
        ),
        per="run_id",
        sort="model probe_set k seed run_id",
    ),
    col.Table(
        "forgetting_relations",
        "How many facts of one relation the base knows, and the fine-tuned model keeps and loses.",
        "run_id relation",
        (
            col.RUN_ID,
            _RELATION,
            col.count("known", "facts that the base knows", 1),
            col.count("kept", "facts that both know"),
            col.count("lost", "facts that only the base knows"),
        ),
        per="run_id",
    ),
    col.Table(
        "forgetting_facts",
        "One lost fact, and how it comes back.",
        "run_id fact_id",
        (
            col.RUN_ID,
            col.text("fact_id", "hash of the fact and its prompt"),
            _RELATION,
            col.text("way", "the cheapest way back", (*WAYS, NOT_RECOVERED)),
            col.small("layer", "the highest layer below the last at which the head reads the answer; empty if there is none").or_empty(),
            col.flag("fitted", "whether the fitted head reads it"),
            col.small("layers_back", "the fewest last layers of the base that bring it back; empty if half of all do not", 1).or_empty(),
            col.small("steps", "the fewest training steps that bring it back in more than half of the seeds", 1).or_empty(),
            col.small("seeds_back", "maximum, over numbers of steps, of the seeds in which relearning brings it back"),
            col.small("bin", "bin of the base's probability of the answer, from 0", 0, BINS - 1),
            col.text("exposure", "how the base's training text states the fact, if that is known").or_empty(),
        ),
        per="run_id",
    ),
    col.Table(
        "forgetting_shares",
        "Share of some facts that come back by one way, with its 95 % interval (subjects and seeds).",
        "run_id way level protocol asked bin",
        (
            col.RUN_ID,
            _WAY,
            _LEVEL,
            _PROTOCOL,
            col.text("asked", "the facts that are asked for", GROUPS),
            col.Column("bin", col.LAYER.type, "bin of the base's probability of the answer; 255 for all", among=(*range(BINS), ALL_BINS)),
            col.count("n", "number of facts", 1),
            col.real("share", "share that comes back", 0, 1),
            col.real("low", "lower end of the interval", 0, 1),
            col.real("high", "upper end of the interval", 0, 1),
        ),
        per="run_id",
    ),
    col.Table(
        "forgetting_excesses",
        "Share of lost facts that come back by one way, and that of a yardstick, with the 95 % interval of the difference.",
        "run_id way level protocol yardstick relation",
        (
            col.RUN_ID,
            _WAY,
            _LEVEL,
            _PROTOCOL,
            col.text("yardstick", "what the lost facts are compared with", YARDSTICKS),
            col.text("relation", "the relation, or the pool of those with few facts; empty for all"),
            col.real("share", "share of the lost facts", 0, 1),
            col.real("yardstick_share", "share of the yardstick", 0, 1),
            col.real("low", "lower end of the interval of the difference", -1, 1),
            col.real("high", "upper end of it", -1, 1),
            col.count("n", "lost facts that are compared", 1),
            col.count("n_yardstick", "facts of the yardstick", 1),
        ),
        per="run_id",
    ),
)
