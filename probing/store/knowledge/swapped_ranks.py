"""Which swapped ranks are no baseline, because the swapped subject has the fact's answer itself."""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import duckdb
import pyarrow as pa

from probing.core.knowledge.swapped_subjects import Answers, Asked, can_be_swapped_subject
from probing.core.provenance import stored_configuration
from probing.store.schema import NUMBERS, rows_table

_log = logging.getLogger(__name__)


class StoredFact(NamedTuple):
    """The columns of a row of ``facts`` that decide its swapped subject."""

    fact_id: str
    probe_set: str
    relation: str
    subject: str
    object: str
    template: str


def names_swapped(config: str) -> bool:
    """Whether a run's configuration states that its swapped subjects are stored; that of a compact run does not."""
    return bool(stored_configuration(config).get("lenders"))


def stored_facts(facts: pa.Table) -> dict[str, StoredFact]:
    """The rows of the table ``facts`` by their ids."""
    columns = [facts.column(name).fill_null("").to_pylist() for name in StoredFact._fields]
    return {row[0]: StoredFact(*row) for row in zip(*columns, strict=True)}


def unfit(facts: Sequence[Asked], swapped_of: Mapping[str, str]) -> list[str]:
    """Ids of the facts whose swapped rank is no baseline: there is no swapped subject, or it has the fact's answer.

    Args:
        facts: all facts of a run.
        swapped_of: fact id -> id of the fact whose prompt was used.
    """
    by_id = {fact.fact_id: fact for fact in facts}
    others = [by_id.get(swapped_of.get(fact.fact_id, "")) for fact in facts]
    answers = Answers(facts)
    pairs = zip(facts, others, strict=True)
    return [fact.fact_id for fact, other in pairs if other is None or not can_be_swapped_subject(fact, other, answers)]


def empty_unfit_ranks(connection: duckdb.DuckDBPyConnection) -> None:
    """Empties ``predictions.other_rank`` if it is no baseline; all stored tables are loaded before."""
    runs = connection.execute("SELECT DISTINCT run_id FROM predictions WHERE other_rank IS NOT NULL ORDER BY run_id").fetchall()
    if not runs:
        return
    facts = stored_facts(connection.sql("SELECT * FROM facts").to_arrow_table())
    emptied = touched = 0
    for (run_id,) in runs:
        ids = connection.execute("SELECT DISTINCT fact_id FROM predictions WHERE run_id = ? ORDER BY fact_id", [run_id]).fetchall()
        named = connection.execute("SELECT fact_id, lender_id FROM lenders WHERE run_id = ?", [run_id]).fetchall()
        refused = unfit([facts[fact_id] for (fact_id,) in ids], dict(named))
        if not refused:
            continue
        (changed,) = connection.execute(
            f"UPDATE {rows_table('predictions')} SET other_rank = NULL WHERE run_id = ? AND other_rank IS NOT NULL "
            f"AND fact_id IN (SELECT number FROM {NUMBERS} WHERE fact_id IN (SELECT unnest(?::VARCHAR[])))",
            [run_id, refused],
        ).fetchall()[0]
        emptied, touched = emptied + changed, touched + bool(changed)
    if emptied:
        _log.info("%s swapped ranks of %d runs are left out: no swapped subject, or one that has the answer", f"{emptied:,}", touched)
