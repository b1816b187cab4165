"""The kind of run that stores sentence-level probing: its files, and when it is complete."""

from probing.kernel.store.kinds import ASKED, Kind, Rule
from probing.sentences import tables
from probing.sentences.examples import LEFT_OUT, MLP, OWN
from probing.sentences.requests import SentenceRunConfig
from probing.sentences.store import sentence_runs
from probing.sentences.tasks import SENTENCE_TASKS

_CELL = ("pooling", "layer", "reading", "portion")
_TASK = "t.task = r.task AND t.protocol = r.protocol"
_TUNED = "coalesce(r.base, '') NOT IN ('', r.model)"
#: Runs that are equal in these asked the same sentences, and trained a base's probes alike.
_SAME = ("task", "protocol", "seed", "n_test", "left_out", "code_version", "device")
_SAID = """'the ' || s.reading || ' probe of layer ' || s.layer || ' (' || s.pooling
    || if(s.portion = 1, '', ', 1/' || s.portion || ' of the sentences') || ')' AS said"""

SCANS = {
    "scored": (
        f"""
        SELECT s.run_id, s.pooling, s.reading, s.portion, list(DISTINCT s.layer ORDER BY s.layer)::BIGINT[] AS found
        FROM sentence_scores s JOIN {ASKED} r USING (run_id) GROUP BY ALL"""
    ),
    "answered": (
        f"""
        SELECT *, len(labels) AS given, list_max(labels) AS label FROM (
            SELECT p.run_id, p.pooling, p.layer, p.reading, p.portion, len(p.predicted) AS n,
                list_filter(p.predicted, lambda x: x <> {LEFT_OUT}) AS labels
            FROM sentence_predictions p JOIN {ASKED} r USING (run_id))"""
    ),
    # The places of the sentences that a probe has right.
    "rights": (
        f"""
        SELECT {", ".join(f"p.{name}" for name in ("run_id", *_CELL))},
            r.model, {", ".join(f"r.{name}" for name in _SAME)},
            list_filter(range(len(p.predicted)::BIGINT), lambda x: p.predicted[x + 1] = g.labels[x + 1]) AS places
        FROM sentence_predictions p JOIN {ASKED} r USING (run_id) JOIN (
            SELECT task, protocol, list(label ORDER BY place) AS labels FROM sentence_examples GROUP BY ALL
        ) g USING (task, protocol)"""
    ),
}

