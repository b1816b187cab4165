"""The kind of run that stores edge probing: its files, and when it is complete."""

from probing.edges import tables
from probing.edges.requests import EdgeRunConfig
from probing.edges.store import count_edges, edge_runs
from probing.edges.targets import FULL
from probing.edges.tasks import EDGE_TASKS
from probing.kernel.store.kinds import ASKED, Kind, Rule

_WANTED = f"CASE r.kind WHEN '{FULL}' THEN [r.layers::BIGINT - 1] ELSE range(r.layers::BIGINT) END"
_OF_LAYERS = ("edge_scores", "edge_mix", "edge_training", "edge_codes")
_TRAINED = "JOIN edge_labels l ON l.task = r.task AND l.label = s.label AND l.n > 0"
_TARGET = "t.task = r.task AND t.part = p.part AND t.target = p.target"

SCANS = {
    "found_layers": " UNION ALL ".join(
        f"""SELECT run_id, '{name}' AS name, list(layer ORDER BY layer)::BIGINT[] AS found, min(n) < max(n) AS uneven
            FROM (SELECT run_id, layer, count(*) AS n FROM {name} GROUP BY ALL) GROUP BY run_id"""
        for name in _OF_LAYERS
    ),
    # Predictions are joined with targets after they are grouped: there are a dozen layers of each.
    "answered_targets": (
        f"""
        SELECT r.run_id, r.task, p.part, p.target, count(*) AS n, min(p.layer) AS first, max(p.layer) AS last,
            min(len(p.p_gold)) AS fewest, max(len(p.p_gold)) AS most,
            max(greatest(p.top, p.wrong, list_max(p.predicted))) AS label
        FROM edge_predictions p JOIN {ASKED} r ON r.run_id = p.run_id GROUP BY ALL"""
    ),
    "answered_parts": (
        f"""
        SELECT r.run_id, p.part, count(*) AS targets, sum(p.n)::BIGINT AS n,
            min(p.target) FILTER (t.target IS NULL) AS stray,
            count(*) FILTER (p.n <> p.last - p.first + 1 OR p.last <> r.layers - 1 OR p.n <> len({_WANTED})) AS uneven,
            count(*) FILTER (p.fewest <> len(t.gold) OR p.most <> len(t.gold)) AS other_gold,
            max(greatest(p.label, list_max(t.gold), list_max(t.memory))) AS label
        FROM answered_targets p JOIN {ASKED} r ON r.run_id = p.run_id LEFT JOIN edge_targets t ON {_TARGET}
        GROUP BY r.run_id, p.part"""
    ),
}

#: Counts of a probe's answers for one label, as ``edges.rows`` counts them; the last label may be that of all gold
#: labels that training does not have.
SCANS["answered_labels"] = f"""
    WITH said AS (
        SELECT p.run_id, r.task, p.layer, p.part, t.seen, p.predicted, t.gold, t.unknown_gold
        FROM edge_predictions p JOIN {ASKED} r ON r.run_id = p.run_id JOIN edge_targets t ON {_TARGET}
    ), each AS (
        SELECT run_id, layer, part, seen, unnest(predicted) AS label, gold AS other, true AS said FROM said
        UNION ALL SELECT run_id, layer, part, seen, unnest(gold), predicted, false FROM said
    ), counted AS (
        SELECT run_id, layer, part, seen, label, count(*) FILTER (said AND list_contains(other, label)) AS tp,
            count(*) FILTER (said AND NOT list_contains(other, label)) AS fp,
            count(*) FILTER (NOT said AND NOT list_contains(other, label)) AS fn
        FROM each GROUP BY ALL
    ), together AS (
        SELECT run_id, task, layer, part, s.seen, count(*) FILTER (said.seen = s.seen) AS n,
            coalesce(sum(unknown_gold) FILTER (said.seen = s.seen), 0) AS missed,
            count(*) FILTER (said.seen = s.seen AND unknown_gold = 0) AS others
        FROM said, (SELECT unnest([true, false]) AS seen) s GROUP BY ALL
    )
    SELECT run_id, layer, part, seen, label, coalesce(tp, 0) AS tp, coalesce(fp, 0) AS fp,
        if(l.n > 0, coalesce(fn, 0), missed)::BIGINT AS fn, if(l.n > 0, t.n - coalesce(tp + fp + fn, 0), others) AS tn
    FROM together t JOIN edge_labels l USING (task) LEFT JOIN counted c USING (run_id, layer, part, seen, label)"""

