"""How a run's numbers are stored, one row per layer and fact, in full or compact, and read for a notebook."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from probing.facts.fact import Fact
from probing.kernel.store.database import Database

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
    """The columns of ``predictions``, from (layers, facts) arrays of ``facts.probe_probe.probe``.

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
            CAST(p.gold_rank AS BIGINT) AS rank, CAST(p.answer_rank AS BIGINT) AS answer_rank, p.other_rank AS
                swapped_rank,
            exp(p.gold_logp::DOUBLE) AS probability,
            -- Half a character has no text, so its token is shown.
            coalesce(CASE WHEN contains(v.text, chr(65533)) THEN v.token ELSE v.text END, 'unused ' || p.top_ids[1]) AS
                top_token,
            exp(p.top_logp[1]::DOUBLE) AS top_probability
        FROM predictions p JOIN fact_runs r ON r.run_id = p.run_id JOIN facts f ON f.fact_id = p.fact_id
        LEFT JOIN vocabulary v ON v.tokenizer = r.tokenizer AND v.id = p.top_ids[1]
        WHERE p.run_id IN (SELECT unnest($run_ids::VARCHAR[]))
        ORDER BY list_position($run_ids::VARCHAR[], p.run_id), f.relation, f.subject, f.object, f.fact_id, p.layer
        """,
        {"run_ids": list(run_ids)},
        of=run_ids,
    ).astype({"swapped_rank": "Int64"})
