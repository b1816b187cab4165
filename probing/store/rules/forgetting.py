"""When stored runs that ask for lost facts are complete."""

from probing.core.forgetting.groups import LOST
from probing.core.forgetting.protocols import RIGHT
from probing.core.forgetting.ways import FITTED_HEAD, LAYERS_BACK, NOT_RECOVERED, OTHER_LAYER, RELEARNED, WAYS
from probing.store.rules.asking import ASKED, Rule
from probing.store.tables.forgetting import ALL_BINS

_COUNTS = "{kept:,} kept and {lost:,} lost facts, expected {known:,} in all"
_PLACE = "{way}, level {level}, {protocol}"
_CHEAPEST = f"""CASE WHEN f.layer IS NOT NULL THEN '{OTHER_LAYER}' WHEN f.fitted THEN '{FITTED_HEAD}'
    WHEN f.layers_back IS NOT NULL THEN '{LAYERS_BACK}' WHEN f.steps IS NOT NULL THEN '{RELEARNED}' ELSE '{NOT_RECOVERED}' END"""
_OF_ALL = "forgetting_of_all_bins"

#: The shares over all bins, and what those of the bins add up to.
SCANS: dict[str, str] = {
    _OF_ALL: f"""SELECT run_id AS id, way, level, protocol, asked, count(*) FILTER (bin = {ALL_BINS}) AS all_bins,
        coalesce(sum(n) FILTER (bin = {ALL_BINS}), 0)::BIGINT AS n, coalesce(sum(n) FILTER (bin <> {ALL_BINS}), 0)::BIGINT AS in_bins
        FROM forgetting_shares JOIN {ASKED} USING (run_id) GROUP BY ALL""",
}
RULES = (
    Rule(f"SELECT run_id AS id, kept, lost, known FROM {ASKED} WHERE kept + lost <> known", _COUNTS),
    Rule(f"SELECT run_id AS id, known, facts FROM {ASKED} WHERE known > facts", "{known:,} of {facts:,} facts are known"),
    Rule(
        f"SELECT run_id AS id FROM {ASKED} WHERE coalesce(base, '') IN ('', model)",
        "it names no base that the facts could have been lost from",
    ),
    Rule(
        f"""SELECT c.run_id AS id, c.relation, c.kept, c.lost, c.known FROM forgetting_relations c JOIN {ASKED} USING (run_id)
            WHERE c.kept + c.lost <> c.known""",
        f"{{relation}}: {_COUNTS}",
    ),
    Rule(
        f"""SELECT r.run_id AS id, r.known, r.lost, coalesce(sum(c.known), 0)::BIGINT AS in_all, coalesce(sum(c.lost), 0)::BIGINT AS gone
            FROM {ASKED} r LEFT JOIN forgetting_relations c USING (run_id) GROUP BY ALL HAVING in_all <> r.known OR gone <> r.lost""",
        "its relations have {in_all:,} known and {gone:,} lost facts, the run {known:,} and {lost:,}",
    ),
    Rule(
        f"""SELECT run_id AS id, relation, sum(lost)::BIGINT AS lost, sum(n)::BIGINT AS n FROM (
            SELECT run_id, relation, lost::BIGINT AS lost, 0 AS n FROM forgetting_relations
            UNION ALL SELECT run_id, relation, 0, 1 FROM forgetting_facts
            ) JOIN (SELECT run_id FROM {ASKED}) USING (run_id) GROUP BY ALL HAVING sum(lost) <> sum(n)""",
        "{relation}: {n:,} rows of lost facts, expected {lost:,}",
    ),
    Rule(
        f"""SELECT f.run_id AS id, f.fact_id, f.way, {_CHEAPEST} AS wanted FROM forgetting_facts f JOIN {ASKED} USING (run_id)
            WHERE f.way <> wanted""",
        "the fact {fact_id} has the way {way}, by its other columns the cheapest is {wanted}",
    ),
    Rule(
        f"SELECT * FROM {_OF_ALL} WHERE all_bins <> 1",
        f"{_PLACE}, {{asked}}: {{all_bins}} shares over all bins of confidence, expected 1",
    ),
    Rule(
        f"SELECT * FROM {_OF_ALL} WHERE n <> in_bins",
        f"{_PLACE}, {{asked}}: the bins have {{in_bins:,}} facts, expected {{n:,}}",
    ),
    Rule(
        f"""SELECT r.run_id AS id, w.way, {LOST!r} AS asked FROM {ASKED} r, (SELECT unnest({list(WAYS)}) AS way) w
            ANTI JOIN (SELECT id AS run_id, way FROM {_OF_ALL} WHERE asked = {LOST!r} AND protocol = {RIGHT!r}) s
            ON s.run_id = r.run_id AND s.way = w.way""",
        "it has no share of {asked} facts by the way {way}",
    ),
)
