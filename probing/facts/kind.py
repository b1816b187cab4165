"""The kinds of runs on facts, with ranks in the vocabulary or among candidates: files, and when they are complete."""

from probing.facts import tables
from probing.facts.counts import count_facts
from probing.facts.requests import CandidateRunConfig, CarriedRunConfig, RunConfig
from probing.facts.store_candidates import candidate_runs
from probing.facts.store_carried import carried_runs
from probing.facts.swapped_subjects import WITHOUT_THE_ANSWER
from probing.kernel.fact import TOO_LONG
from probing.kernel.metric import RANKS
from probing.kernel.store.kinds import ASKED, Kind, Rule
from probing.kernel.store.kinds import FACTS as NAME
from probing.kernel.store.stored import fact_runs

#: Table of counts of a run's facts -> what its counts are grouped by, and their sum; each group holds every fact of the
#: run once.
COUNTS: dict[str, tuple[tuple[str, ...], str]] = {
    "layer_counts": (("layer",), "n"),
    "total_counts": ((), "n"),
    "against_counts": (("layer", "k"), '"both" + inner_only + last_only + neither'),
}


def _group(name: str) -> str:
    """SQL of the layer and k of a row of counts; 0 if the table has none."""
    return ", ".join(f"{column if column in COUNTS[name][0] else 0}::INTEGER AS {column}" for column in ("layer", "k"))


#: A replicate may have its last layer only.
_LAYERS = "if(r.role = 'replicate' AND p.first_layer = r.layers - 1, 1, r.layers::BIGINT)"

SCANS = {
    # For up to 64 layers.
    "per_run": (
        f"""
        SELECT r.run_id, r.n_probed, {_LAYERS} AS layers, p.n, p.repeated, p.strange, p.last_layer, r.layers AS of_run
        FROM {ASKED} r JOIN (
            SELECT q.run_id, sum(q.n)::BIGINT AS n, sum(q.n - coalesce(q.layers, 0))::BIGINT AS repeated,
                count(*) FILTER (f.fact_id IS NULL) AS strange,
                min(q.first_layer) AS first_layer, max(q.last_layer) AS last_layer
            FROM (
                SELECT run_id, fact_id, count(*) AS n, min(layer) AS first_layer, max(layer) AS last_layer,
                    bit_count(bit_or(CASE WHEN layer < 64 THEN 1::UBIGINT << layer::UBIGINT END)) AS layers
                FROM predictions GROUP BY run_id, fact_id
            ) q LEFT JOIN facts f ON f.fact_id = q.fact_id GROUP BY q.run_id
        ) p ON p.run_id = r.run_id"""
    ),
    "groups": " UNION ALL ".join(
        f"SELECT run_id, '{name}' AS name, {_group(name)}, sum({total})::BIGINT AS n FROM {name} GROUP BY ALL"
        for name, (_, total) in COUNTS.items()
    ),
    # Of a run with predictions and no counts, whoever can counts them.
    "wanted_groups": (
        f"""
        WITH counted AS (
            SELECT run_id, n_probed, layers::INTEGER - 1 AS last,
                if(role = 'replicate' AND counted_layers = 1, layers::INTEGER - 1, 0) AS first
            FROM (
                SELECT *, (
                    SELECT count(*) FROM groups g WHERE g.run_id = r.run_id AND name = 'layer_counts'
                ) AS counted_layers FROM {ASKED} r
            )
            WHERE run_id IN (SELECT run_id FROM groups) OR run_id NOT IN (SELECT run_id FROM per_run)
        )
        SELECT run_id, n_probed AS n, 'layer_counts' AS name, unnest(range(first, last + 1))::INTEGER AS layer, 0 AS k
            FROM counted
        UNION ALL SELECT run_id, n_probed, 'total_counts', 0, 0 FROM counted
        UNION ALL SELECT run_id, n_probed, 'against_counts', unnest(range(greatest(first, 1), last))::INTEGER, k.k
            FROM counted, (SELECT unnest({list(RANKS)}) AS k) k"""
    ),
}

