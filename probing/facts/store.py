"""Queries about whole runs: every result is a count or a sum, under the same filters of facts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from probing.kernel.fact import EVERY_FACT, Fact, Subset
from probing.kernel.metric import RANKS
from probing.kernel.store.database import Database

#: Condition on the columns exposure and answer_in_subject; its values come from ``filters``.
KEPT = """
    (NOT $by_exposure OR exposure IN (SELECT unnest($exposures::VARCHAR[])))
    AND ($answer_in_subject::BOOLEAN IS NULL OR answer_in_subject = $answer_in_subject::BOOLEAN)
"""
#: The same for the rows of chosen runs; its values come from ``of_runs``.
OF_RUNS = f"WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND {KEPT}"


def filters(subset: Subset) -> dict[str, Any]:
    """Values of ``KEPT``."""
    by_exposure = subset.exposures is not None
    return {"by_exposure": by_exposure, **subset._asdict(), "exposures": list(subset.exposures or ())}


def of_runs(run_ids: Sequence[str], subset: Subset) -> dict[str, Any]:
    """Values of ``OF_RUNS``."""
    return {"run_ids": list(run_ids), **filters(subset)}


def probe_sets(db: Database) -> pd.DataFrame:
    """Every probe set: probe_set, n_facts (stored, whichever run probed them), n_relations, n_runs."""
    return db.query("""
        SELECT f.probe_set, count(*) AS n_facts, count(DISTINCT f.relation) AS n_relations,
            (SELECT count(*) FROM fact_runs r WHERE r.probe_set = f.probe_set) AS n_runs
        FROM facts f GROUP BY f.probe_set ORDER BY f.probe_set
    """)


def head_training(db: Database) -> pd.DataFrame:
    """How stored runs' heads were trained: validation losses in nats, of the logit lens, at the start and at the end.

    One model and kind may have heads of several recipes; a run's is in its configuration, and in ``runs.recipe``.
    """
    return db.query("SELECT * FROM head_training ORDER BY model, head, seed, recipe, layer")


def relations(db: Database) -> pd.DataFrame:
    """Every relation that has facts: probe_set, relation, label (or the name), cardinality, n_facts."""
    return db.query("""
        SELECT f.probe_set, f.relation, coalesce(any_value(r.label), f.relation) AS label,
            any_value(r.cardinality) AS cardinality, count(*) AS n_facts
        FROM facts f LEFT JOIN relations r ON r.relation = f.relation AND r.probe_set = f.probe_set
        GROUP BY f.probe_set, f.relation ORDER BY f.probe_set, f.relation
    """)


def exposures(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Number of facts of the runs by exposure to the training text: run_id, exposure, answer_in_subject, n."""
    return db.query(
        """
        SELECT run_id, exposure, answer_in_subject, CAST(sum(n) AS BIGINT) AS n FROM total_counts
        WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[]))
        GROUP BY ALL ORDER BY ALL
        """,
        {"run_ids": list(run_ids)},
    )


#: Column of the table ``swapped_counts`` -> what ``aggregate`` calls it.
_SIDES = {"own": "own", "swapped": "other", "both": "own_other"}
_SWAPPED_NAMES = [f"{name}_{k}" for name in _SIDES.values() for k in (1, 10, 100)]
_SWAPPED = ", ".join(
    f"CAST(sum({column}_{k}) AS BIGINT) AS {name}_{k}" for column, name in _SIDES.items() for k in (1, 10, 100)
)


