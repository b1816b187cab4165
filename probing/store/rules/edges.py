"""When stored edge probing is complete and possible."""

from probing.core.edges.encoders import AT, CONTROL, FULL
from probing.store.rules.asking import ASKED, Rule, strays

#: The smallest probability, in steps of 1/255, with which a label is predicted.
_GIVEN = 128
#: How far a sum of weights may lie from 1.
_ROUNDING = 1e-6
_WANTED = f"CASE r.kind WHEN '{FULL}' THEN [r.layers::BIGINT - 1] ELSE range(r.layers::BIGINT) END"
_OF_LAYERS = ("edge_scores", "edge_mix", "edge_training", "edge_codes")
_TRAINED = "JOIN edge_labels l ON l.task = r.task AND l.label = s.label AND l.n > 0"
_TARGET = "t.task = r.task AND t.part = p.part AND t.target = p.target"

SCANS = {
    "found_layers": " UNION ALL ".join(
        f"SELECT run_id, '{name}' AS name, list(DISTINCT layer ORDER BY layer)::BIGINT[] AS found FROM {name} GROUP BY run_id"
        for name in _OF_LAYERS[1:]
    ),
    # Predictions are joined with targets after they are grouped: there are a dozen layers of each.
    "answered_targets": f"""
        SELECT r.run_id, r.task, p.part, p.target, count(*) AS n, min(p.layer) AS first, max(p.layer) AS last,
            min(len(p.p_gold)) AS fewest, max(len(p.p_gold)) AS most, min(p.wrong) <> max(p.wrong) AS several
        FROM edge_predictions p JOIN {ASKED} r ON r.run_id = p.run_id GROUP BY ALL""",
    "answered_parts": f"""
        SELECT r.run_id, p.part, count(*) AS targets, sum(p.n)::BIGINT AS n, min(p.target) FILTER (t.target IS NULL) AS stray,
            count(*) FILTER (p.n <> p.last - p.first + 1 OR p.last <> r.layers - 1 OR p.n <> len({_WANTED})) AS uneven,
            count(*) FILTER (p.fewest <> len(t.gold) OR p.most <> len(t.gold)) AS other_gold, bool_or(p.several) AS several
        FROM answered_targets p JOIN {ASKED} r ON r.run_id = p.run_id LEFT JOIN edge_targets t ON {_TARGET} GROUP BY r.run_id, p.part""",
    "answer_values": f"""
        SELECT p.run_id, p.part, max(greatest(p.top, p.wrong, list_max(p.predicted))) AS label, max(p.p_sum) AS p_sum,
            bool_or(p.p_wrong > p.p_top OR list_max(p.p_gold) > p.p_top
                OR coalesce(list_sum(p.p_gold), 0) + if(list_contains(t.gold, p.wrong), 0, p.p_wrong) > p.p_sum) AS above,
            bool_or(list_contains(p.predicted, p.top) <> (p.p_top >= {_GIVEN})
                OR list_contains(p.predicted, p.wrong) <> (p.p_wrong >= {_GIVEN})
                OR len(list_filter(list_zip(t.gold, p.p_gold), lambda x: list_contains(p.predicted, x[1]) <> (x[2] >= {_GIVEN}))) > 0)
                AS given
        FROM edge_predictions p JOIN {ASKED} r ON r.run_id = p.run_id JOIN edge_targets t ON {_TARGET}
        WHERE len(t.gold) = len(p.p_gold) GROUP BY ALL""",
    "answer_counts": f"""
        SELECT run_id, part, layer, seen, label, count(*) AS said, count(*) FILTER (list_contains(gold, label)) AS tp
        FROM (SELECT p.run_id, p.part, p.layer, t.seen, t.gold, unnest(list_distinct(p.predicted)) AS label
            FROM edge_predictions p JOIN {ASKED} r ON r.run_id = p.run_id JOIN edge_targets t ON {_TARGET}) GROUP BY ALL""",
    "gold_counts": f"""
        SELECT run_id, part, seen, label, count(*) AS gold FROM (
            SELECT p.run_id, p.part, t.seen, unnest(list_distinct(t.gold)) AS label
            FROM answered_targets p JOIN {ASKED} r ON r.run_id = p.run_id JOIN edge_targets t ON {_TARGET}) GROUP BY ALL""",
    # The gold labels of the probed targets; of a part without predictions, all targets of it, if none was left out.
    "probed_gold": f"""
        SELECT run_id, part, label, sum(gold)::BIGINT AS gold FROM (
            SELECT run_id, part, label, gold FROM gold_counts
            UNION ALL SELECT r.run_id, p.part, l.label, sum(t.unknown_gold) FROM answered_targets p JOIN {ASKED} r ON r.run_id = p.run_id
                JOIN edge_targets t ON {_TARGET} JOIN edge_labels l ON l.task = r.task AND l.n = 0 GROUP BY ALL
            UNION ALL SELECT r.run_id, g.part, g.label, g.gold FROM {ASKED} r JOIN (
                SELECT task, part, label, count(*) AS gold FROM (SELECT task, part, unnest(gold) AS label FROM edge_targets) GROUP BY ALL
                UNION ALL SELECT t.task, t.part, l.label, sum(t.unknown_gold) FROM edge_targets t
                    JOIN edge_labels l ON l.task = t.task AND l.n = 0 GROUP BY ALL
            ) g ON g.task = r.task WHERE (r.run_id, g.part) NOT IN (SELECT (run_id, part) FROM answered_parts)
        ) GROUP BY ALL""",
}