RULES = (
    Rule(
        f"SELECT run_id AS id, left_out FROM {ASKED} WHERE sum_of_reasons(left_out) IS NULL",
        "left_out is not JSON of reason -> count: {left_out!r}",
    ),
    Rule(
        "SELECT run_id AS id, n, n_probed * layers AS wanted, n_probed, layers, repeated, strange, "
        "if(layers = 1, 'layer', 'layers') AS of_layers FROM per_run WHERE n <> wanted",
        "{n} predictions, expected {wanted} ({n_probed} facts x {layers} {of_layers}); {repeated} of them repeat a fact"
        " and layer, {strange} of its facts are not stored",
    ),
    Rule(
        "SELECT run_id AS id, repeated FROM per_run WHERE repeated > 0",
        "{repeated} predictions are duplicates of a fact and layer",
    ),
    Rule(
        "SELECT run_id AS id, strange FROM per_run WHERE strange > 0",
        "{strange} facts of its predictions are in no facts file",
    ),
    Rule(
        f"""SELECT run_id AS id, name || CASE name WHEN 'layer_counts' THEN ', layer ' || layer
                WHEN 'against_counts' THEN ', layer ' || layer || ', k ' || k ELSE '' END AS place,
                coalesce(g.n, 0) AS n, coalesce(w.n, 0) AS wanted
            FROM (SELECT * FROM groups SEMI JOIN {ASKED} USING (run_id)) g
            FULL JOIN wanted_groups w USING (run_id, name, layer, k) WHERE coalesce(g.n, 0) <> coalesce(w.n, 0)""",
        "{place}: counts of {n:,} facts, expected {wanted:,}",
    ),
    Rule(
        f"""SELECT c.run_id AS id, min(c.relation) AS relation
            FROM (SELECT DISTINCT run_id, relation FROM layer_counts) c
            JOIN {ASKED} r USING (run_id)
            WHERE (r.probe_set, c.relation) NOT IN (SELECT (probe_set, relation) FROM facts) GROUP BY c.run_id""",
        "no facts file has the relation {relation} of its counts",
    ),
    Rule(
        "SELECT run_id AS id, last_layer, of_run - 1 AS last FROM per_run WHERE last_layer >= of_run",
        "it has predictions of layer {last_layer}, its last is {last}",
    ),
    Rule(
        f"""SELECT k.run_id AS id, count(*) AS n FROM known k JOIN {ASKED} r USING (run_id) JOIN facts f USING (fact_id)
            JOIN (SELECT DISTINCT model FROM exposure) m ON m.model = coalesce(nullif(r.base, ''), r.model)
            LEFT JOIN exposure e
                ON e.model = m.model AND e.fact_key = f.relation || chr(9) || f.subject || chr(9) || f.object
            WHERE k.exposure <> coalesce(e.exposure, 'unknown') GROUP BY k.run_id""",
        "{n:,} of its facts are counted with another exposure to the base's training text than is stored",
    ),
    Rule(
        f"SELECT run_id AS id, conf->>'lenders' AS rule FROM {ASKED} WHERE rule NOT IN ('', '{WITHOUT_THE_ANSWER}')",
        "its swapped subjects are chosen by another rule, {rule!r}, expected that of this version; run `probe` again",
    ),
    Rule(
        f"""SELECT c.run_id AS id, c.name FROM (
                SELECT run_id, 'swapped_counts' AS name, sum(n) AS n FROM swapped_counts GROUP BY run_id, layer
                UNION ALL SELECT run_id, 'inner_counts', sum(n) FROM inner_counts GROUP BY run_id, k
            ) c JOIN {ASKED} r USING (run_id) WHERE c.n > r.n_probed""",
        "{name} counts more facts than were asked",
    ),
    Rule(
        f"SELECT run_id AS id, tokenizer FROM {ASKED} WHERE tokenizer NOT IN (SELECT tokenizer FROM vocabulary)",
        "no vocabulary file has its tokenizer {tokenizer!r}",
    ),
)


