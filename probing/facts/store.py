"""Queries about whole runs. Every result is a count or a sum; ``probing.core`` turns them into shares and intervals.

All functions take the database first and return a frame. Filters that are None do not filter. ``exposures`` holds
values such as ``"stated"`` or ``"unknown"``; an empty tuple keeps nothing.
"""

from collections.abc import Sequence

import pandas as pd

from probing.facts.store_scope import OF_RUNS, of_runs
from probing.kernel.store.columns import SCHEMAS, SORT
from probing.kernel.store.database import Database


def runs(db: Database) -> pd.DataFrame:
    """All runs on facts with every column of their files, by model, probe set, head, template set and seed.

    ``counted`` means that only counts are stored of a run: it has no predictions, and nothing by fact. ``hub_id`` is
    the model's full id on the hub; empty for a folder.
    """
    columns = ", ".join([*SCHEMAS["runs"].names, "counted", "coalesce(hub_id, '') AS hub_id"])
    return db.query(f"SELECT {columns} FROM runs_of_facts ORDER BY {', '.join(SORT['runs'])}")


def stored_models(db: Database) -> pd.DataFrame:
    """Every model with a run of any kind, as its runs describe it: model, base, objective; a row per description."""
    return db.query("SELECT DISTINCT model, base, objective FROM runs ORDER BY ALL")


def followed_only(db: Database) -> frozenset[str]:
    """The models that have only runs of series, or were made to be asked for planted facts."""
    of_series = "SELECT model FROM runs GROUP BY model HAVING bool_and(kind = 'series')"
    return frozenset(db.query(f"{of_series} UNION SELECT model FROM forgetting_runs WHERE planted > 0")["model"])


def left_out_files(db: Database) -> pd.DataFrame:
    """Results files that are not read, as damaged or of another version: name (below its source), why."""
    return db.left_out


def probe_sets(db: Database) -> pd.DataFrame:
    """Every probe set: probe_set, n_facts (stored, whichever run probed them), n_relations, n_runs."""
    return db.query("""
        SELECT f.probe_set, count(*) AS n_facts, count(DISTINCT f.relation) AS n_relations,
            (SELECT count(*) FROM fact_runs r WHERE r.probe_set = f.probe_set) AS n_runs
        FROM facts f GROUP BY f.probe_set ORDER BY f.probe_set
    """)


def tasks(db: Database, models: Sequence[str] | None = None) -> pd.DataFrame:
    """What models reach on their own task: model, base, objective, metric, value, chance, chance_name, n.

    ``chance`` is what ``chance_name`` names: a baseline or a comparison.
    """
    return db.query(
        """
        SELECT * FROM tasks WHERE $models IS NULL OR model IN (SELECT unnest($models::VARCHAR[]))
        ORDER BY model, metric, chance_name
        """,
        {"models": None if models is None else list(models)},
    )


def head_training(db: Database) -> pd.DataFrame:
    """How stored runs' heads were trained: validation losses in nats, of the logit lens, at the start and at the end.

    One model and kind may have heads of several recipes; a run's is in its configuration, and in ``runs.recipe``.
    """
    return db.query("SELECT * FROM head_training ORDER BY model, head, seed, recipe, layer")


def relations(db: Database) -> pd.DataFrame:
    """Every relation that has facts: probe_set, relation, label (or the name), cardinality, n_facts."""
    return db.query("""
        SELECT f.probe_set, f.relation, coalesce(any_value(r.label), f.relation) AS label, any_value(r.cardinality) AS
            cardinality,
            count(*) AS n_facts
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
_LENT_NAMES = [f"{name}_{k}" for name in _SIDES.values() for k in (1, 10, 100)]
_LENT = ", ".join(
    f"CAST(sum({column}_{k}) AS BIGINT) AS {name}_{k}" for column, name in _SIDES.items() for k in (1, 10, 100)
)


def aggregate(
    db: Database, run_ids: Sequence[str], exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """Counts by run, layer (0..L) and relation; a relation of which the filters keep no fact has no row.

    Of the other_n facts that have a swapped subject, by rank k: own_k known with the own subject, other_k with the
    swapped one, own_other_k with both, 0 if it is not measured.
    """
    return db.query(
        f"""
        WITH of_swapped AS (
            SELECT run_id, layer, relation, CAST(sum(n) AS BIGINT) AS other_n, {_LENT} FROM swapped_counts {OF_RUNS}
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
            {", ".join(f"coalesce(l.{name}, 0) AS {name}" for name in _LENT_NAMES)}
        FROM counted c LEFT JOIN of_swapped l ON l.run_id = c.run_id AND l.layer = c.layer AND l.relation = c.relation
        ORDER BY c.run_id, c.layer, c.relation
        """,
        of_runs(run_ids, exposures, answer_in_subject),
    )


def totals(
    db: Database, run_ids: Sequence[str], exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """Facts known at the last layer, and at any of the layers 1..L: run_id, relation, n, last_1, ..., any_1, ..."""
    counts = ", ".join(
        f"CAST(sum({name}) AS BIGINT) AS {name}"
        for name in ["n", "last_1", "last_10", "last_100", "any_1", "any_10", "any_100"]
    )
    return db.query(
        f"SELECT run_id, relation, {counts} FROM total_counts {OF_RUNS} GROUP BY run_id, relation ORDER BY run_id,"
        " relation",
        of_runs(run_ids, exposures, answer_in_subject),
    )


def inner_layers(
    db: Database, run_ids: Sequence[str], exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """What inner layers find of the n facts that the last layer misses with both subjects, by run and k.

    own, swapped, own_and_swapped: found by some layer 1..L-1 with rank <= k. A run has rows if it has inner layers and
    facts with a swapped subject.
    """
    counts = ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in ("n", "own", "swapped", "own_and_swapped"))
    return db.query(
        f"SELECT run_id, k, {counts} FROM inner_counts {OF_RUNS} GROUP BY run_id, k ORDER BY run_id, k",
        of_runs(run_ids, exposures, answer_in_subject),
    )


def majority(
    db: Database, run_ids: Sequence[str], exposures: Sequence[str] | None = None, answer_in_subject: bool | None = None
) -> pd.DataFrame:
    """What always giving the relation's most frequent answer gets right; ``answers``: different ones.

    The answer is the most frequent one of all probed facts of the run and relation; filters choose who is counted.
    """
    return db.query(
        f"""
        SELECT run_id, relation, CAST(sum(n) AS BIGINT) AS n, CAST(sum(majority_hits) AS BIGINT) AS majority_hits,
            max(answers) AS answers
        FROM total_counts {OF_RUNS} GROUP BY run_id, relation ORDER BY run_id, relation
        """,
        of_runs(run_ids, exposures, answer_in_subject),
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
