"""When stored sentence-level probing is complete and possible."""

from probing.core.sentences.example import ALIGNED, FIRST, FROZEN, LEFT_OUT, MEAN, MLP, OWN, RESCALED
from probing.core.sentences.pairs import QUARTER
from probing.store.rules.asking import ASKED, Rule, strays

_CELL = ("pooling", "layer", "reading", "portion")
_TASK = "t.task = r.task AND t.protocol = r.protocol"
#: Probes of the same recipe that two processors trained may decide one test sentence in so many otherwise: sums are rounded in another
#: order, and where two penalties are equally good, another one is chosen. A run is compared with the base's probes on its own machine,
#: and the base's stored run may be of another one.
_ELSEWHERE = 50
_TUNED = "coalesce(r.base, '') NOT IN ('', r.model)"


def _same(one: str, other: str, prefix: str = "") -> str:
    """SQL of whether two rows are of one probe."""
    return " AND ".join(f"{one}.{name} = {other}.{prefix}{name}" for name in _CELL)


def _said(row: str, prefix: str = "") -> str:
    """SQL of a probe in words."""
    portion = f"if({row}.{prefix}portion = 1, '', ', 1/' || {row}.{prefix}portion || ' of the sentences')"
    probe = f"{row}.{prefix}reading || ' probe of layer ' || {row}.{prefix}layer"
    return f"'the ' || {probe} || ' (' || {row}.{prefix}pooling || {portion} || ')'"


_SAID = f"{_said('s')} AS said"
_PAIR = f"{_said('p')} AS said, {_said('p', 'with_')} AS other, p.with_model"

SCANS = {
    "scored": f"""
        SELECT s.run_id, s.pooling, s.reading, s.portion, list(DISTINCT s.layer ORDER BY s.layer)::BIGINT[] AS found
        FROM sentence_scores s JOIN {ASKED} r USING (run_id) GROUP BY ALL""",
    "answered": f"""
        SELECT p.run_id, p.pooling, p.layer, p.reading, p.portion, len(p.predicted) AS n,
            len(list_filter(p.predicted, lambda x: x <> {LEFT_OUT})) AS given
        FROM sentence_predictions p JOIN {ASKED} r USING (run_id)""",
    "gold": """
        SELECT task, protocol, list(label ORDER BY place) AS labels FROM sentence_examples GROUP BY ALL""",
    # The sentences that a probe has right, and those that it was asked, as bits.
    "right_bits": f"""
        SELECT run_id, pooling, layer, reading, portion, label,
            array_to_string(list_transform(pairs, lambda x: if(x[1] = x[2], '1', '0')), '')::BIT AS bits,
            array_to_string(list_transform(pairs, lambda x: if(x[1] = {LEFT_OUT}, '0', '1')), '')::BIT AS taken
        FROM (SELECT p.*, list_zip(p.predicted, g.labels) AS pairs, list_max(list_filter(p.predicted, lambda x: x <> {LEFT_OUT})) AS label
            FROM sentence_predictions p JOIN {ASKED} r USING (run_id) JOIN gold g ON g.task = r.task AND g.protocol = r.protocol
            WHERE len(p.predicted) = len(g.labels) AND len(g.labels) > 0)""",
    "base_runs": f"""
        SELECT r.run_id, max(b.run_id) AS base_run FROM {ASKED} r JOIN {ASKED} b
            ON b.model = r.base AND b.task = r.task AND b.protocol = r.protocol AND b.conf ->> 'data' IS NOT DISTINCT FROM r.conf ->> 'data'
        WHERE {_TUNED} GROUP BY r.run_id""",
    # The probes that a run compares: a base's with its own, a fine-tuned model's with those of the base.
    "comparable": f"""
        SELECT r.run_id, {_TUNED} AS tuned, if({_TUNED}, r.base, r.model) AS with_model, s.* EXCLUDE (run_id)
        FROM {ASKED} r LEFT JOIN base_runs b USING (run_id)
        JOIN sentence_scores s ON s.run_id = if({_TUNED}, b.base_run, r.run_id)""",
}

_PROBLEMS = (
    ("n_test <> r.n_test", "{said} was tested on {n_test:,} sentences, the run on {of_run:,}", True),
    (f"reading IN ('{FROZEN}', '{RESCALED}', '{ALIGNED}') AND NOT {_TUNED}", "{said} is one that only a fine-tuned model has", False),
    ("right > s.n_test OR s.dev_right > s.n_dev", "{said} has more sentences right than there are", False),
    ("n_dev > t.n_dev OR s.n_train > t.n_train", "{said} saw more sentences of train or dev than its task has", False),
)