FACTS = Kind(
    NAME,
    RunConfig,
    tables.TABLES,
    RULES,
    SCANS,
    about=tables.__doc__,
    listed=fact_runs,
    command="probe",
    title="runs",
    counts=count_facts,
    counted_from=("predictions", "facts", "vocabulary", "exposure"),
    needs=("layer_counts", "total_counts"),
    line=(
        "{head:<13} {probe_set:<12} {template_set:<10} read {n_read:,} = probed {n_probed:,} + left out"
        " ({left_out}){only}"
    ),
)


_ENDS = {
    end: ", ".join(f"{name}rank {sign} ({name}tied - 1) / 2" for name in ("", "alone_", "pmi_"))
    for end, sign in (("first", "-"), ("last", "+"))
}
#: What touches the gap on either side, and whether nothing else is there.
_AROUND = """(regexp_extract(prompt, '(\\S+|\\s+)\\[MASK\\]', 1), regexp_extract(prompt, '\\[MASK\\](\\S+|\\s+)', 1),
    regexp_matches(prompt, '^(\\S*|\\s*)\\[MASK\\]'), regexp_matches(prompt, '\\[MASK\\](\\S*|\\s*)$'))"""
CANDIDATE_RULES = (
    Rule(
        f"""SELECT run_id AS id, n_read, n_probed, sum_of_part(left_out, 'facts') AS n_left FROM {ASKED}
            WHERE n_read <> n_probed + sum_of_part(left_out, 'facts')""",
        "{n_read:,} facts were read, {n_probed:,} asked and {n_left:,} left out",
    ),
    Rule(
        f"""SELECT run_id AS id, r.n_probed, count(f.fact_id) AS n, count(DISTINCT f.fact_id) AS different
            FROM {ASKED} r LEFT JOIN candidate_facts f USING (run_id) GROUP BY ALL
            HAVING n <> n_probed OR different <> n_probed""",
        "{n:,} rows of {different:,} facts, expected {n_probed:,}",
    ),
    # A replicate has its last layer only.
    Rule(
        f"""SELECT r.run_id AS id, r.layers, r.n_probed * if(r.seed = 0, r.layers, 1)::BIGINT AS wanted,
                count(f.fact_id) AS n, count(DISTINCT (f.fact_id, k.layer)) AS different, max(k.layer) AS last
            FROM {ASKED} r LEFT JOIN candidate_ranks k ON k.run_id = r.run_id
            LEFT JOIN candidate_facts f ON f.run_id = k.run_id AND f.fact_id = k.fact_id
            GROUP BY r.run_id, r.layers, r.n_probed, r.seed
            HAVING n <> wanted OR different <> wanted OR last <> r.layers - 1""",
        "{n:,} ranks of its facts, {different:,} of them different, up to layer {last}; expected {wanted:,} of {layers}"
        " layers",
    ),
    Rule(
        f"""SELECT run_id AS id, fact_id, layer, candidates FROM candidate_ranks JOIN {ASKED} USING (run_id)
            JOIN candidate_facts USING (run_id, fact_id)
            WHERE greatest({_ENDS["last"]}) > candidates OR least({_ENDS["first"]}) < 1""",
        "fact {fact_id}, layer {layer}: a rank that {candidates:,} candidates do not have",
    ),
    Rule(
        f"""SELECT run_id AS id, fact_id, fewer_pieces, equal_pieces, candidates FROM candidate_facts JOIN {ASKED}
            USING (run_id) WHERE fewer_pieces::BIGINT + equal_pieces > candidates""",
        "fact {fact_id}: {fewer_pieces:,} candidates with fewer and {equal_pieces:,} with as many tokens, of"
        " {candidates:,}",
    ),
    # Prompts that are equal around the gap cut the candidates alike; long ones may leave out some.
    Rule(
        f"""WITH alike AS (
                SELECT f.*, candidates::BIGINT + filtered AS different, {_AROUND} AS around
                FROM candidate_facts f JOIN {ASKED} r USING (run_id)
                WHERE coalesce(by_part(r.left_out)['candidates']['{TOO_LONG}'], 0) = 0
            )
            SELECT run_id AS id, relation, 'candidates' AS what FROM alike
            GROUP BY run_id, relation, around HAVING min(different) < max(different)
            UNION ALL SELECT run_id, relation, 'candidates with fewer or as many tokens' FROM alike WHERE filtered = 0
            GROUP BY run_id, relation, around, pieces
            HAVING (min(fewer_pieces), min(equal_pieces)) <> (max(fewer_pieces), max(equal_pieces))""",
        "other numbers of {what} for prompts of the relation {relation} that are equal around the gap",
    ),
)