RULES = (
    Rule(
        f"SELECT run_id AS id, task, protocol FROM {ASKED} r ANTI JOIN sentence_tasks t ON {_TASK}",
        "no row of sentence_tasks describes its task {task} by protocol {protocol}",
    ),
    Rule(
        f"""SELECT run_id AS id, r.n_test, coalesce(sum_of_part(r.left_out, 'test'), 0) AS gone, task,
            t.n_test AS of_task
            FROM {ASKED} r JOIN sentence_tasks t USING (task, protocol) WHERE r.n_test + gone <> t.n_test""",
        "it was tested on {n_test:,} sentences and left {gone:,} out, its task {task} has {of_task:,}",
    ),
    Rule(
        f"""SELECT run_id AS id, task FROM {ASKED} r JOIN sentence_tasks t USING (task, protocol)
            WHERE greatest(t.majority_right, t.surface_right) > t.n_test""",
        "a baseline of its task {task} has more sentences right than there are",
    ),
    Rule(
        f"""SELECT run_id AS id, task, any_value(t.n_test)::BIGINT - 1 AS last, any_value(len(t.labels)) AS labels
            FROM {ASKED} r JOIN sentence_tasks t USING (task, protocol) LEFT JOIN sentence_examples e USING (task,
                protocol)
            GROUP BY run_id, task
            HAVING count(e.place) <> last + 1 OR max(e.place) <> last OR max(e.label) >= any_value(len(t.labels))""",
        "its task {task} lacks test sentences, expected the places 0 to {last}, each with one of {labels} labels",
    ),
    Rule(f"SELECT run_id AS id FROM {ASKED} ANTI JOIN sentence_scores USING (run_id)", "it has no scores"),
    Rule(
        f"""SELECT s.run_id AS id, s.n_test, r.n_test AS of_run, {_SAID} FROM sentence_scores s
            JOIN {ASKED} r USING (run_id)
            WHERE s.n_test <> r.n_test""",
        "{said} was tested on {n_test:,} sentences, the run on {of_run:,}",
    ),
    Rule(
        f"""SELECT s.run_id AS id, {_SAID} FROM sentence_scores s JOIN {ASKED} r USING (run_id)
            WHERE s.reading NOT IN ('{OWN}', '{MLP}') AND NOT {_TUNED}""",
        "{said} is one that only a fine-tuned model has",
    ),
    Rule(
        f"""SELECT s.run_id AS id, {_SAID} FROM sentence_scores s JOIN {ASKED} r USING (run_id)
            WHERE s.right > s.n_test OR s.dev_right > s.n_dev""",
        "{said} has more sentences right than there are",
    ),
    Rule(
        f"""SELECT run_id AS id, reading, pooling, portion, found, range(r.layers::BIGINT) AS wanted
            FROM scored JOIN {ASKED} r USING (run_id)
            WHERE found <> wanted AND NOT (reading = '{MLP}' AND found[-1] < r.layers)""",
        "{reading} probes ({pooling}, portion {portion}) have scores of the layers {found}, expected {wanted}",
    ),
    Rule(
        f"SELECT s.run_id AS id, {_SAID} FROM answered s ANTI JOIN sentence_scores USING (run_id, {', '.join(_CELL)})",
        "{said} has answers but no score",
    ),
    Rule(
        f"""SELECT s.run_id AS id, {_SAID} FROM sentence_scores s SEMI JOIN answered USING (run_id, pooling, reading,
            portion)
            ANTI JOIN answered USING (run_id, {", ".join(_CELL)})""",
        "{said} has a score but no answers",
    ),
    Rule(
        f"""SELECT s.run_id AS id, s.n, t.n_test, {_SAID} FROM answered s JOIN {ASKED} r USING (run_id)
            JOIN sentence_tasks t ON {_TASK}
            WHERE s.n <> t.n_test""",
        "{said} has {n:,} answers, expected {n_test:,}",
    ),
    Rule(
        f"SELECT s.run_id AS id, s.given, r.n_test, {_SAID} FROM answered s JOIN {ASKED} r USING (run_id) WHERE s.given"
        " <> r.n_test",
        "{said} has {given:,} answers, the run was tested on {n_test:,} sentences",
    ),
    Rule(
        f"""SELECT s.run_id AS id, s.label, len(t.labels) AS labels, {_SAID} FROM answered s
            JOIN {ASKED} r USING (run_id)
            JOIN sentence_tasks t ON {_TASK} WHERE s.label >= len(t.labels)""",
        "{said} answers the label number {label}, the task has {labels} labels",
    ),
    Rule(
        f"""SELECT r.run_id AS id, count(*) AS wanted, count(p.run_id) AS n
            FROM sentence_scores s JOIN {ASKED} r USING (run_id) LEFT JOIN (
                SELECT DISTINCT run_id, with_model, pooling, layer, reading, portion FROM sentence_pairs p
                WHERE {" AND ".join(f"p.{name} = p.with_{name}" for name in _CELL)}
            ) p ON p.run_id = r.run_id AND p.with_model = r.base
                AND {" AND ".join(f"s.{name} = p.{name}" for name in _CELL)}
            WHERE {_TUNED} AND s.reading = '{OWN}' AND s.portion = 1 GROUP BY r.run_id HAVING n <> wanted""",
        "{n} of the model's own probes are compared with the base's, expected {wanted}",
    ),
    Rule(
        f"""SELECT r.run_id AS id, e.place, e.example FROM sentence_examples e JOIN sentence_tasks t USING (task,
            protocol)
            JOIN {ASKED} r USING (task, protocol)
            WHERE NOT starts_with(sha256(concat_ws(chr(9), e.text, coalesce(e.pair, ''), t.labels[e.label + 1])),
                e.example)
                AND e.text IS NOT NULL""",
        "the test sentence {place} has another text or label than its name {example} says",
    ),
    Rule(
        f"""SELECT run_id AS id, r.conf ->> 'data' AS data, t.sha256, task FROM {ASKED} r
            JOIN sentence_tasks t USING (task, protocol)
            WHERE data <> t.sha256""",
        "it is of the data {data:.12}, those of its task {task} are {sha256:.12}",
    ),
    Rule(
        f"""SELECT s.run_id AS id, s.right, len(places) AS counted, {_SAID} FROM sentence_scores s
            JOIN rights USING (run_id, {", ".join(_CELL)}) WHERE s.right <> counted""",
        "{said} has {right:,} sentences right, its answers {counted:,}",
    ),
    Rule(
        f"""SELECT s.run_id AS id, p.with_model, {_SAID} FROM sentence_pairs p
            JOIN sentence_scores s USING (run_id, {", ".join(_CELL)})
            LEFT JOIN rights a USING (run_id, {", ".join(_CELL)})
            LEFT JOIN rights b ON b.model = p.with_model
                AND {" AND ".join(f"b.{name} = p.with_{name}" for name in _CELL)}
                AND {" AND ".join(f"b.{name} IS NOT DISTINCT FROM a.{name}" for name in _SAME)}
            WHERE p."both"::BIGINT + p.only_this <> s.right OR s.right + p.only_other + p.neither <> s.n_test
                OR len(b.places) <> p."both"::BIGINT + p.only_other
                OR b.places IS NOT NULL AND p."both" <> len(list_intersect(a.places, b.places))""",
        "{said} is compared with a probe of {with_model} by other counts than their answers give",
    ),
)


SENTENCES = Kind(
    "sentences",
    SentenceRunConfig,
    tables.TABLES,
    RULES,
    SCANS,
    about=tables.__doc__,
    listed=sentence_runs,
    command="sentences train",
    title="probes of sentences",
    open_tasks={name: task.open for name, task in SENTENCE_TASKS.items()},
    line="sentences {task:<22} {protocol}, seed {seed}, {n_test:,} tested{left}",
)
