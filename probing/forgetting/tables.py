"""The tables of lost facts and the ways by which they come back, and of series: states of one training by layer."""

import math

import pyarrow as pa

from probing.forgetting.memory import GROUPS, YARDSTICKS
from probing.forgetting.savings import MEASURES, SAVED
from probing.forgetting.series import ENDS, HALVES, KNOWN_UP_TO
from probing.forgetting.ways import LOST_OUTCOMES, PROTOCOLS, REWORDED, WAYS
from probing.kernel.store.columns import (
    LAYER,
    LAYERS,
    LEFT_OUT,
    MADE,
    MOST_ROWS,
    RUN,
    RUN_ID,
    SEED,
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

_RELATION = text("relation", "relation of the facts")
_WAY = text("way", "how the answer comes back", WAYS)
_LEVEL = small("level", "training steps; 0 for ways without training, which count at any of their levels")
_PROTOCOL = text("protocol", "what is relearned, or by which body", PROTOCOLS)
_ASKED = text("asked", "the answers that are looked for", GROUPS)


def _logp(name: str, says: str, high: float = 0) -> Column:
    return Column(name, pa.float32(), says, low=-math.inf if high == 0 else -0.01, high=high)


TABLES = (
    Table(
        "forgetting_runs",
        "One fine-tuned model, asked for the facts that its base knows at the last layer.",
        "run_id",
        (
            *RUN,
            text("probe_set", "the set that the facts are from"),
            text("template_set", "the set that the prompts are from"),
            text("other_templates", "the set of the other wording in which lost facts were asked once more").or_empty(),
            small("k", "a fact is known with rank <= k", 1),
            SEED,
            small("seeds", "seeds of the parts and the order of relearning", 1),
            count("planted", "facts that the base was taught before the same fine-tuning was done again; 0: none"),
            LAYERS,
            count("facts", "facts that both models were asked"),
            count("known", "facts that the base knows"),
            count("kept", "facts of these that the fine-tuned model knows, too"),
            count("lost", "facts of these that it does not know"),
            text("not_put_back", "why no layers were put back; empty if they were").or_empty(),
            LEFT_OUT,
            *MADE,
        ),
        per="run_id",
        sort="model probe_set k seed run_id",
        version=2,
    ),
    Table(
        "forgetting_relations",
        "How many facts of one relation the base knows, and the fine-tuned model keeps and loses.",
        "run_id relation",
        (
            RUN_ID,
            _RELATION,
            count("known", "facts that the base knows", 1),
            count("kept", "facts that both know"),
            count("lost", "facts that only the base knows"),
        ),
        per="run_id",
    ),
    Table(
        "forgetting_facts",
        "One lost fact, never-known fact or wrong answer, and how it comes back.",
        "run_id asked fact_id",
        (
            RUN_ID,
            _ASKED,
            text("fact_id", "hash of the fact and its prompt"),
            _RELATION,
            count("answer", "token id of the answer that is looked for"),
            text("way", "what became of a lost fact", LOST_OUTCOMES).or_empty(),
            small(
                "layer", "the highest layer below the last at which the head reads the answer; empty if there is none"
            ).or_empty(),
            flag("fitted", "whether the fitted head reads it"),
            small(
                "layers_back", "the fewest last layers of the base that bring it back; empty if half of all do not", 1
            ).or_empty(),
            text("after_5", "relearned by answer, 5 steps: a digit for every seed, 1 if the answer is back"),
            text("after_15", "the same after 15 steps, which is what counts"),
            text("after_45", "the same after 45 steps"),
            text("by_subject", "the same after 15 steps, split by subject"),
            flag("random_layer", "whether a random body reads a lost fact at a layer below the last").or_empty(),
            flag("random_body", "whether a random body knows it after 15 steps").or_empty(),
            _logp("base_logp", "natural logarithm of the base's probability of the answer"),
            _logp("logp", "the same of the fine-tuned model"),
            count("rank", "rank of the answer in the fine-tuned model", 1),
            _logp("margin", "log-probability of the fine-tuned model's first answer, minus that of this one", math.inf),
            text("exposure", "how the base's training text has a lost fact, if that is known").or_empty(),
            text("reworded", "what another wording shows of a lost fact", REWORDED).or_empty(),
        ),
        per="run_id",
        version=2,
    ),
    Table(
        "forgetting_shares",
        "Share of some answers that come back by one way, with its 95 % interval (pairs of relation and answer, and"
        " seeds).",
        "run_id way level protocol asked",
        (
            RUN_ID,
            _WAY,
            _LEVEL,
            _PROTOCOL,
            _ASKED,
            count("n", "number of answers", 1),
            real("share", "share that comes back", 0, 1),
            real("low", "lower end of the interval", 0, 1),
            real("high", "upper end of the interval", 0, 1),
        ),
        per="run_id",
        version=2,
    ),
    Table(
        "forgetting_excesses",
        "Share of lost facts that come back by one way, and that of a yardstick, with the 95 % interval of the"
        " difference.",
        "run_id way level protocol yardstick",
        (
            RUN_ID,
            _WAY,
            _LEVEL,
            _PROTOCOL,
            text("yardstick", "what the lost facts are compared with", YARDSTICKS),
            real("share", "share of the lost facts", 0, 1),
            real("yardstick_share", "share of the yardstick", 0, 1),
            real("low", "lower end of the interval of the difference", -2, 2),
            real("high", "upper end of it", -2, 2),
            real("error", "standard error of the difference", 0, 2),
            real("low_without", "lower end without the commonest answer that the text never had", -2, 2).or_empty(),
            real("high_without", "upper end without it", -2, 2).or_empty(),
            count("n", "lost facts that are compared", 1),
            count("n_yardstick", "answers of the yardstick", 1),
        ),
        per="run_id",
        version=2,
    ),
    Table(
        "forgetting_savings",
        "What became of answers that were taught again, and of counterfeits, in one training after so many passes over"
        " all lessons; difference with its 95 % interval.",
        "run_id asked measure passes",
        (
            RUN_ID,
            text("asked", "whose answers were taught", tuple(SAVED)),
            text("measure", "share of answers that are first, or nats of log-probability that they gained", MEASURES),
            small("passes", "passes over the lessons; 0: mean of all looks"),
            real("taught", "mean over the answers that were taught"),
            real("counterfeit", "mean over the counterfeits that were taught in place of others"),
            real("low", "lower end of the interval of the difference"),
            real("high", "upper end of it"),
            real("error", "standard error of the difference", 0),
            count("n", "answers that were taught", 1),
            count("n_counterfeit", "counterfeits that were taught", 1),
            count("able", "answers that have a counterfeit", 1),
            count("answers", "answers of which these are", 1),
        ),
        per="run_id",
    ),
)


SERIES_TABLES = (
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
    Table(
        "series_line",
        "A mean of the weights of base and fine-tuned model: facts, and score. Differences have 95 % intervals.",
        "run_id half k a",
        (
            RUN_ID,
            text("half", "the facts and examples that are counted; a point is chosen on one half", HALVES),
            Column("k", pa.uint8(), "a fact is known at k with rank <= k", among=tuple(KNOWN_UP_TO)),
            real("a", "weight of the fine-tuned model", 0, 1),
            count("facts", "facts that were asked"),
            count("known", "of them known by the base"),
            count("kept", "of these known here"),
            count("gained", "known here, not by the base"),
            count("paired", "known by the base, and have a swapped subject"),
            count("swapped", "of these answered rightly here with the swapped subject"),
            real("difference", "share of the known facts that is kept, minus the fine-tuned model's").or_empty(),
            real("low", "lower end of its interval").or_empty(),
            real("high", "upper end of it").or_empty(),
            real("own_minus_swapped", "share of the paired facts that is kept, minus that of swapped").or_empty(),
            real("own_low", "lower end of its interval").or_empty(),
            real("own_high", "upper end of it").or_empty(),
            real("score", "score on the task").or_empty(),
            text("metric", "name of the score").or_empty(),
            count("examples", "examples that it is of"),
        ),
        per="run_id",
        ascending=("kept known facts", "swapped paired known"),
    ),
)
