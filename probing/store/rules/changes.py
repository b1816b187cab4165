"""When stored measurements of what fine-tuning changed are complete and possible."""

from probing.core.changes.measures import MEASURES
from probing.store.rules.asking import ASKED, Rule, strays
from probing.store.tables.changes import ALL_HEADS

#: How far float32 sums by block may be from the sum.
_ROUNDING = 1e-4
_COMPARING = tuple(name for name, measure in MEASURES.items() if measure.change_of)
_FROM_0 = [name for name, measure in MEASURES.items() if measure.layer0]
_VALUE = (
    "SELECT v.run_id AS id, v.measure, v.layer, v.head, v.low, v.high, r.layers - 1 AS last, r.heads "
    f"FROM change_values v JOIN {ASKED} r USING (run_id)"
)
_PERPLEXITY = (
    f"SELECT p.run_id AS id, p.*, len(p.by_block) AS n_sums, r.blocks, r.layers - 1 AS last FROM perplexity p JOIN {ASKED} r USING (run_id)"
)
_WHERE = "the perplexity with {replaced} {n} replaced"

SCANS: dict[str, str] = {}
RULES = (
    *strays("change_values perplexity", "change_runs"),
    Rule(
        "left out",
        f"SELECT run_id AS id, left_out FROM {ASKED} WHERE sum_of_reasons(left_out) IS NULL AND NOT sums_are_parts(left_out)",
        "left_out is not JSON: {left_out!r}",
    ),
    Rule(
        "values",
        f"SELECT run_id AS id FROM {ASKED} ANTI JOIN change_values USING (run_id) ANTI JOIN perplexity USING (run_id)",
        "it has no values",
        blocks=True,
    ),
    Rule(
        "perplexities",
        f"SELECT run_id AS id, blocks FROM {ASKED} ANTI JOIN perplexity USING (run_id) WHERE blocks > 0",
        "it has no perplexity of its {blocks:,} blocks",
    ),
    Rule("layers", f"{_VALUE} WHERE v.layer >= r.layers", "{measure} at layer {layer} is above the last layer {last}", blocks=True),
    Rule(
        "unchanged model",
        f"""SELECT run_id AS id, count(*) FILTER (replaced = 'none') AS n FROM perplexity JOIN {ASKED} USING (run_id)
            GROUP BY run_id HAVING n <> 1""",
        "{n} perplexities are of the unchanged model, expected 1",
        blocks=True,
    ),
    Rule(
        "masked tokens",
        f"""SELECT run_id AS id FROM perplexity JOIN {ASKED} USING (run_id) GROUP BY run_id
            HAVING count(DISTINCT masked) > 1 OR count(DISTINCT masked_by_block::VARCHAR) > 1""",
        "its perplexities are of other masked pieces than the run's other perplexities",
        blocks=True,
    ),
    Rule(
        "blocks",
        f"{_PERPLEXITY} WHERE len(p.by_block) <> r.blocks OR len(p.masked_by_block) <> r.blocks",
        f"{_WHERE} is of {{n_sums:,}} blocks, the run of {{blocks:,}}",
        blocks=True,
    ),
    Rule(
        "base",
        f"{_VALUE} WHERE v.measure IN {_COMPARING} AND coalesce(r.base, '') IN ('', r.model)",
        "{measure} at layer {layer} compares with a base, and the run names none",
    ),
    Rule(
        "heads",
        f"{_VALUE} WHERE v.head <> {ALL_HEADS} AND v.head >= r.heads",
        "{measure} at layer {layer} is of head {head}, the model has {heads}",
    ),
    Rule(
        "intervals",
        f"{_VALUE} WHERE v.low > v.high",
        "the interval of {measure} at layer {layer} reaches from {low:g} to {high:g}",
    ),
    # At layer 0 all vectors of first tokens are the same, and some measures are undefined there.
    Rule(
        "layers of measures",
        f"""SELECT * FROM (
            SELECT run_id AS id, measure, coalesce(list(layer ORDER BY layer) FILTER (head = {ALL_HEADS}), [])::BIGINT[] AS found,
                range(if(measure IN {tuple(_FROM_0)}, 0, 1), max(r.layers)::BIGINT) AS wanted
            FROM change_values JOIN {ASKED} r USING (run_id) GROUP BY run_id, measure
            ) WHERE found <> wanted AND found <> list_filter(wanted, lambda x: x > 0)""",
        "{measure} has values of the layers {found}, expected {wanted}",
    ),
    Rule(
        "values of heads",
        f"""SELECT run_id AS id, measure, layer, count(*) AS n, any_value(r.heads) AS heads
            FROM change_values JOIN {ASKED} r USING (run_id) WHERE head <> {ALL_HEADS} GROUP BY ALL HAVING n <> any_value(r.heads)""",
        "{measure} at layer {layer} has values of {n} heads, the model has {heads}",
    ),
    Rule(
        "layers put back",
        f"""SELECT run_id AS id, replaced, list(n ORDER BY n)::BIGINT[] AS found, range(1, any_value(r.layers)::BIGINT) AS wanted
            FROM perplexity JOIN {ASKED} r USING (run_id) WHERE replaced <> 'none' AND NOT embeddings
            GROUP BY ALL HAVING found <> wanted""",
        "its perplexities with {replaced} layers replaced are of {found}, expected {wanted}",
    ),
    Rule(
        "replaced layers",
        f"{_PERPLEXITY} WHERE p.n >= r.layers OR (p.n = 0) <> (p.replaced = 'none')",
        f"{_WHERE} is impossible: expected up to {{last}} layers",
    ),
    Rule(
        "sums of blocks",
        f"""{_PERPLEXITY} WHERE list_sum(p.masked_by_block) <> p.masked
            OR abs(list_sum(list_transform(p.by_block, lambda x: x::DOUBLE)) - p.cross_entropy)
                > {_ROUNDING} * greatest(1, p.cross_entropy)""",
        f"{_WHERE} has blocks of other sums: its cross-entropy is {{cross_entropy:.4f}}, of {{masked:,}} masked pieces",
    ),
    Rule(
        "epochs",
        "SELECT model AS id FROM epoch_perplexity GROUP BY model HAVING count(DISTINCT masked) > 1 OR count(DISTINCT blocks) > 1",
        "its epochs are of different blocks",
        of="model",
    ),
)
