"""When stored runs on facts, and counts that are kept without predictions, are complete and possible."""

from probing.core.facts.fact import PROBE_SETS
from probing.core.metrics import RANKS
from probing.store.rules.asking import ASKED, Rule, strays

#: Table of a counted run's facts -> what its counts are grouped by, and their sum; each group holds every fact of the run once.
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
    "per_run": f"""
        SELECT r.run_id, r.n_probed, {_LAYERS} AS layers, coalesce(p.n, 0) AS n, coalesce(p.repeated, 0) AS repeated,
            coalesce(p.strange, 0) AS strange, p.last_layer, r.layers AS of_run
        FROM {ASKED} r LEFT JOIN (
            SELECT q.run_id, sum(q.n)::BIGINT AS n, sum(q.n - coalesce(q.layers, 0))::BIGINT AS repeated,
                count(*) FILTER (f.fact_id IS NULL) AS strange, min(q.first_layer) AS first_layer, max(q.last_layer) AS last_layer
            FROM (
                SELECT run_id, fact_id, count(*) AS n, min(layer) AS first_layer, max(layer) AS last_layer,
                    bit_count(bit_or(CASE WHEN layer < 64 THEN 1::UBIGINT << layer::UBIGINT END)) AS layers
                FROM predictions GROUP BY run_id, fact_id
            ) q LEFT JOIN facts f ON f.fact_id = q.fact_id GROUP BY q.run_id
        ) p ON p.run_id = r.run_id WHERE NOT r.counted""",
    "highest": """
        SELECT run_id, max(greatest(gold_rank, answer_rank, other_rank)) AS rank, max(top_id) AS top,
            min(top_n) AS fewest, max(top_n) AS most FROM predictions GROUP BY run_id""",
    "tokens": "SELECT tokenizer, count(*) AS n FROM vocabulary GROUP BY tokenizer",
    "groups": " UNION ALL ".join(
        f"SELECT run_id, '{name}' AS name, {_group(name)}, sum({total})::BIGINT AS n FROM {name} GROUP BY ALL"
        for name, (_, total) in COUNTS.items()
    ),
    "wanted_groups": f"""
        WITH counted AS (
            SELECT run_id, n_probed, layers::INTEGER - 1 AS last, if(role = 'replicate' AND 1 = (SELECT count(*) FROM groups g
                WHERE g.run_id = r.run_id AND name = 'layer_counts'), layers::INTEGER - 1, 0) AS first
            FROM {ASKED} r WHERE counted
        )
        SELECT run_id, n_probed AS n, 'layer_counts' AS name, unnest(range(first, last + 1))::INTEGER AS layer, 0 AS k FROM counted
        UNION ALL SELECT run_id, n_probed, 'total_counts', 0, 0 FROM counted
        UNION ALL SELECT run_id, n_probed, 'against_counts', unnest(range(greatest(first, 1), last))::INTEGER, k.k
            FROM counted, (SELECT unnest({list(RANKS)}) AS k) k""",
}

_MINOR = "TRY_CAST(split_part(code_version, '.', 2) AS INTEGER)"
#: The command that makes a run again.
_AGAIN = f"""'python -m probing probe --model ' || model || ' --head ' || head || if(seed > 0, ' --seed ' || seed, '')
    || if(probe_set IN {tuple(PROBE_SETS)}, ' --facts ' || probe_set, ' --facts FILE --as ' || probe_set)
    || if(template_set <> 'default', ' --templates ' || template_set, '')"""