def _tasks(names: str) -> str:
    """SQL of the tasks of some tables, and those that only others have."""
    return " UNION ".join(f"SELECT task FROM {name}" for name in names.split())


RULES = (
    *strays("edge_scores edge_mix edge_codes edge_training edge_predictions", "edge_runs"),
    Rule(
        "labels of the task",
        f"SELECT run_id AS id, task FROM {ASKED} WHERE task NOT IN (SELECT task FROM edge_labels WHERE n > 0)",
        "no labels of its task {task} are stored", blocks=True,
    ),
    Rule(
        "left out",
        f"SELECT run_id AS id, left_out FROM {ASKED} WHERE NOT sums_are_parts(left_out)",
        "left_out is not JSON of part -> reason -> count: {left_out!r}",
    ),
    Rule(
        "layers of scores",
        f"""SELECT r.run_id AS id, coalesce(s.found, []) AS found, {_WANTED} AS wanted FROM {ASKED} r LEFT JOIN
            (SELECT run_id, list(DISTINCT layer ORDER BY layer)::BIGINT[] AS found FROM edge_scores GROUP BY run_id) s USING (run_id)
            WHERE coalesce(s.found, []) <> {_WANTED}""",
        "edge_scores has the layers {found}, expected {wanted}", blocks=True,
    ),
    Rule(
        "targets of scores",
        f"""SELECT run_id AS id, part, min(n) AS least, max(n) AS most FROM (
            SELECT r.run_id, s.part, s.seen, s.tp + s.fp + s.fn + s.tn AS n
            FROM edge_scores s JOIN {ASKED} r ON r.run_id = s.run_id {_TRAINED}
            ) GROUP BY run_id, part, seen HAVING least < most""",
        "scores of {part} are of {least:,} to {most:,} targets, expected one number", blocks=True,
    ),
    Rule(
        "number of predictions",
        f"""SELECT r.run_id AS id, a.part, a.n, a.targets, len({_WANTED}) AS layers FROM answered_parts a JOIN {ASKED} r USING (run_id)
            WHERE a.uneven > 0""",
        "{n:,} predictions of {part}, expected {targets:,} targets x {layers} layers", blocks=True,
    ),
    Rule(
        "targets of predictions",
        "SELECT run_id AS id, part, stray FROM answered_parts WHERE stray IS NOT NULL",
        "answers to the target {stray} of {part}, which is not stored", blocks=True,
    ),
    Rule(
        "gold labels of predictions",
        "SELECT run_id AS id, part, other_gold FROM answered_parts WHERE other_gold > 0",
        "answers to {other_gold:,} targets of {part} have other gold labels than their targets", blocks=True,
    ),
    Rule(
        "layers",
        f"""SELECT id, name, found, wanted FROM (
            SELECT r.run_id AS id, n.name, coalesce(f.found, []) AS found, {_WANTED} AS wanted
            FROM {ASKED} r, (SELECT unnest({list(_OF_LAYERS[1:])}) AS name) n
            LEFT JOIN found_layers f ON f.run_id = r.run_id AND f.name = n.name WHERE r.codes OR n.name <> 'edge_codes'
            ) WHERE found <> wanted""",
        "{name} has the layers {found}, expected {wanted}",
    ),
    Rule(
        "labels of scores",
        f"""SELECT r.run_id AS id, min(s.label) AS label FROM edge_scores s JOIN {ASKED} r USING (run_id)
            WHERE (r.task, s.label) NOT IN (SELECT (task, label) FROM edge_labels) GROUP BY r.run_id""",
        "scores of the label number {label}, which its task does not have",
    ),
    Rule(
        "gold labels at every layer",
        f"""SELECT run_id AS id, part, label, min(gold) AS least, max(gold) AS most FROM (
            SELECT s.run_id, s.part, s.label, s.layer, sum(s.tp + s.fn) AS gold FROM edge_scores s JOIN {ASKED} USING (run_id) GROUP BY ALL
            ) GROUP BY ALL HAVING least < most""",
        "tp + fn of label {label} on {part} are {least:,} to {most:,}, expected one number at every layer",
    ),
    Rule(
        "gold labels of targets",
        f"""SELECT r.run_id AS id, s.label, s.part, sum(s.tp + s.fn) AS n, coalesce(any_value(g.gold), 0) AS gold
            FROM edge_scores s JOIN {ASKED} r ON r.run_id = s.run_id
            LEFT JOIN probed_gold g ON g.run_id = s.run_id AND g.part = s.part AND g.label = s.label
            WHERE r.labels <> '{CONTROL}' AND s.layer = if(r.kind = '{FULL}', r.layers - 1, 0)
                AND s.part IN (SELECT part FROM edge_targets WHERE task = r.task) AND ((s.run_id, s.part) IN
                (SELECT (run_id, part) FROM answered_parts) OR sum_of_part(r.left_out, s.part) = 0)
            GROUP BY r.run_id, s.label, s.part HAVING n <> gold""",
        "tp + fn of label {label} on {part} is {n:,}, but {gold:,} targets have it",
    ),
    Rule(
        "weights",
        f"""SELECT run_id AS id, layer, list(weight ORDER BY of_layer) AS weights FROM edge_mix JOIN {ASKED} USING (run_id)
            GROUP BY ALL HAVING abs(sum(weight) - 1) > {_ROUNDING}""",
        "the weights of the probe of layer {layer} are {weights}, expected shares that sum to 1",
    ),
    Rule(
        "layers that a probe mixes",
        f"""SELECT m.run_id AS id, m.layer, if(r.kind = '{AT}', 'of other layers', 'above it') AS what
            FROM edge_mix m JOIN {ASKED} r USING (run_id)
            WHERE m.weight <> 0 AND (m.of_layer > m.layer OR (r.kind = '{AT}' AND m.of_layer <> m.layer))""",
        "the probe of layer {layer} has weights {what}, expected 0",
    ),
    Rule(
        "portions of the code",
        f"""SELECT run_id AS id, layer FROM edge_codes JOIN {ASKED} USING (run_id) GROUP BY ALL HAVING max(portion) + 1 <> count(*)""",
        "the code of layer {layer} lacks a portion",
    ),
    Rule(
        "sizes of portions",
        f"""SELECT run_id AS id, portion FROM edge_codes JOIN {ASKED} r USING (run_id) GROUP BY ALL
            HAVING count(DISTINCT targets) > 1 OR count(DISTINCT uniform) > 1 OR count(*) <> len(any_value({_WANTED}))""",
        "portions of the code differ in number or size from layer to layer",
    ),
    Rule(
        "best step",
        f"SELECT run_id AS id, layer FROM edge_training JOIN {ASKED} USING (run_id) WHERE best_step > steps",
        "the best step of layer {layer} comes after the last one",
    ),
    Rule(
        "one wrong label per target",
        "SELECT run_id AS id, part FROM answered_parts WHERE several",
        "a target of {part} has several best wrong labels, expected one for all layers",
    ),
    Rule(
        "predicted labels",
        f"""SELECT r.run_id AS id, a.part, a.label, n.n FROM answer_values a JOIN {ASKED} r USING (run_id)
            JOIN (SELECT task, count(*) AS n FROM edge_labels WHERE n > 0 GROUP BY task) n ON n.task = r.task WHERE a.label >= n.n""",
        "an answer on {part} is the label number {label}, the probes have {n}",
    ),
    Rule(
        "order of probabilities",
        "SELECT run_id AS id, part FROM answer_values WHERE above",
        "a probability on {part} is above that of the most probable label, or above the sum of all",
    ),
    Rule(
        "probabilities of predicted labels",
        "SELECT run_id AS id, part FROM answer_values WHERE given",
        "an answer on {part} gives a label with a probability below one half, or does not give one above",
    ),
    Rule(
        "scores of predictions",
        f"""SELECT id, label, layer, part, n.name, n.stored, n.found FROM (
            SELECT s.run_id AS id, s.label, s.layer, s.part, unnest([
                {{'name': 'tp', 'stored': s.tp, 'found': coalesce(a.tp, 0)}},
                {{'name': 'fp', 'stored': s.fp, 'found': coalesce(a.said - a.tp, 0)}},
                {{'name': 'fn', 'stored': s.fn, 'found': coalesce(g.gold, 0) - coalesce(a.tp, 0)}}]) AS n
            FROM edge_scores s JOIN {ASKED} r ON r.run_id = s.run_id {_TRAINED}
            JOIN answered_parts p ON p.run_id = s.run_id AND p.part = s.part
            LEFT JOIN answer_counts a ON (a.run_id, a.part, a.layer, a.seen, a.label) = (s.run_id, s.part, s.layer, s.seen, s.label)
            LEFT JOIN gold_counts g ON (g.run_id, g.part, g.seen, g.label) = (s.run_id, s.part, s.seen, s.label)
            ) WHERE n.stored <> n.found""",
        "{name} of label {label} at layer {layer} on {part} is {stored:,}, its answers give {found:,}",
    ),
    Rule(
        "sums of probabilities",
        f"""SELECT r.run_id AS id, a.part, a.p_sum, n.n FROM answer_values a JOIN {ASKED} r USING (run_id)
            JOIN (SELECT task, count(*) AS n FROM edge_labels WHERE n > 0 GROUP BY task) n ON n.task = r.task WHERE a.p_sum > 255 * n.n""",
        "a sum of probabilities on {part} is {p_sum:,} steps, {n:,} labels give at most 255 each",
    ),
    Rule(
        "parts",
        f"SELECT task AS id FROM ({_tasks('edge_tasks edge_labels edge_sentences edge_targets edge_baselines')}) "
        "WHERE task NOT IN (SELECT task FROM edge_tasks WHERE part = 'train')",
        "no training part of its data is stored in edge_tasks", of="task",
    ),
    Rule(
        "dropped",
        "SELECT task AS id, part, dropped FROM edge_tasks WHERE sum_of_reasons(dropped) IS NULL",
        "dropped of {part} is not JSON of reason -> count: {dropped!r}", of="task",
    ),
    Rule(
        "numbers of labels",
        "SELECT task AS id, list(label ORDER BY label)[:5] AS labels, count(*) - 1 AS last FROM edge_labels "
        "GROUP BY task HAVING max(label) <> last",
        "its labels have the numbers {labels}..., expected 0 to {last}", of="task",
    ),
    Rule(
        "names of labels",
        "SELECT task AS id, name FROM edge_labels GROUP BY ALL HAVING count(*) > 1",
        "two labels are called {name!r}", of="task",
    ),
    *(
        Rule(
            f"{column} labels",
            f"""SELECT t.task AS id, min(t.label) AS label FROM (SELECT task, unnest({column}) AS label FROM edge_targets) t
                WHERE (t.task, t.label) NOT IN (SELECT (task, label) FROM edge_labels WHERE n > 0) GROUP BY t.task""",
            f"a target has the {column} label number {{label}}, which no training target has", of="task",
        )
        for column in ("gold", "memory")
    ),
    *(
        Rule(
            f"number of {column} labels",
            f"""SELECT t.task AS id, max(len(t.{column})) AS most, any_value(l.n) AS n FROM edge_targets t
                JOIN (SELECT task, count(*) AS n FROM edge_labels WHERE n > 0 GROUP BY task) l ON l.task = t.task
                GROUP BY t.task HAVING most > any_value(l.n)""",
            f"a target has {{most:,}} {column} labels, its task has {{n:,}}", of="task",
        )
        for column in ("gold", "memory")
    ),
    Rule(
        "sentences of targets",
        "SELECT task AS id, part, sentence FROM edge_targets ANTI JOIN edge_sentences USING (task, part, sentence)",
        "a target is of sentence {sentence} of {part}, which is not stored", of="task",
    ),
    Rule(
        "spans",
        "SELECT task AS id FROM edge_targets WHERE end1 <= start1 OR end2 <= start2 OR (start2 IS NULL) <> (end2 IS NULL)",
        "a target has a span that ends before it begins, or half a span", of="task",
    ),
    Rule(
        "number of spans",
        """SELECT t.task AS id, t.spans FROM edge_tasks t JOIN edge_targets g ON g.task = t.task
            WHERE t.spans <> if(g.start2 IS NULL, 1, 2)""",
        "some targets have other than [{spans}] spans", of="task",
    ),
    Rule(
        "number of targets",
        """SELECT g.task AS id, g.part, count(*) AS n, coalesce(any_value(t.targets), 0) AS said FROM edge_targets g
            LEFT JOIN edge_tasks t ON t.task = g.task AND t.part = g.part GROUP BY g.task, g.part HAVING n > said""",
        "{n:,} targets of {part} are stored, edge_tasks says {said:,}", of="task",
    ),
    Rule(
        "unseen labels",
        """SELECT g.task AS id, g.part, sum(g.unknown_gold) AS n, coalesce(any_value(t.unseen_labels), 0) AS said FROM edge_targets g
            LEFT JOIN edge_tasks t ON t.task = g.task AND t.part = g.part GROUP BY g.task, g.part HAVING n > said""",
        "targets of {part} have {n:,} labels that training lacks (unknown_gold), edge_tasks says {said:,}", of="task",
    ),
    Rule(
        "hashes of sentences",
        "SELECT task AS id, text_sha256 FROM edge_sentences WHERE NOT regexp_full_match(text_sha256, '[0-9a-f]{64}')",
        "{text_sha256!r} is no sha256 of a sentence", of="task",
    ),
    Rule(
        "texts of sentences",
        "SELECT task AS id, sentence FROM edge_sentences WHERE sha256(text) <> text_sha256",
        "sentence {sentence} has another text than its sha256 says", of="task",
    ),
    Rule(
        "ends of spans",
        """SELECT g.task AS id, g.target, g.part FROM edge_targets g JOIN edge_sentences s USING (task, part, sentence)
            WHERE greatest(g.end1, g.end2) > len(string_split(s.text, ' '))""",
        "a span of target {target} of {part} ends beyond its sentence", of="task",
    ),
    Rule(
        "labels of baselines",
        """SELECT b.task AS id, min(b.label) AS label FROM edge_baselines b
            WHERE (b.task, b.label) NOT IN (SELECT (task, label) FROM edge_labels) GROUP BY b.task""",
        "a baseline has the label number {label}, which is not stored", of="task",
    ),
    Rule(
        "baselines",
        """SELECT t.task AS id, t.part, b.name FROM edge_tasks t, (SELECT unnest(['memory', 'majority']) AS name) b
            WHERE t.part NOT IN ('train', 'own') AND (t.task, t.part, b.name) NOT IN (SELECT (task, part, baseline) FROM edge_baselines)""",
        "{part} has no baseline {name}", of="task",
    ),
    Rule(
        "labels of each baseline",
        """SELECT task AS id, part, min(n) AS least, max(n) AS most FROM (
                SELECT b.task, b.part, b.baseline, b.seen, count(l.label) AS n FROM edge_baselines b
                LEFT JOIN edge_labels l ON l.task = b.task AND l.label = b.label AND l.n > 0 GROUP BY ALL
                UNION ALL SELECT b.task, b.part, '', false, l.n FROM edge_baselines b JOIN (
                    SELECT task, count(*) AS n FROM edge_labels WHERE n > 0 GROUP BY task) l ON l.task = b.task GROUP BY ALL
            ) GROUP BY task, part HAVING least < most""",
        "baselines of {part} are of {least:,} to {most:,} labels, expected all", of="task",
    ),
    Rule(
        "gold labels of baselines",
        "SELECT task AS id FROM edge_baselines GROUP BY task, part, seen, label HAVING count(DISTINCT tp + fn) > 1",
        "its baselines are of different gold labels", of="task",
    ),
    Rule(
        "targets of baselines",
        "SELECT task AS id FROM edge_baselines GROUP BY task, part, seen HAVING count(DISTINCT tp + fp + fn + tn) > 1",
        "its baselines are of different numbers of targets", of="task",
    ),
    Rule(
        "number of labels",
        """SELECT t.task AS id, t.part, t.labels, count(l.label) AS n FROM edge_tasks t
            LEFT JOIN edge_labels l ON l.task = t.task AND l.n > 0 GROUP BY ALL HAVING n <> t.labels""",
        "edge_tasks says {labels:,} labels of {part}, {n:,} are stored", of="task",
    ),
)  # fmt: skip