RULES = (
    *strays("sentence_scores sentence_pairs sentence_predictions", "sentence_runs"),
    Rule(
        "task",
        f"SELECT run_id AS id, task, protocol FROM {ASKED} r ANTI JOIN sentence_tasks t ON {_TASK}",
        "no row of sentence_tasks describes its task {task} by protocol {protocol}", blocks=True,
    ),
    Rule(
        "data",
        f"""SELECT run_id AS id, r.conf ->> 'data' AS data, t.sha256, task FROM {ASKED} r JOIN sentence_tasks t USING (task, protocol)
            WHERE data <> t.sha256""",
        "it is of the data {data:.12}, those of its task {task} are {sha256:.12}",
    ),
    Rule(
        "left out",
        f"SELECT run_id AS id, left_out FROM {ASKED} WHERE NOT sums_are_parts(left_out)",
        "left_out is not JSON of part -> reason -> number: {left_out!r}",
    ),
    Rule(
        "test sentences",
        f"""SELECT run_id AS id, r.n_test, coalesce(sum_of_part(r.left_out, 'test'), 0) AS gone, task, t.n_test AS of_task
            FROM {ASKED} r JOIN sentence_tasks t USING (task, protocol) WHERE r.n_test + gone <> t.n_test""",
        "it was tested on {n_test:,} sentences and left {gone:,} out, its task {task} has {of_task:,}", blocks=True,
    ),
    Rule("scores", f"SELECT run_id AS id FROM {ASKED} ANTI JOIN sentence_scores USING (run_id)", "it has no scores", blocks=True),
    *(
        Rule(
            words,
            f"SELECT s.run_id AS id, s.n_test, r.n_test AS of_run, {_SAID} FROM sentence_scores s JOIN {ASKED} r USING (run_id) "
            f"JOIN sentence_tasks t ON {_TASK} WHERE s.{broken}",
            words, blocks=blocks,
        )
        for broken, words, blocks in _PROBLEMS
    ),
    Rule(
        "layers of scores",
        f"""SELECT run_id AS id, reading, pooling, portion, found, range(r.layers::BIGINT) AS wanted
            FROM scored JOIN {ASKED} r USING (run_id)
            WHERE found <> wanted AND NOT (reading = '{MLP}' AND found[-1] < r.layers)""",
        "{reading} probes ({pooling}, portion {portion}) have scores of the layers {found}, expected {wanted}", blocks=True,
    ),
    Rule(
        "scores of predictions",
        f"SELECT s.run_id AS id, {_SAID} FROM answered s ANTI JOIN sentence_scores USING (run_id, {', '.join(_CELL)})",
        "{said} has answers but no score", blocks=True,
    ),
    Rule(
        "predictions of probes",
        f"""SELECT s.run_id AS id, {_SAID} FROM sentence_scores s SEMI JOIN answered USING (run_id, pooling, reading, portion)
            ANTI JOIN answered USING (run_id, {', '.join(_CELL)})""",
        "{said} has a score but no answers", blocks=True,
    ),
    Rule(
        "number of predictions",
        f"""SELECT s.run_id AS id, s.n, t.n_test, {_SAID} FROM answered s JOIN {ASKED} r USING (run_id) JOIN sentence_tasks t ON {_TASK}
            WHERE s.n <> t.n_test""",
        "{said} has {n:,} answers, expected {n_test:,}", blocks=True,
    ),
    Rule(
        "sentences of predictions",
        f"""SELECT s.run_id AS id, s.given, r.n_test, {_SAID} FROM answered s JOIN {ASKED} r USING (run_id) WHERE s.given <> r.n_test""",
        "{said} has {given:,} answers, the run was tested on {n_test:,} sentences", blocks=True,
    ),
    Rule(
        "predicted labels",
        f"""SELECT s.run_id AS id, s.label, len(t.labels) AS labels, {_SAID} FROM right_bits s JOIN {ASKED} r USING (run_id)
            JOIN sentence_tasks t ON {_TASK} WHERE s.label >= len(t.labels)""",
        "{said} answers the label number {label}, the task has {labels} labels",
    ),
    Rule(
        "right predictions",
        f"""SELECT s.run_id AS id, bit_count(s.bits) AS n, k.right, {_SAID} FROM right_bits s
            JOIN sentence_scores k USING (run_id, {', '.join(_CELL)}) WHERE bit_count(s.bits) <> k.right""",
        "{said} has {n:,} answers right, its score says {right:,}",
    ),
    Rule(
        "model of a pair",
        f"SELECT p.run_id AS id, {_PAIR} FROM sentence_pairs p JOIN {ASKED} r USING (run_id) "
        "WHERE p.with_model NOT IN (r.model, coalesce(r.base, ''))",
        "the pair of {said} with {other} is of {with_model}, neither the run's nor its base",
    ),
    Rule(
        "sentences of a pair",
        f"""SELECT p.run_id AS id, {_PAIR}, p.both + p.only_this + p.only_other + p.neither AS n, r.n_test
            FROM sentence_pairs p JOIN {ASKED} r USING (run_id) WHERE n <> r.n_test""",
        "the pair of {said} with {other} of {with_model} is of {n:,} sentences, the run was tested on {n_test:,}",
    ),
    Rule(
        "probe of a pair",
        f"SELECT p.run_id AS id, {_PAIR} FROM sentence_pairs p JOIN {ASKED} USING (run_id) "
        f"ANTI JOIN sentence_scores USING (run_id, {', '.join(_CELL)})",
        "the pair of {said} with {other} of {with_model} is of a probe that has no score",
    ),
    Rule(
        "score of a pair",
        f"""SELECT p.run_id AS id, {_PAIR}, p.both + p.only_this AS n, s.right FROM sentence_pairs p JOIN {ASKED} USING (run_id)
            JOIN sentence_scores s USING (run_id, {', '.join(_CELL)}) WHERE n <> s.right""",
        "the pair of {said} with {other} of {with_model} says {n:,} right, the score {right:,}",
    ),
    Rule(
        "score of the other",
        f"""SELECT p.run_id AS id, {_PAIR}, p.both + p.only_other AS n, s.right FROM sentence_pairs p JOIN {ASKED} r USING (run_id)
            LEFT JOIN base_runs b USING (run_id) JOIN {ASKED} o ON o.run_id = if(p.with_model = r.model, r.run_id, b.base_run)
            JOIN sentence_scores s ON s.run_id = o.run_id AND {_same('s', 'p', 'with_')}
            WHERE o.n_test = r.n_test AND abs(n::BIGINT - s.right::BIGINT) > if(o.run_id = r.run_id, 0, r.n_test // {_ELSEWHERE})""",
        "the pair of {said} with {other} of {with_model} says {n:,} right of the second, its score {right:,}",
    ),
    # A fine-tuned model's run asks no sentence that its base cannot take.
    Rule(
        "predictions of a pair",
        f"""SELECT * FROM (SELECT p.run_id AS id, {_PAIR}, [p.both, p.only_this, p.only_other, p.neither]::BIGINT[] AS stored,
                if(o.run_id = r.run_id, 0, r.n_test // {_ELSEWHERE}) AS unsure,
                CASE WHEN bit_length(s.bits) = bit_length(o.bits) THEN [bit_count(s.bits & o.bits & s.taken),
                    bit_count(s.bits & ~o.bits & s.taken), bit_count(~s.bits & o.bits & s.taken),
                    bit_count(~s.bits & ~o.bits & s.taken)]::BIGINT[] END AS counted
            FROM sentence_pairs p JOIN {ASKED} r USING (run_id) LEFT JOIN base_runs b USING (run_id)
            JOIN right_bits s ON s.run_id = p.run_id AND {_same('s', 'p')}
            JOIN right_bits o ON o.run_id = if(p.with_model = r.model, r.run_id, b.base_run) AND {_same('o', 'p', 'with_')})
            WHERE list_max(list_transform(list_zip(stored, counted), lambda x: abs(x[1] - x[2]))) > unsure""",
        "the pair of {said} with {other} of {with_model} says {stored}, the answers {counted} "
        "(both, only the first, only the second, neither)",
    ),
    # The pairs of ``core.sentences.pairs.changed_pairs``; earlier versions stored other pairs for fates, which may be missing.
    Rule(
        "pairs of changes",
        f"""SELECT p.run_id AS id, {_PAIR} FROM (
                SELECT s.run_id, c.with_model, {', '.join(f's.{name}, c.{name} AS with_{name}' for name in _CELL)}
                FROM sentence_scores s JOIN comparable c USING (run_id) WHERE
                    (s.pooling, s.reading, s.portion, c.pooling, c.layer, c.reading, c.portion)
                        = ('{FIRST}', '{OWN}', 1, '{MEAN}', s.layer, '{OWN}', 1)
                    OR (c.pooling, c.layer) = (s.pooling, s.layer) AND (
                        c.tuned AND s.portion IN (1, {QUARTER}) AND s.reading <> '{MLP}' AND (c.reading, c.portion) = ('{OWN}', s.portion)
                        OR NOT c.tuned AND (s.reading, s.portion, c.reading, c.portion) = ('{OWN}', 1, '{MLP}', 1))
            ) p ANTI JOIN sentence_pairs USING (run_id, with_model, {', '.join(f'{name}, with_{name}' for name in _CELL)})""",
        "no pair compares {said} with {other} of {with_model}",
    ),
    Rule(
        "pairs of own probes",
        f"""SELECT r.run_id AS id, count(*) AS wanted, count(p.run_id) AS n
            FROM sentence_scores s JOIN {ASKED} r USING (run_id) LEFT JOIN (
                SELECT DISTINCT run_id, with_model, pooling, layer, reading, portion FROM sentence_pairs p
                WHERE {' AND '.join(f'p.{name} = p.with_{name}' for name in _CELL)}
            ) p ON p.run_id = r.run_id AND p.with_model = r.base AND {_same('s', 'p')}
            WHERE {_TUNED} AND s.reading = '{OWN}' AND s.portion = 1 GROUP BY r.run_id HAVING n <> wanted""",
        "{n} of the model's own probes are compared with the base's, expected {wanted}", blocks=True,
    ),
    Rule(
        "described tasks",
        "SELECT DISTINCT task || ' by protocol ' || protocol AS id FROM sentence_examples ANTI JOIN sentence_tasks USING (task, protocol)",
        "has test sentences but no row in any sentence_tasks file", of="task",
    ),
    *(
        Rule(
            name,
            "SELECT task || ' by protocol ' || protocol AS id, *, list_sum(n_train_labels) AS of_labels "
            f"FROM sentence_tasks WHERE {broken}",
            words, of="task",
        )
        for name, broken, words in (
            (
                "labels",
                "len(labels) < 2 OR len(list_distinct(labels)) <> len(labels) OR len(labels) <> len(n_train_labels)",
                "it has the labels {labels} with {n_train_labels} training sentences, expected two or more, each once, with a number",
            ),
            (
                "sentences of labels",
                "list_sum(n_train_labels) <> n_train",
                "its labels have {of_labels:,} training sentences, expected {n_train:,}",
            ),
            ("majority", "majority_right > n_test", "majority_right is {majority_right:,} of {n_test:,} test sentences"),
            ("surface baseline", "surface_right > n_test", "surface_right is {surface_right:,} of {n_test:,} test sentences"),
            ("dropped", "sum_of_reasons(dropped) IS NULL", "dropped is not JSON of reason -> number: {dropped!r}"),
        )
    ),
    Rule(
        "places",
        """SELECT t.task || ' by protocol ' || t.protocol AS id, count(e.place) AS n, t.n_test::BIGINT - 1 AS last FROM sentence_tasks t
            LEFT JOIN sentence_examples e USING (task, protocol) GROUP BY t.task, t.protocol, t.n_test
            HAVING n <> last + 1 OR max(e.place) <> n - 1""",
        "{n:,} test sentences are stored, expected the places 0 to {last}", of="task",
    ),
    Rule(
        "labels of sentences",
        """SELECT t.task || ' by protocol ' || t.protocol AS id, max(e.label) AS label, len(t.labels) AS labels FROM sentence_tasks t
            JOIN sentence_examples e USING (task, protocol) GROUP BY ALL HAVING label >= len(t.labels)""",
        "a test sentence has the label number {label}, the task has {labels} labels", of="task",
    ),
    # Among equally common labels the first by name.
    Rule(
        "majority of sentences",
        """SELECT t.task || ' by protocol ' || t.protocol AS id, t.majority_right, most, count(*) FILTER (t.labels[e.label + 1] = most) AS n
            FROM (SELECT *, list_sort(list_filter(list_zip(labels, n_train_labels), lambda x: x[2] = list_max(n_train_labels)))[1][1]
                AS most FROM sentence_tasks) t JOIN sentence_examples e USING (task, protocol) GROUP BY ALL HAVING n <> t.majority_right""",
        "majority_right is {majority_right:,}, but {n:,} test sentences have the label {most}", of="task",
    ),
    Rule(
        "names of sentences",
        """SELECT t.task || ' by protocol ' || t.protocol AS id, e.place, e.example FROM sentence_examples e
            JOIN sentence_tasks t USING (task, protocol)
            WHERE NOT starts_with(sha256(concat_ws(chr(9), e.text, coalesce(e.pair, ''), t.labels[e.label + 1])), e.example)
                AND e.text IS NOT NULL""",
        "the test sentence {place} has another text or label than its name {example} says", of="task",
    ),
)  # fmt: skip