#: Shared with the runs on facts.
CANDIDATES = Kind(
    "candidates",
    CandidateRunConfig,
    tables.CANDIDATE_TABLES,
    CANDIDATE_RULES,
    about=tables.__doc__,
    listed=candidate_runs,
    command="probe --measure MEASURE",
    title="ranks among candidates",
    needs=("candidate_facts", "candidate_ranks"),
    line=(
        "{head:<13} {probe_set:<12} {template_set:<10} {measure}: read {n_read:,} = ranked {n_probed:,} + left out"
        " ({left_out})"
    ),
)


CARRIED_RULES = (
    Rule(
        f"""SELECT run_id AS id, n_read, n_probed, sum_of_reasons(left_out) AS n_left FROM {ASKED}
            WHERE n_read <> n_probed + sum_of_reasons(left_out)""",
        "{n_read:,} facts were read, {n_probed:,} asked and {n_left:,} left out",
    ),
    Rule(
        f"""SELECT r.run_id AS id, count(f.fact_id) AS n,
                least((r.conf->>'sample')::BIGINT, n_known) + least((r.conf->>'sample')::BIGINT, n_inner) AS wanted
            FROM {ASKED} r LEFT JOIN carried_facts f USING (run_id) GROUP BY ALL HAVING n <> wanted
                OR count(*) FILTER (f.part = 'known') <> least((r.conf->>'sample')::BIGINT, n_known)""",
        "{n:,} facts, expected {wanted:,}",
    ),
    Rule(
        f"""SELECT r.run_id AS id, f.fact_id, count(k.layer) AS n, any_value(r.layers) AS layers
            FROM {ASKED} r JOIN carried_facts f USING (run_id)
            LEFT JOIN carried_layers k ON k.run_id = f.run_id AND k.fact_id = f.fact_id
            GROUP BY r.run_id, f.fact_id HAVING n <> any_value(r.layers) OR max(k.layer) <> any_value(r.layers) - 1""",
        "{n} layers of the fact {fact_id}, expected {layers}",
    ),
    # After the last layer the state is what the head reads, and nothing is hidden.
    Rule(
        f"""SELECT run_id AS id, fact_id FROM {ASKED} r JOIN carried_layers k USING (run_id)
            LEFT JOIN carried_facts f USING (run_id, fact_id)
            WHERE f.part IS NULL OR (f.host IS NULL) <> (k.against IS NULL)
                OR (f.third IS NULL) <> (k.against_null IS NULL)
                OR (k.layer = r.layers - 1 AND ((f.part = 'known') <> k.read OR k.alone <> k.read
                    OR k.against <> k.read OR k.settled <> k.read))""",
        "fact {fact_id}: it has no row, other partners, or at the last layer not what the last layer answers",
    ),
)


#: Shared with the runs on facts.
CARRIED = Kind(
    "carried",
    CarriedRunConfig,
    tables.CARRIED_TABLES,
    CARRIED_RULES,
    about=tables.__doc__,
    listed=carried_runs,
    command="probe --measure carried",
    title="runs on what is carried",
    needs=("carried_facts", "carried_layers"),
    line=(
        "{probe_set:<12} {template_set:<10} read {n_read:,} = asked {n_probed:,} + left out ({left_out}); last layer"
        " answers {n_known:,}, only inner ones {n_inner:,}"
    ),
)