#: The rules that decide whether a run's counts would look like results.
RULES = (
    # Before version 0.3 a swapped subject could have the fact's answer, and no file names it.
    Rule(
        "version",
        f"SELECT run_id AS id, code_version, {_AGAIN} AS again FROM {ASKED} WHERE split_part(code_version, '.', 1) = '0' AND {_MINOR} < 3",
        "version {code_version} of the program made it; runs made before 0.3 are no longer read: make it again with `{again}`",
        blocks=True,
        mend="then delete its files",
    ),
    *strays("predictions", "runs"),
    Rule(
        "left out",
        f"SELECT run_id AS id, left_out FROM {ASKED} WHERE sum_of_reasons(left_out) IS NULL",
        "left_out is not JSON of reason -> count: {left_out!r}",
    ),
    Rule(
        "facts read",
        f"SELECT run_id AS id, n_read, n_probed + sum_of_reasons(left_out) AS n FROM {ASKED} WHERE n_read <> n",
        "read {n_read}, but probed and left out are {n}",
    ),
    Rule(
        "role",
        f"SELECT run_id AS id, role, seed FROM {ASKED} WHERE role <> if(seed = 0, 'primary', 'replicate')",
        "its row says role {role!r} with seed {seed}",
    ),
    Rule(
        "number of predictions",
        "SELECT run_id AS id, n, n_probed * layers AS wanted, n_probed, layers, repeated, strange, "
        "if(layers = 1, 'layer', 'layers') AS of_layers FROM per_run WHERE n <> wanted",
        "{n} predictions, expected {wanted} ({n_probed} facts x {layers} {of_layers}); {repeated} of them repeat a fact and layer, "
        "{strange} of its facts are not stored",
        blocks=True,
    ),
    Rule(
        "repeated predictions",
        "SELECT run_id AS id, repeated FROM per_run WHERE repeated > 0",
        "{repeated} predictions are duplicates of a fact and layer",
        blocks=True,
    ),
    Rule(
        "stored facts",
        "SELECT run_id AS id, strange FROM per_run WHERE strange > 0",
        "{strange} facts of its predictions are in no facts file",
        blocks=True,
    ),
    Rule(
        "facts counted",
        f"""SELECT run_id AS id, name || CASE name WHEN 'layer_counts' THEN ', layer ' || layer
                WHEN 'against_counts' THEN ', layer ' || layer || ', k ' || k ELSE '' END AS place,
                coalesce(g.n, 0) AS n, coalesce(w.n, 0) AS wanted
            FROM (SELECT * FROM groups SEMI JOIN (SELECT run_id FROM {ASKED} WHERE counted) USING (run_id)) g
            FULL JOIN wanted_groups w USING (run_id, name, layer, k) WHERE coalesce(g.n, 0) <> coalesce(w.n, 0)""",
        "{place}: counts of {n:,} facts, expected {wanted:,}",
        blocks=True,
    ),
    Rule(
        "relations counted",
        f"""SELECT c.run_id AS id, min(c.relation) AS relation FROM (SELECT DISTINCT run_id, relation FROM layer_counts) c
            JOIN {ASKED} r USING (run_id) WHERE r.counted
            AND (r.probe_set, c.relation) NOT IN (SELECT (probe_set, relation) FROM facts) GROUP BY c.run_id""",
        "no facts file has the relation {relation} of its counts",
        blocks=True,
    ),
    Rule(
        "layers of predictions",
        "SELECT run_id AS id, last_layer, of_run - 1 AS last FROM per_run WHERE last_layer >= of_run",
        "it has predictions of layer {last_layer}, its last is {last}",
    ),
    Rule(
        "vocabulary",
        f"SELECT run_id AS id, tokenizer FROM {ASKED} WHERE tokenizer NOT IN (SELECT tokenizer FROM tokens)",
        "no vocabulary file has its tokenizer {tokenizer!r}",
    ),
    Rule(
        "ranks",
        f"SELECT run_id AS id, h.rank, t.n FROM highest h JOIN {ASKED} r USING (run_id) JOIN tokens t USING (tokenizer) WHERE h.rank > t.n",
        "it has the rank {rank:,}, its vocabulary has {n:,} tokens",
    ),
    Rule(
        "best tokens",
        f"SELECT run_id AS id, h.top, t.n FROM highest h JOIN {ASKED} r USING (run_id) JOIN tokens t USING (tokenizer) WHERE h.top >= t.n",
        "it has the token number {top:,}, its vocabulary has {n:,} tokens",
    ),
    Rule(
        "numbers of best tokens",
        f"""SELECT run_id AS id, h.fewest, h.most, least(r.top_k, t.n) AS wanted FROM highest h JOIN {ASKED} r USING (run_id)
            JOIN tokens t USING (tokenizer) WHERE h.fewest <> h.most OR h.most NOT IN (0, wanted)""",
        "top_ids has lists of {fewest} to {most} values, expected {wanted}, the run's top_k",
    ),
    Rule(
        "runs of swapped subjects",
        "SELECT DISTINCT run_id AS id FROM lenders ANTI JOIN predictions USING (run_id) ANTI JOIN runs USING (run_id)",
        "has rows of lenders, but neither predictions nor a row in any runs file",
    ),
    *(
        Rule(
            f"runs of {name}",
            f"SELECT DISTINCT run_id AS id FROM {name} ANTI JOIN counted_runs USING (run_id)",
            f"no counted_runs file has the run of its rows of {name}",
        )
        for name in COUNTS
    ),
    *(
        rule
        for name, column in (("swapped_counts", "layer"), ("inner_counts", "k"))
        for rule in (
            Rule(
                f"runs of {name}",
                f"SELECT DISTINCT run_id AS id FROM {name} ANTI JOIN counted_runs USING (run_id) ANTI JOIN swapped_runs USING (run_id)",
                "no swapped_runs file says where its counts come from",
            ),
            Rule(
                f"facts of {name}",
                f"""SELECT run_id AS id, n, coalesce(r.n_probed, 0) AS n_probed FROM (
                    SELECT run_id, {column}, sum(n)::BIGINT AS n FROM {name} GROUP BY ALL) LEFT JOIN {ASKED} r USING (run_id)
                    WHERE n > coalesce(r.n_probed, 0)""",
                "counts {n:,} facts of the run, which asked {n_probed:,}",
            ),
        )
    ),
)
