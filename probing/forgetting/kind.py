"""The kinds of runs on lost facts and on series: their files, and when they are complete."""

from probing.forgetting import tables
from probing.forgetting.memory import GROUPS, LOST, NEVER_KNOWN
from probing.forgetting.savings import MEASURES
from probing.forgetting.series import KNOWN_UP_TO
from probing.forgetting.store import forgetting_runs, series_runs
from probing.forgetting.tables import SERIES_TABLES
from probing.forgetting.ways import (
    ANY,
    AS_IN_BASE,
    AS_IT_IS,
    FITTED_HEAD,
    LAYERS_BACK,
    LESSONS,
    MOVED,
    NOT_RECOVERED,
    OTHER_LAYER,
    RANDOM_BODY,
    RELEARNED,
    RELEARNED_BY,
    STEPS,
    WAYS,
    ForgettingRunConfig,
    SeriesRunConfig,
)
from probing.kernel.store.kinds import ASKED, Kind, Rule

_COUNTS = "{kept:,} kept and {lost:,} lost facts, expected {known:,} in all"
#: Seeds in which 15 steps bring an answer back.
_SEEDS = "length(replace(f.after_15, '0', ''))"
_CHEAPEST = f"""CASE WHEN f.layer IS NOT NULL THEN CASE WHEN f.way = '{AS_IN_BASE}' THEN f.way ELSE '{MOVED}' END
    WHEN f.fitted THEN '{FITTED_HEAD}' WHEN f.layers_back IS NOT NULL THEN '{LAYERS_BACK}'
    WHEN 2 * {_SEEDS} > length(f.after_15) THEN '{RELEARNED}' ELSE '{NOT_RECOVERED}' END"""
#: Way, level and protocol of what has shares, as rows of SQL.
_TRIED = ", ".join(
    str(key)
    for key in (
        *((way, ANY, AS_IT_IS) for way in WAYS if way != RELEARNED),
        (OTHER_LAYER, ANY, RANDOM_BODY),
        *((RELEARNED, steps, protocol) for protocol in (*RELEARNED_BY, *LESSONS.values()) for steps in STEPS),
    )
)

#: Rows of the savings of one group.
_LOOKS = f"{len(MEASURES)} * (1 + json_array_length(TRY_CAST(conf ->> '$.savings' AS JSON) -> '$.passes'))"

SCANS: dict[str, str] = {}
RULES = (
    Rule(f"SELECT run_id AS id, kept, lost, known FROM {ASKED} WHERE kept + lost <> known", _COUNTS),
    Rule(
        f"SELECT run_id AS id, known, facts FROM {ASKED} WHERE known > facts", "{known:,} of {facts:,} facts are known"
    ),
    Rule(
        f"SELECT run_id AS id FROM {ASKED} WHERE coalesce(base, '') IN ('', model)",
        "it names no base that the facts could have been lost from",
    ),
    Rule(
        f"""SELECT c.run_id AS id, c.relation, c.kept, c.lost, c.known FROM forgetting_relations c
            JOIN {ASKED} USING (run_id)
            WHERE c.kept + c.lost <> c.known""",
        f"{{relation}}: {_COUNTS}",
    ),
    Rule(
        f"""SELECT r.run_id AS id, r.known, r.lost, coalesce(sum(c.known), 0)::BIGINT AS in_all,
                coalesce(sum(c.lost), 0)::BIGINT AS gone
            FROM {ASKED} r LEFT JOIN forgetting_relations c USING (run_id) GROUP BY ALL
            HAVING in_all <> r.known OR gone <> r.lost""",
        "its relations have {in_all:,} known and {gone:,} lost facts, the run {known:,} and {lost:,}",
    ),
    Rule(
        f"""SELECT run_id AS id, relation, sum(lost)::BIGINT AS lost, sum(n)::BIGINT AS n FROM (
            SELECT run_id, relation, lost::BIGINT AS lost, 0 AS n FROM forgetting_relations
            UNION ALL SELECT run_id, relation, 0, 1 FROM forgetting_facts WHERE asked = '{LOST}'
            ) JOIN (SELECT run_id FROM {ASKED}) USING (run_id) GROUP BY ALL HAVING sum(lost) <> sum(n)""",
        "{relation}: {n:,} rows of lost facts, expected {lost:,}",
    ),
    Rule(
        f"""SELECT f.run_id AS id, f.fact_id, f.way, {_CHEAPEST} AS wanted FROM forgetting_facts f
            JOIN {ASKED} USING (run_id)
            WHERE f.asked = '{LOST}' AND f.way IS DISTINCT FROM wanted""",
        "the fact {fact_id} has the outcome {way}, by its other columns it is {wanted}",
    ),
    Rule(
        f"""SELECT f.run_id AS id, f.fact_id, f.after_15, r.seeds FROM forgetting_facts f JOIN {ASKED} r USING (run_id)
            WHERE NOT regexp_full_match(f.after_15, '[01]+') OR length(f.after_15) <> r.seeds""",
        "the fact {fact_id} has {after_15!r} for {seeds} seeds; expected a digit 0 or 1 for each",
    ),
    Rule(
        f"""SELECT r.run_id AS id, w.*, g.asked, coalesce(s.n, 0) AS found, coalesce(f.n, 0) AS wanted
            FROM {ASKED} r, (VALUES {_TRIED}) w(way, level, protocol), (SELECT unnest({list(GROUPS)}) AS asked) g
            LEFT JOIN (SELECT run_id, asked, count(*) AS n FROM forgetting_facts GROUP BY ALL) f
            ON f.run_id = r.run_id AND f.asked = g.asked
            LEFT JOIN forgetting_shares s
            ON s.run_id = r.run_id AND s.way = w.way AND s.level = w.level AND s.protocol = w.protocol
                AND s.asked = g.asked
            WHERE found <> wanted AND NOT (s.n IS NULL AND w.protocol IN {tuple(LESSONS.values())})
            AND NOT (w.protocol = '{RANDOM_BODY}' AND g.asked <> '{LOST}')
            AND NOT (w.way = '{LAYERS_BACK}' AND r.not_put_back IS NOT NULL)""",
        "{way}, level {level}, {protocol}, {asked}: a share of {found:,} answers, expected {wanted:,}",
    ),
    Rule(
        f"""SELECT s.run_id AS id, s.asked, count(*) AS n, any_value({_LOOKS}) AS wanted
            FROM forgetting_savings s JOIN {ASKED} USING (run_id) GROUP BY s.run_id, s.asked HAVING n <> wanted""",
        "savings of {asked}: {n:,} rows, expected {wanted:,}",
    ),
    Rule(
        f"""SELECT s.run_id AS id, s.way, s.level, s.protocol FROM forgetting_shares s JOIN {ASKED} USING (run_id)
            ANTI JOIN forgetting_excesses e ON s.run_id = e.run_id AND s.way = e.way AND s.level = e.level
            AND s.protocol = e.protocol AND s.asked = e.yardstick WHERE s.asked = '{NEVER_KNOWN}'""",
        f"{{way}}, level {{level}}, {{protocol}}: no difference to the share of {NEVER_KNOWN} facts",
    ),
)