def aggregate(db: Database, run_ids: Sequence[str], subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Counts by run, layer (0..L) and relation; a relation of which the filters keep no fact has no row.

    Of the other_n facts that have a swapped subject, by rank k: own_k known with the own subject, other_k with the
    swapped one, own_other_k with both, 0 if it is not measured.
    """
    return db.query(
        f"""
        WITH of_swapped AS (
            SELECT run_id, layer, relation, CAST(sum(n) AS BIGINT) AS other_n, {_SWAPPED} FROM swapped_counts {OF_RUNS}
                GROUP BY ALL
        ), counted AS (SELECT run_id, layer, relation,
            CAST(sum(n) AS BIGINT) AS n,
            CAST(sum(hits_1) AS BIGINT) AS hits_1,
            CAST(sum(hits_10) AS BIGINT) AS hits_10,
            CAST(sum(hits_100) AS BIGINT) AS hits_100,
            sum(sum_reciprocal_rank) AS sum_reciprocal_rank,
            sum(sum_squared_reciprocal_rank) AS sum_squared_reciprocal_rank,
            CAST(sum(answer_hits_1) AS BIGINT) AS answer_hits_1,
            sum(sum_answer_reciprocal_rank) AS sum_answer_reciprocal_rank
        FROM layer_counts {OF_RUNS} GROUP BY ALL)
        SELECT c.*, coalesce(l.other_n, 0) AS other_n,
            {", ".join(f"coalesce(l.{name}, 0) AS {name}" for name in _SWAPPED_NAMES)}
        FROM counted c LEFT JOIN of_swapped l ON l.run_id = c.run_id AND l.layer = c.layer AND l.relation = c.relation
        ORDER BY c.run_id, c.layer, c.relation
        """,
        of_runs(run_ids, subset),
    )


def totals(db: Database, run_ids: Sequence[str], subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """Facts known at the last layer, and at any of the layers 1..L: run_id, relation, n, last_1, ..., any_1, ..."""
    counts = ", ".join(
        f"CAST(sum({name}) AS BIGINT) AS {name}"
        for name in ["n", "last_1", "last_10", "last_100", "any_1", "any_10", "any_100"]
    )
    return db.query(
        f"SELECT run_id, relation, {counts} FROM total_counts {OF_RUNS} GROUP BY run_id, relation ORDER BY run_id,"
        " relation",
        of_runs(run_ids, subset),
    )


def total_null_counts(db: Database, run_ids: Sequence[str], subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """The null of total knowledge: what inner layers find of the n facts that the last misses with both subjects.

    own, swapped, own_and_swapped: found by some layer 1..L-1 with rank <= k. A run has rows if it has inner layers and
    facts with a swapped subject.
    """
    counts = ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in ("n", "own", "swapped", "own_and_swapped"))
    return db.query(
        f"SELECT run_id, k, {counts} FROM inner_counts {OF_RUNS} GROUP BY run_id, k ORDER BY run_id, k",
        of_runs(run_ids, subset),
    )


def majority(db: Database, run_ids: Sequence[str], subset: Subset = EVERY_FACT) -> pd.DataFrame:
    """What always giving the relation's most frequent answer gets right; ``answers``: different ones.

    The answer is the most frequent one of all probed facts of the run and relation; filters choose who is counted.
    """
    return db.query(
        f"""
        SELECT run_id, relation, CAST(sum(n) AS BIGINT) AS n, CAST(sum(majority_hits) AS BIGINT) AS majority_hits,
            max(answers) AS answers
        FROM total_counts {OF_RUNS} GROUP BY run_id, relation ORDER BY run_id, relation
        """,
        of_runs(run_ids, subset),
    )


def same_tokens(db: Database, first: str, second: str) -> bool:
    """Whether two tokenizers have the same tokens by the same ids."""
    counted = db.query(
        """
        SELECT count(*) AS n, count(*) FILTER (a.token = b.token) AS same
        FROM (SELECT id, token FROM vocabulary WHERE tokenizer = $first) a
        FULL JOIN (SELECT id, token FROM vocabulary WHERE tokenizer = $second) b ON b.id = a.id
        """,
        {"first": first, "second": second},
    )
    return bool(counted["n"].iloc[0]) and bool(counted["n"].iloc[0] == counted["same"].iloc[0])


def vocabulary(db: Database, tokenizer: str) -> pd.DataFrame:
    """The tokens of a tokenizer by id: id, token."""
    return db.query(
        "SELECT id, token FROM vocabulary WHERE tokenizer = $tokenizer ORDER BY id", {"tokenizer": tokenizer}
    )


#: A compact run keeps log-probabilities to this many significant bits (within 6.3 per cent of their value) ...
COMPACT_BITS = 4
#: ... and ranks exactly up to here, above to two significant digits: no P@k, fate or first answer depends on more.
EXACT_RANKS = 100


def stored_logp(values: np.ndarray, compact: bool) -> np.ndarray:
    """Log-probabilities in steps of 1/256 nat (at most 0.2 % of the probability), or to ``COMPACT_BITS``."""
    flat = values.reshape(-1)
    if not compact:
        return (np.round(flat * np.float32(256)) / np.float32(256)).astype(np.float32)
    fraction, exponent = np.frexp(flat)
    return np.ldexp(np.round(fraction * 2**COMPACT_BITS) / 2**COMPACT_BITS, exponent).astype(np.float32)


def stored_rank(values: np.ndarray, compact: bool) -> np.ndarray:
    """Ranks as stored: exact, or compact above ``EXACT_RANKS``, never rounded down to it."""
    if not compact:
        return values
    step = 10.0 ** (np.floor(np.log10(np.maximum(values, 1))) - 1)
    return np.where(values > EXACT_RANKS, np.maximum(np.round(values / step) * step, EXACT_RANKS + 1), values).astype(
        np.uint32
    )


def prediction_columns(
    run_id: str, facts: Sequence[Fact], columns: dict[str, np.ndarray], layers: Sequence[int], compact: bool
) -> dict:
    """The columns of ``predictions``, from (layers, facts) arrays of ``facts.probe.probe``.

    ``compact`` rounds as ``stored_logp`` and ``stored_rank`` say, and leaves out the swapped rank.
    """
    n, k = len(facts), columns["top_ids"].shape[2]

    def lists(values: np.ndarray) -> pa.ListArray:
        return pa.ListArray.from_arrays(
            pa.array(np.arange(0, len(layers) * n * k + 1, k, dtype=np.int32)), pa.array(values)
        )

    other = columns["other_rank"].reshape(-1)
    return {
        "run_id": pa.array([run_id] * (len(layers) * n)),
        "fact_id": pa.array([fact.fact_id for fact in facts] * len(layers)),
        "layer": pa.array(np.repeat(np.asarray(layers, dtype=np.uint8), n)),
        "gold_rank": pa.array(stored_rank(columns["gold_rank"].reshape(-1), compact)),
        "answer_rank": pa.array(stored_rank(columns["answer_rank"].reshape(-1), compact)),
        "other_rank": pa.array(other, mask=np.ones_like(other, dtype=bool) if compact else other == 0),
        "gold_logp": pa.array(stored_logp(columns["gold_logp"], compact)),
        "top_ids": lists(columns["top_ids"].reshape(-1)),
        "top_logp": lists(stored_logp(columns["top_logp"], compact)),
    }


def answers_of_runs(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """The predictions of runs on own facts, one row per fact and layer, by run, relation, subject and object.

    ``rank`` is of the right answer in the whole vocabulary, from 1, ``answer_rank`` among the answers of its relation,
    ``swapped_rank`` with the swapped subject (empty if there is none); ``probability`` is of the right answer.
    """
    return db.query(
        """
        SELECT f.fact_id, f.probe_set, f.relation, f.subject, f.object, f.prompt, CAST(p.layer AS BIGINT) AS layer,
            CAST(p.gold_rank AS BIGINT) AS rank, CAST(p.answer_rank AS BIGINT) AS answer_rank,
            p.other_rank AS swapped_rank,
            exp(p.gold_logp::DOUBLE) AS probability,
            -- Half a character has no text, so its token is shown.
            coalesce(CASE WHEN contains(v.text, chr(65533)) THEN v.token ELSE v.text END, 'unused ' || p.top_ids[1])
                AS top_token,
            exp(p.top_logp[1]::DOUBLE) AS top_probability
        FROM predictions p JOIN fact_runs r ON r.run_id = p.run_id JOIN facts f ON f.fact_id = p.fact_id
        LEFT JOIN vocabulary v ON v.tokenizer = r.tokenizer AND v.id = p.top_ids[1]
        WHERE p.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
        ORDER BY list_position($run_ids::VARCHAR[], p.run_id), f.relation, f.subject, f.object, f.fact_id, p.layer
        """,
        {"run_ids": list(run_ids)},
        of=run_ids,
    ).astype({"swapped_rank": "Int64"})


#: The fields of ``kernel.stats.paired_tests.ClusterSums``, each a column of a value.
_FIELDS = ("n", "total", "squares", "clusters", "within", "overall")
#: Sums of such steps are exact, so the order of threads makes no difference; a change of 1e-6 is still seen.
_STEP = f"{2.0**44}::DOUBLE"


def columns_of(value: str) -> list[str]:
    """The columns of a value with the fields of ``kernel.stats.paired_tests.ClusterSums``."""
    return [f"{value}_{name}" for name in _FIELDS]


def sums_of(rows: pd.DataFrame, value: str) -> NDArray[np.float64]:
    """(sums, rows) of a value, as ``kernel.stats.paired_tests`` takes them."""
    return rows[columns_of(value)].to_numpy(np.float64).T


def summed(values: Mapping[str, str], facts: str, keys: str, groups: str, more: Mapping[str, str] | None = None) -> str:
    """SQL of sums over right answers.

    ``values`` are name -> SQL of a number of each fact, NULL if the fact does not count. ``facts`` is SQL from FROM on,
    of rows with the columns of ``keys``; f is the fact, with its relation and object. ``keys`` tell one mean over all
    relations from another, each with its table, if there are several; ``groups`` are the columns of the result,
    ``more`` further ones: name -> condition of the facts that they count.
    """
    by_answer = [
        f"count({x}) AS {v}_c, coalesce(sum({x}), 0) AS {v}_t, coalesce(sum(({x}) * ({x})), 0) AS {v}_s"
        for v, x in values.items()
    ] + [f"count(*) FILTER ({condition}) AS {name}" for name, condition in (more or {}).items()]
    changes = [f"{_change(v, over)} AS {v}_change_{over}" for v in values for over in ("within", "overall")]
    sums = [
        f"""
        CAST(sum({v}_c) AS DOUBLE) AS {v}_n,
        CAST(sum({v}_t) AS DOUBLE) AS {v}_total,
        CAST(sum({v}_s) AS DOUBLE) AS {v}_squares,
        CAST(count(*) FILTER ({v}_c > 0) AS DOUBLE) AS {v}_clusters,
        {_exact_sum(f"{v}_change_within")} AS {v}_within,
        {_exact_sum(f"{v}_change_overall")} AS {v}_overall"""
        for v in values
    ] + [f'CAST(sum("{name}") AS BIGINT) AS "{name}"' for name in more or {}]
    plain = ", ".join(key.split(".")[-1] for key in keys.split(", "))
    return f"""
    WITH by_answer AS (
        SELECT {keys}, f.relation, f.object, {", ".join(by_answer)}
        {facts}
        GROUP BY {keys}, f.relation, f.object
    ), changed AS (
        SELECT *, {", ".join(changes)} FROM by_answer
        WINDOW within AS (PARTITION BY {plain}, relation), overall AS (PARTITION BY {plain})
    )
    SELECT {groups}, {", ".join(sums)}
    FROM changed GROUP BY {groups} ORDER BY {groups}
    """


def _change(value: str, over: str) -> str:
    """SQL of the squared change of a value's mean over a window without one answer; NULL if it is the only one."""
    total, count = f"sum({value}_t) OVER {over}", f"sum({value}_c) OVER {over}"
    return f"power(({value}_t - {value}_c * {total} / {count}) / nullif({count} - {value}_c, 0), 2)"


def _exact_sum(column: str) -> str:
    return f"CAST(coalesce(sum(floor({column} * {_STEP} + 0.5)) / {_STEP}, 0) AS DOUBLE)"


def _by_layer(ks: Sequence[int], scope: str = "", last: str = "") -> str:
    values = {f"hits_{k}": f"CAST(p.gold_rank <= {k} AS INTEGER)" for k in ks}
    values |= {f"above_{k}": f"CAST(p.gold_rank <= {k} AS INTEGER) - CAST(p.other_rank <= {k} AS INTEGER)" for k in ks}
    facts = f"""
        FROM predictions p
        JOIN (SELECT * FROM known {scope}) k ON k.run_id = p.run_id AND k.fact_id = p.fact_id
        JOIN (SELECT fact_id, relation, object FROM facts) f ON f.fact_id = p.fact_id {last}
    """
    return summed(values, facts, "p.run_id, p.layer", "run_id, layer, relation")


#: The sums of all facts of a run, stored for those who filter nothing.
BY_LAYER = _by_layer(RANKS)


def answer_clusters(
    db: Database, run_ids: Sequence[str], k: int, subset: Subset = EVERY_FACT, last_only: bool = False
) -> pd.DataFrame:
    """Sums over the right answers: run_id, layer, relation and ``columns_of`` the values hits_k and above_k.

    above_k is own minus swapped subject; with ``last_only`` rows of other layers may be there, too.
    """
    columns = f"SELECT run_id, layer, relation, {', '.join((*columns_of(f'hits_{k}'), *columns_of(f'above_{k}')))}"
    if subset == EVERY_FACT:
        condition = "WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[]))"
        return db.query(f"{columns} FROM answer_clusters {condition}", {"run_ids": list(run_ids)})
    # Facts of one answer may differ in what is filtered, so filtered sums cannot be added up from stored ones.
    counted = _by_layer(
        (k,), OF_RUNS, "JOIN fact_runs r ON r.run_id = p.run_id AND p.layer = r.layers - 1" if last_only else ""
    )
    return db.query(f"{columns} FROM ({counted})", of_runs(run_ids, subset), of=run_ids)


def more_values(first: str, second: str, first_swapped: str, second_swapped: str) -> dict[str, str]:
    """SQL of what the second of two runs knows more of a fact, and of the same minus the swapped subject."""
    known = [f"CAST({rank} <= $k AS INTEGER)" for rank in (second, first, second_swapped, first_swapped)]
    return {"more": f"{known[0]} - {known[1]}", "above_more": f"{known[0]} - {known[1]} - {known[2]} + {known[3]}"}
