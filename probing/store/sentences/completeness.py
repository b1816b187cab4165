"""Which runs of sentence-level probing are complete enough to be shown."""

from collections import defaultdict

import duckdb

from probing.core.sentences.example import LEFT_OUT, MLP, OWN

_SCORED = """
SELECT s.run_id, s.pooling, s.reading, s.portion, list(DISTINCT s.layer ORDER BY s.layer), count(*) FILTER (s.n_test <> r.n_test)
FROM sentence_scores s JOIN sentence_runs r ON r.run_id = s.run_id GROUP BY ALL ORDER BY ALL
"""
#: How many probes have predictions, and how many of these have no score, or not one prediction per test sentence.
_ANSWERED = f"""
SELECT p.run_id, count(*), count(*) FILTER (
    s.run_id IS NULL OR len(p.predicted) <> t.n_test OR len(list_filter(p.predicted, lambda x: x <> {LEFT_OUT})) <> r.n_test
)
FROM sentence_predictions p JOIN sentence_runs r ON r.run_id = p.run_id
JOIN sentence_tasks t ON t.task = r.task AND t.protocol = r.protocol
LEFT JOIN sentence_scores s ON s.run_id = p.run_id AND s.pooling = p.pooling AND s.layer = p.layer AND s.reading = p.reading
    AND s.portion = p.portion
GROUP BY ALL
"""
#: How many probes of the kinds (pooling, reading, portion) that have predictions are scored.
_TO_ANSWER = """
SELECT s.run_id, count(*) FROM sentence_scores s
WHERE (s.run_id, s.pooling, s.reading, s.portion) IN (SELECT (run_id, pooling, reading, portion) FROM sentence_predictions)
GROUP BY s.run_id
"""
#: Own probes of fine-tuned models that are compared with their base's at the same place.
_COMPARED = f"""
SELECT run_id, count(DISTINCT (p.pooling, p.layer)) FROM sentence_pairs p JOIN sentence_runs r USING (run_id)
WHERE p.with_model = r.base AND p.reading = '{OWN}' AND p.with_reading = '{OWN}' AND p.portion = 1 AND p.with_portion = 1
    AND p.pooling = p.with_pooling AND p.layer = p.with_layer
GROUP BY run_id
"""


def lacking_sentences(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Id of a run that is not complete -> what it lacks or has too much.

    A run is complete when its task's data are described, every kind of its probes has scores at the layers 0..L (MLP probes at some), and
    a fine-tuned model's own probes on all training sentences are compared with the base's. If predictions of one kind of
    probe are stored, they are of its probes at all layers, and one of each test sentence.
    """
    runs = connection.execute(
        "SELECT e.run_id, e.model, e.base, e.task, e.protocol, e.layers, e.n_test, t.n_test "
        "FROM sentence_runs e JOIN runs r USING (run_id) "
        "LEFT JOIN sentence_tasks t ON t.task = e.task AND t.protocol = e.protocol ORDER BY e.run_id"
    ).fetchall()
    scored: dict[str, list[tuple]] = defaultdict(list)
    for run_id, *cells in connection.execute(_SCORED).fetchall():
        scored[run_id].append(tuple(cells))
    answered = {run_id: (rows, strange) for run_id, rows, strange in connection.execute(_ANSWERED).fetchall()}
    to_answer = dict(connection.execute(_TO_ANSWER).fetchall())
    compared = dict(connection.execute(_COMPARED).fetchall())
    problems: dict[str, str] = {}
    for run_id, model, base, task, protocol, layers, n_test, of_task in runs:
        pairs = compared.get(run_id, 0) if base and base != model else None
        problem = (
            _of_data(task, protocol, n_test, of_task)
            or _of_scores(scored[run_id], layers)
            or _of_answers(to_answer.get(run_id, 0), *answered.get(run_id, (0, 0)))
            or _of_pairs(scored[run_id], layers, pairs)
        )
        if problem:
            problems[run_id] = problem
    return problems


def _of_data(task: str, protocol: str, n_test: int, of_task: int | None) -> str | None:
    if of_task is None:
        return f"the data of its task {task} by protocol {protocol} are not described"
    return None if n_test <= of_task else f"it was tested on {n_test:,} sentences, its task {task} has {of_task:,}"


def _of_scores(scored: list[tuple], layers: int) -> str | None:
    """``scored``: pooling, reading, portion, layers, scores of another number of test sentences."""
    wanted = list(range(layers))
    if not scored:
        return "it has no scores"
    for pooling, reading, portion, found, uneven in scored:
        if uneven:
            return f"{uneven} scores of {reading} probes ({pooling}) are of another number of test sentences than the run"
        if found != wanted and not (reading == MLP and set(found) <= set(wanted)):
            return f"{reading} probes ({pooling}, portion {portion}) have scores of the layers {found}, expected {wanted}"
    return None


def _of_answers(probes: int, rows: int, strange: int) -> str | None:
    if rows and strange:
        return f"predictions of {strange} probes are of no scored probe, or not one of each test sentence"
    return f"predictions of {rows} probes, expected those of {probes}" if rows and rows != probes else None


def _of_pairs(scored: list[tuple], layers: int, compared: int | None) -> str | None:
    """``compared``: how many own probes are compared with the base's; None for a base."""
    wanted = layers * sum((reading, portion) == (OWN, 1) for _, reading, portion, _, _ in scored)
    if compared is None or compared == wanted:
        return None
    return f"{compared} of the model's own probes are compared with the base's, expected {wanted}"
