"""The kind of run that measures what fine-tuning changed: its files, and when it is complete."""

from probing.changes import tables
from probing.changes.measures import MEASURES, ChangeRunConfig
from probing.changes.store import change_runs
from probing.changes.tables import ALL_HEADS
from probing.kernel.store.kinds import ASKED, Kind, Rule

_FROM_0 = tuple(name for name, measure in MEASURES.items() if measure.layer0)

SCANS: dict[str, str] = {}
RULES = (
    Rule(
        f"SELECT run_id AS id FROM {ASKED} ANTI JOIN change_values USING (run_id) ANTI JOIN perplexity USING (run_id)",
        "it has no values",
    ),
    Rule(
        f"SELECT run_id AS id, blocks FROM {ASKED} ANTI JOIN perplexity USING (run_id) WHERE blocks > 0",
        "it has no perplexity of its {blocks:,} blocks",
    ),
    Rule(
        f"""SELECT v.run_id AS id, v.measure, v.layer, v.head FROM change_values v JOIN {ASKED} r USING (run_id)
            WHERE v.layer >= r.layers OR v.head <> {ALL_HEADS} AND v.head >= r.heads""",
        "{measure} at layer {layer}, head {head}, is of a layer or head that the model does not have",
    ),
    # At layer 0 all vectors of first tokens are the same, and some measures are undefined there.
    Rule(
        f"""SELECT * FROM (
            SELECT run_id AS id, measure, coalesce(list(layer ORDER BY layer) FILTER (head = {ALL_HEADS}),
                [])::BIGINT[] AS found,
                range(if(measure IN {_FROM_0}, 0, 1), max(r.layers)::BIGINT) AS wanted
            FROM change_values JOIN {ASKED} r USING (run_id) GROUP BY run_id, measure
            ) WHERE found <> wanted AND found <> list_filter(wanted, lambda x: x > 0)""",
        "{measure} has values of the layers {found}, expected {wanted}",
    ),
    Rule(
        f"""SELECT run_id AS id, count(*) FILTER (replaced = 'none') AS n FROM perplexity JOIN {ASKED} USING (run_id)
            GROUP BY run_id HAVING n <> 1""",
        "{n} perplexities are of the unchanged model, expected 1",
    ),
    Rule(
        f"""SELECT run_id AS id FROM perplexity JOIN {ASKED} USING (run_id) GROUP BY run_id
            HAVING count(DISTINCT masked) > 1 OR count(DISTINCT masked_by_block::VARCHAR) > 1""",
        "its perplexities are of other masked pieces than the run's other perplexities",
    ),
    Rule(
        f"""SELECT p.run_id AS id, p.replaced, p.n, len(p.by_block) AS n_sums, r.blocks FROM perplexity p JOIN {ASKED}
            r USING (run_id)
            WHERE len(p.by_block) <> r.blocks OR len(p.masked_by_block) <> r.blocks""",
        "the perplexity with {replaced} {n} replaced is of {n_sums:,} blocks, the run of {blocks:,}",
    ),
    Rule(
        f"""SELECT run_id AS id, replaced, list(n ORDER BY n)::BIGINT[] AS found, range(1, any_value(r.layers)::BIGINT)
            AS wanted
            FROM perplexity JOIN {ASKED} r USING (run_id) WHERE replaced <> 'none' AND NOT embeddings
            GROUP BY ALL HAVING found <> wanted""",
        "its perplexities with {replaced} layers replaced are of {found}, expected {wanted}",
    ),
)


#: Shared with the runs on whole sentences.
CHANGES = Kind(
    "changes",
    ChangeRunConfig,
    tables.TABLES,
    RULES,
    SCANS,
    about=tables.__doc__,
    listed=change_runs,
    command="changes measure",
    title="changes",
    line="changes {against}{sentences:,} sentences, {blocks:,} blocks, seed {seed}",
)
