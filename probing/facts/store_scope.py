"""Which facts are counted: the filters by exposure and by answer in the subject, the same in every query."""

from collections.abc import Sequence
from typing import Any

#: Condition on the columns exposure and answer_in_subject; its values come from ``filters``.
KEPT = """
    (NOT $by_exposure OR exposure IN (SELECT unnest($exposures::VARCHAR[])))
    AND ($answer_in_subject::BOOLEAN IS NULL OR answer_in_subject = $answer_in_subject::BOOLEAN)
"""
#: The same for the rows of chosen runs; its values come from ``of_runs``.
OF_RUNS = f"WHERE run_id IN (SELECT unnest($run_ids::VARCHAR[])) AND {KEPT}"


def filters(exposures: Sequence[str] | None, answer_in_subject: bool | None) -> dict[str, Any]:
    """Values of ``KEPT``; None does not filter, no exposures at all keep nothing."""
    return {
        "by_exposure": exposures is not None,
        "exposures": list(exposures or ()),
        "answer_in_subject": answer_in_subject,
    }


def of_runs(run_ids: Sequence[str], exposures: Sequence[str] | None, answer_in_subject: bool | None) -> dict[str, Any]:
    """Values of ``OF_RUNS``."""
    return {"run_ids": list(run_ids), **filters(exposures, answer_in_subject)}
