"""When a stored series is complete and possible."""

from probing.core.stats.rank_buckets import KNOWN_UP_TO
from probing.store.rules.asking import ASKED, Rule, strays

_STEPS = "coalesce(TRY_CAST(conf -> '$.steps' AS BIGINT[]), [])"
_LAYERS = "coalesce(TRY_CAST(conf -> '$.asked_layers' AS BIGINT[]), [])"
_LAST_BUCKET = f"CASE c.k {' '.join(f'WHEN {k} THEN {bucket}' for k, bucket in KNOWN_UP_TO.items())} END"

SCANS = {
    "series_asked": f"SELECT run_id, facts, states, layers, {_STEPS} AS steps, {_LAYERS} AS at_layers FROM {ASKED}",
    "series_known": """
        SELECT c.run_id, c.step, c.layer, c.k, sum(c.asked)::BIGINT AS asked, sum(c.known)::BIGINT AS known,
            count(*) AS relations
        FROM series_counts c GROUP BY ALL""",
    "series_of_facts": f"""
        SELECT c.run_id, c.step, c.layer, c.k, any_value(c.known) AS known,
            count(*) FILTER (f.buckets[(list_position(r.steps, c.step) - 1) * len(r.at_layers) + list_position(r.at_layers, c.layer)]
                <= {_LAST_BUCKET}) AS found
        FROM series_known c JOIN series_asked r USING (run_id) JOIN series_facts f USING (run_id)
        WHERE c.layer = list_max(r.at_layers) AND c.step IN (r.steps[1], r.steps[-1]) GROUP BY ALL""",
}
RULES = (
    *strays("series_steps series_counts series_facts", "series_runs"),
    Rule(
        "left out",
        f"SELECT run_id AS id, left_out FROM {ASKED} WHERE sum_of_reasons(left_out) IS NULL",
        "left_out is not JSON of reason -> count: {left_out!r}",
    ),
    Rule(
        "states",
        """SELECT run_id AS id, states, len(steps) AS n FROM series_asked
            WHERE states <> len(steps) OR len(at_layers) = 0 OR list_max(at_layers) >= layers
                OR steps <> list_sort(list_distinct(steps))""",
        "it has {states} states, and its configuration {n}, or layers that the model does not have",
        blocks=True,
    ),
    Rule(
        "asked steps",
        """SELECT run_id AS id, any_value(r.steps) AS wanted, coalesce(list(s.step ORDER BY s.step) FILTER (s.asked), [])::BIGINT[] AS found
            FROM series_asked r LEFT JOIN series_steps s USING (run_id) GROUP BY run_id HAVING found <> wanted""",
        "its steps say that the states {found} were asked, expected {wanted}",
        blocks=True,
    ),
    Rule(
        "every state and layer",
        f"""SELECT r.run_id AS id, any_value(len(r.steps) * len(r.at_layers) * {len(KNOWN_UP_TO)}) AS wanted,
                count(k.run_id) FILTER (list_contains(r.steps, k.step) AND list_contains(r.at_layers, k.layer)) AS found,
                count(k.run_id) AS n
            FROM series_asked r LEFT JOIN series_known k USING (run_id) GROUP BY r.run_id HAVING found <> wanted OR n <> wanted""",
        "{found} of {n} counts are of its states and layers, expected {wanted}",
        blocks=True,
    ),
    Rule(
        "facts",
        "SELECT k.run_id AS id, k.step, k.layer, k.asked, r.facts FROM series_known k JOIN series_asked r USING (run_id) "
        "WHERE k.asked <> r.facts",
        "step {step}, layer {layer}: {asked:,} facts were asked, the run says {facts:,}",
        blocks=True,
    ),
    Rule(
        "flow",
        f"""SELECT c.run_id AS id, c.step, c.layer, c.relation FROM series_counts c
            JOIN series_counts b ON (b.run_id, b.layer, b.relation, b.k) = (c.run_id, c.layer, c.relation, c.k)
            JOIN (SELECT run_id, steps[1] AS first FROM series_asked) r ON r.run_id = c.run_id AND b.step = r.first
            JOIN {ASKED} a ON a.run_id = c.run_id
            WHERE c.known <> c.kept + c.returned + c.gained OR b.known <> c.kept + c.returned + c.lost OR c.before_paired <> b.own""",
        "step {step}, layer {layer}, {relation}: kept, lost, returned and gained facts do not add up to the known ones",
        blocks=True,
    ),
    Rule(
        "steps",
        "SELECT run_id AS id, step FROM series_steps WHERE (metric IS NULL) <> (score IS NULL)",
        "step {step} has a score without a metric, or a metric without a score",
    ),
    Rule(
        "lengths of buckets",
        """SELECT r.run_id AS id, f.fact_id, len(f.buckets) AS n, len(r.steps) * len(r.at_layers) AS wanted
            FROM series_facts f JOIN series_asked r USING (run_id) WHERE n <> wanted""",
        "fact {fact_id} has {n} buckets, expected {wanted}",
    ),
    Rule(
        "known facts",
        "SELECT run_id AS id, step, layer, k, known, found FROM series_of_facts WHERE known <> found",
        "step {step}, layer {layer}: {found:,} facts have a rank up to {k}, the counts say {known:,}",
    ),
    Rule(
        "buckets of facts",
        """SELECT r.run_id AS id, count(f.fact_id) AS n FROM series_asked r LEFT JOIN series_facts f USING (run_id)
            GROUP BY r.run_id, r.facts HAVING n > r.facts""",
        "it has {n:,} facts, more than were asked",
    ),
)