_STEPS = "coalesce(TRY_CAST(conf -> '$.steps' AS BIGINT[]), [])"
_LAYERS = "coalesce(TRY_CAST(conf -> '$.asked_layers' AS BIGINT[]), [])"

SERIES_SCANS = {
    "series_asked": f"SELECT run_id, facts, states, layers, {_STEPS} AS steps, {_LAYERS} AS at_layers FROM {ASKED}",
    "series_known": "SELECT run_id, step, layer, k, sum(asked)::BIGINT AS asked FROM series_counts GROUP BY ALL",
}
SERIES_RULES = (
    Rule(
        """SELECT run_id AS id, states, len(steps) AS n FROM series_asked
            WHERE states <> len(steps) OR len(at_layers) = 0 OR list_max(at_layers) >= layers
                OR steps <> list_sort(list_distinct(steps))""",
        "it has {states} states, and its configuration {n}, or layers that the model does not have",
    ),
    Rule(
        """SELECT run_id AS id, any_value(r.steps) AS wanted,
                coalesce(list(s.step ORDER BY s.step) FILTER (s.asked), [])::BIGINT[] AS found
            FROM series_asked r LEFT JOIN series_steps s USING (run_id) GROUP BY run_id HAVING found <> wanted""",
        "its steps say that the states {found} were asked, expected {wanted}",
    ),
    Rule(
        f"""SELECT r.run_id AS id, any_value(len(r.steps) * len(r.at_layers) * {len(KNOWN_UP_TO)}) AS wanted,
            count(k.run_id) FILTER (list_contains(r.steps, k.step) AND list_contains(r.at_layers, k.layer)) AS found,
            count(k.run_id) AS n
            FROM series_asked r LEFT JOIN series_known k USING (run_id) GROUP BY r.run_id
            HAVING found <> wanted OR n <> wanted""",
        "{found} of {n} counts are of its states and layers, expected {wanted}",
    ),
    Rule(
        """SELECT k.run_id AS id, k.step, k.layer, k.asked, r.facts
            FROM series_known k JOIN series_asked r USING (run_id) WHERE k.asked <> r.facts""",
        "step {step}, layer {layer}: {asked:,} facts were asked, the run says {facts:,}",
    ),
    Rule(
        f"""SELECT c.run_id AS id, c.step, c.layer, c.relation FROM series_counts c
            JOIN series_counts b ON (b.run_id, b.layer, b.relation, b.k) = (c.run_id, c.layer, c.relation, c.k)
            JOIN (SELECT run_id, steps[1] AS first FROM series_asked) r ON r.run_id = c.run_id AND b.step = r.first
            JOIN {ASKED} a ON a.run_id = c.run_id
            WHERE c.known <> c.kept + c.returned + c.gained OR b.known <> c.kept + c.returned + c.lost
                OR c.before_paired <> b.own""",
        "step {step}, layer {layer}, {relation}: kept, lost, returned and gained facts do not add up to the known ones",
    ),
    Rule(
        """SELECT r.run_id AS id, f.fact_id, len(f.buckets) AS n, len(r.steps) * len(r.at_layers) AS wanted
            FROM series_facts f JOIN series_asked r USING (run_id) WHERE n <> wanted""",
        "fact {fact_id} has {n} buckets, expected {wanted}",
    ),
)


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


#: Shared with the runs that ask for lost facts.
SERIES = Kind(
    "series",
    SeriesRunConfig,
    SERIES_TABLES,
    SERIES_RULES,
    SERIES_SCANS,
    about=tables.__doc__,
    listed=series_runs,
    command="series follow",
    title="series",
    line="series {against}{states:,} states of a training, {facts:,} facts of {probe_set}",
)
