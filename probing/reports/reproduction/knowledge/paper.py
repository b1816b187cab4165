"""BERTnesia: which of our families are compared with it, and by which tables."""

from collections.abc import Mapping

import pandas as pd

from probing.core.knowledge.published import PublishedKnowledge
from probing.reports.reproduction.findings import Evidence
from probing.reports.reproduction.knowledge.claims import RULES
from probing.reports.reproduction.knowledge.families import families_here
from probing.reports.reproduction.knowledge.measurements import measure
from probing.reports.reproduction.knowledge.papers_numbers import papers_evidence
from probing.reports.reproduction.knowledge.tables import table_1, table_2, table_3
from probing.reports.reproduction.paper import Ours, Paper
from probing.store.database import Database


def tables(
    published: PublishedKnowledge, db: Database | None, ours: Ours | None, papers: Mapping[str, Evidence]
) -> dict[str, pd.DataFrame]:
    """Tables 1, 2 and 3, published and ours; none without results of ours."""
    if ours is None or db is None:
        return {}
    gathered = ours.about
    return {
        "table-1": table_1(db, gathered, published),
        "table-2": table_2(gathered, published),
        "table-3": table_3(gathered, published),
    }


BERTNESIA = Paper("bertnesia", PublishedKnowledge, RULES, "No results are stored.", "runs", families_here, measure, papers_evidence, tables)
