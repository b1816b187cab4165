"""Stored runs on lost facts (how each came back, shares and excesses) and stored series (steps, counts, ranks)."""

from collections.abc import Sequence

import pandas as pd

from probing.forgetting.memory import LOST
from probing.forgetting.series import COUNTS
from probing.forgetting.ways import LOST_OUTCOMES, USUAL_STEPS
from probing.kernel.store.database import Database

#: How a lost fact comes back -> the column with the number of such facts.
BACK_COLUMNS = {name: name.replace(",", "").replace(" ", "_") for name in LOST_OUTCOMES}
_COUNTED = ", ".join(f"count(*) FILTER (f.way = '{way}') AS {column}" for way, column in BACK_COLUMNS.items())
#: They are stored in 32 bits.
_LOGP = ", ".join(
    f"round(s.{name}::DOUBLE, {n}) AS {name}" for name, n in {"base_logp": 6, "logp": 3, "margin": 3}.items()
)
_OF_RUNS = "WHERE s.run_id IN (SELECT unnest($run_ids::VARCHAR[]))"


def forgetting_runs(db: Database) -> pd.DataFrame:
    """All complete runs with the columns of their files and provenance, by model and facts, the newest first."""
    return db.query(
        "SELECT * FROM runs_of_forgetting ORDER BY model, probe_set, k, seeds DESC, created DESC NULLS LAST, run_id"
    )


def by_relation(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """The columns of ``forgetting_relations``, the relation's label if known, and ``BACK_COLUMNS`` of lost facts."""
    return db.query(
        f"""WITH labels AS (SELECT relation, min(label) AS label FROM relations GROUP BY relation)
        SELECT s.run_id, s.relation, any_value(l.label) AS label, s.known, s.kept, s.lost, {_COUNTED}
        FROM forgetting_relations s LEFT JOIN labels l USING (relation)
        LEFT JOIN forgetting_facts f ON f.run_id = s.run_id AND f.relation = s.relation AND f.asked = '{LOST}'
        {_OF_RUNS} GROUP BY s.run_id, s.relation, s.known, s.kept, s.lost ORDER BY s.run_id, s.relation""",
        {"run_ids": list(run_ids)},
    )


def counted(db: Database, run_ids: Sequence[str], column: str) -> pd.DataFrame:
    """How many lost facts have each value of ``way`` or ``reworded``: ``run_id, n`` and the column."""
    assert column in ("way", "reworded"), column
    return db.query(
        f"SELECT s.run_id, s.{column}, count(*) AS n FROM forgetting_facts s {_OF_RUNS} AND s.asked = '{LOST}'"
        " GROUP BY ALL ORDER BY ALL",
        {"run_ids": list(run_ids)},
    )


def excesses(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Differences to yardsticks, with the columns of ``forgetting_excesses``."""
    return db.query(f"SELECT * FROM forgetting_excesses s {_OF_RUNS} ORDER BY ALL", {"run_ids": list(run_ids)})


def answers(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """What ``report_outcome.by_any`` counts of every lost fact, never-known fact and wrong answer."""
    return db.query(
        "SELECT s.run_id, s.fact_id, s.asked, s.relation, s.answer, s.base_logp, s.layer, s.fitted, s.layers_back,"
        f" s.after_{USUAL_STEPS} FROM forgetting_facts s {_OF_RUNS} ORDER BY ALL",
        {"run_ids": list(run_ids)},
    )


def shares(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Shares that come back, with the columns of ``forgetting_shares``."""
    return db.query(f"SELECT * FROM forgetting_shares s {_OF_RUNS} ORDER BY ALL", {"run_ids": list(run_ids)})


def savings(db: Database) -> pd.DataFrame:
    """The savings of all runs, with the columns of ``forgetting_savings``."""
    return db.query("SELECT * FROM forgetting_savings ORDER BY ALL")


def falls(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """How far every lost fact fell: ``run_id, rank, base_logp, logp, margin``."""
    return db.query(
        f"SELECT s.run_id, s.rank, {_LOGP} FROM forgetting_facts s {_OF_RUNS} AND s.asked = '{LOST}' ORDER BY ALL",
        {"run_ids": list(run_ids)},
    )


def facts(
    db: Database, run_id: str, ways: Sequence[str] | None = None, relations: Sequence[str] | None = None
) -> pd.DataFrame:
    """The lost facts of a run with one of the outcomes ``ways``; texts are empty if they are not stored here."""
    return db.query(
        f"""SELECT s.* REPLACE ({_LOGP}), f.subject, f.object, f.prompt FROM forgetting_facts s
            LEFT JOIN facts f USING (fact_id)
        WHERE s.run_id = $run_id AND s.asked = $lost AND ($ways IS NULL OR list_contains($ways::VARCHAR[], s.way))
        AND ($relations IS NULL OR list_contains($relations::VARCHAR[], s.relation))
        ORDER BY s.relation, f.subject NULLS LAST, f.object, s.fact_id""",
        {"run_id": run_id, "lost": LOST, "ways": ways and list(ways), "relations": relations and list(relations)},
    )


_SUMS = ", ".join(f"sum(s.{name})::BIGINT AS {name}" for name in COUNTS)


def series_runs(db: Database) -> pd.DataFrame:
    """All complete series with the columns of their files and of their provenance, by model, the newest first."""
    return db.query("SELECT * FROM runs_of_series ORDER BY model, created DESC NULLS LAST, run_id")


def series_steps(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """Losses, scores and asked states, with the columns of ``series_steps``."""
    return db.query(f"SELECT s.* FROM series_steps s {_OF_RUNS} ORDER BY s.run_id, s.step", {"run_ids": list(run_ids)})


def series_counts(db: Database, run_ids: Sequence[str], k: int, by_relation: bool = False) -> pd.DataFrame:
    """Counts at k: run_id, step, layer, with ``by_relation`` the relation, and the columns of ``series_counts``."""
    by = "s.run_id, s.step, s.layer" + (", s.relation" if by_relation else "")
    return db.query(
        f"SELECT {by}, {_SUMS} FROM series_counts s {_OF_RUNS} AND s.k = $k GROUP BY {by} ORDER BY {by}",
        {"run_ids": list(run_ids), "k": k},
    )


def series_line(db: Database, run_ids: Sequence[str], k: int) -> pd.DataFrame:
    """The points of lines at k, with the columns of ``series_line``."""
    return db.query(f"SELECT s.* FROM series_line s {_OF_RUNS} AND s.k = $k", {"run_ids": list(run_ids), "k": k})


def series_facts(db: Database, run_ids: Sequence[str]) -> pd.DataFrame:
    """run_id, fact_id and buckets of the stored facts; their texts are empty if no run on facts has them."""
    return db.query(
        f"""SELECT s.run_id, s.fact_id, s.buckets, f.relation, f.subject, f.object, f.prompt
            FROM series_facts s
            LEFT JOIN (SELECT DISTINCT ON (fact_id) * FROM facts ORDER BY fact_id, prompt) f USING (fact_id)
            {_OF_RUNS} ORDER BY s.run_id, s.fact_id""",
        {"run_ids": list(run_ids)},
    )
