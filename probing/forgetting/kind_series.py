"""When a stored series is complete."""

from probing.forgetting.series_rank_buckets import KNOWN_UP_TO
from probing.kernel.store.kinds import ASKED, Rule

_STEPS = "coalesce(TRY_CAST(conf -> '$.steps' AS BIGINT[]), [])"
_LAYERS = "coalesce(TRY_CAST(conf -> '$.asked_layers' AS BIGINT[]), [])"

SCANS = {
    "series_asked": f"SELECT run_id, facts, states, layers, {_STEPS} AS steps, {_LAYERS} AS at_layers FROM {ASKED}",
    "series_known": "SELECT run_id, step, layer, k, sum(asked)::BIGINT AS asked FROM series_counts GROUP BY ALL",
}
RULES = (
    Rule(
        """SELECT run_id AS id, states, len(steps) AS n FROM series_asked
            WHERE states <> len(steps) OR len(at_layers) = 0 OR list_max(at_layers) >= layers
                OR steps <> list_sort(list_distinct(steps))""",
        "it has {states} states, and its configuration {n}, or layers that the model does not have",
    ),
    Rule(
        """SELECT run_id AS id, any_value(r.steps) AS wanted, coalesce(list(s.step ORDER BY s.step) FILTER (s.asked),
            [])::BIGINT[] AS found
            FROM series_asked r LEFT JOIN series_steps s USING (run_id) GROUP BY run_id HAVING found <> wanted""",
        "its steps say that the states {found} were asked, expected {wanted}",
    ),
    Rule(
        f"""SELECT r.run_id AS id, any_value(len(r.steps) * len(r.at_layers) * {len(KNOWN_UP_TO)}) AS wanted,
                count(k.run_id) FILTER (list_contains(r.steps, k.step) AND list_contains(r.at_layers, k.layer)) AS
                    found,
                count(k.run_id) AS n
            FROM series_asked r LEFT JOIN series_known k USING (run_id) GROUP BY r.run_id HAVING found <> wanted OR n
                <> wanted""",
        "{found} of {n} counts are of its states and layers, expected {wanted}",
    ),
    Rule(
        "SELECT k.run_id AS id, k.step, k.layer, k.asked, r.facts FROM series_known k JOIN series_asked r USING"
        " (run_id) WHERE k.asked <> r.facts",
        "step {step}, layer {layer}: {asked:,} facts were asked, the run says {facts:,}",
    ),
    Rule(
        f"""SELECT c.run_id AS id, c.step, c.layer, c.relation FROM series_counts c
            JOIN series_counts b ON (b.run_id, b.layer, b.relation, b.k) = (c.run_id, c.layer, c.relation, c.k)
            JOIN (SELECT run_id, steps[1] AS first FROM series_asked) r ON r.run_id = c.run_id AND b.step = r.first
            JOIN {ASKED} a ON a.run_id = c.run_id
            WHERE c.known <> c.kept + c.returned + c.gained OR b.known <> c.kept + c.returned + c.lost OR
                c.before_paired <> b.own""",
        "step {step}, layer {layer}, {relation}: kept, lost, returned and gained facts do not add up to the known ones",
    ),
    Rule(
        """SELECT r.run_id AS id, f.fact_id, len(f.buckets) AS n, len(r.steps) * len(r.at_layers) AS wanted
            FROM series_facts f JOIN series_asked r USING (run_id) WHERE n <> wanted""",
        "fact {fact_id} has {n} buckets, expected {wanted}",
    ),
)
