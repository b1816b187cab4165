"""Which swapped ranks are no baseline, because the swapped subject has the fact's answer itself."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from probing.core.knowledge.swapped_subjects import Answers, Asked, can_be_swapped_subject
from probing.core.provenance import stored_configuration


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
