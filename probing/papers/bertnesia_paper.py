"""BERTnesia: which of our families are compared with it, and by which tables."""

import pandas as pd

from probing.facts.published import PublishedKnowledge
from probing.kernel.store.database import Database
from probing.papers.bertnesia import table_1, table_2, table_3
from probing.papers.bertnesia_families import families_here
from probing.papers.bertnesia_measurements import measure
from probing.papers.claims_paper import Ours, Paper


def tables(published: PublishedKnowledge, db: Database | None, ours: Ours | None) -> dict[str, pd.DataFrame]:
    """Tables 1, 2 and 3, published and ours; none without results of ours."""
    if ours is None or db is None:
        return {}
    gathered = ours.about
    return {
        "table-1": table_1(db, gathered, published),
        "table-2": table_2(gathered, published),
        "table-3": table_3(gathered, published),
    }


BERTNESIA = Paper("bertnesia", PublishedKnowledge, "runs", families_here, measure, tables)