RULES = (
    Rule(
        f"""SELECT run_id AS id, task FROM {ASKED} WHERE task NOT IN (
            SELECT task FROM edge_labels GROUP BY task HAVING max(label) = count(*) - 1 AND max(n) > 0)""",
        "no labels of its task {task} are stored, or not all",
    ),
    Rule(
        f"""SELECT id, name, found, wanted FROM (
            SELECT r.run_id AS id, n.name, coalesce(f.found, []) AS found, {_WANTED} AS wanted, coalesce(f.uneven,
                false) AS uneven
            FROM {ASKED} r CROSS JOIN (SELECT unnest({list(_OF_LAYERS)}) AS name) n
            LEFT JOIN found_layers f ON f.run_id = r.run_id AND f.name = n.name WHERE r.codes OR n.name <> 'edge_codes'
            ) WHERE found <> wanted OR uneven AND name <> 'edge_mix'""",
        "{name} has the layers {found}, expected {wanted}, each with as many rows",
    ),
    Rule(
        f"""SELECT run_id AS id, part, min(n) AS least, max(n) AS most FROM (
            SELECT r.run_id, s.part, s.seen, s.tp + s.fp + s.fn + s.tn AS n
            FROM edge_scores s JOIN {ASKED} r ON r.run_id = s.run_id {_TRAINED}
            ) GROUP BY run_id, part, seen HAVING least < most""",
        "scores of {part} are of {least:,} to {most:,} targets, expected one number",
    ),
    Rule(
        f"""SELECT r.run_id AS id, a.part, a.n, a.targets, len({_WANTED}) AS layers FROM answered_parts a JOIN {ASKED}
            r USING (run_id)
            WHERE a.uneven > 0""",
        "{n:,} predictions of {part}, expected {targets:,} targets x {layers} layers",
    ),
    Rule(
        "SELECT run_id AS id, part, stray FROM answered_parts WHERE stray IS NOT NULL",
        "answers to the target {stray} of {part}, which is not stored",
    ),
    Rule(
        "SELECT run_id AS id, part, other_gold FROM answered_parts WHERE other_gold > 0",
        "answers to {other_gold:,} targets of {part} have other gold labels than their targets",
    ),
    Rule(
        f"""SELECT s.run_id AS id, max(s.label) AS label, n.n FROM (
                SELECT run_id, label FROM edge_scores UNION ALL SELECT run_id, label FROM answered_parts
            ) s JOIN {ASKED} r ON r.run_id = s.run_id
            JOIN (SELECT task, count(*) AS n FROM edge_labels GROUP BY task) n ON n.task = r.task
            GROUP BY s.run_id, n.n HAVING max(s.label) >= n.n""",
        "a score, target or answer has the label number {label}, its task has {n} labels",
    ),
    Rule(
        f"SELECT run_id AS id, layer FROM edge_codes JOIN {ASKED} USING (run_id) GROUP BY ALL HAVING max(portion) + 1"
        " <> count(*)",
        "the code of layer {layer} lacks a portion",
    ),
    Rule(
        f"""SELECT r.run_id AS id, s.sentence, s.task FROM edge_sentences s JOIN {ASKED} r ON r.task = s.task
            WHERE sha256(s.text) <> s.text_sha256""",
        "sentence {sentence} of its task {task} has another text than its sha256 says",
    ),
    Rule(
        f"""SELECT run_id AS id, s.layer, s.part, s.label FROM edge_scores s JOIN {ASKED} r USING (run_id)
            JOIN answered_labels a USING (run_id, layer, part, seen, label)
            WHERE (s.tp, s.fp, s.fn, s.tn) <> (a.tp, a.fp, a.fn, a.tn)""",
        "layer {layer}, {part}: other counts of the label {label} than its answers give",
    ),
)


EDGES = Kind(
    "edges",
    EdgeRunConfig,
    tables.TABLES,
    RULES,
    SCANS,
    about=tables.__doc__,
    listed=edge_runs,
    command="edges train",
    title="probes",
    open_tasks=dict.fromkeys(EDGE_TASKS, True),
    counts=count_edges,
    counted_from=("edge_predictions", "edge_targets", "edge_labels"),
    needs=("edge_scores",),
    line="edges {task:<18} {kind} probes, {encoder} encoder, {labels} labels, seed {seed}",
)
