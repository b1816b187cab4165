"""The papers that are reproduced."""

from probing.kernel.store.database import Database
from probing.papers.bertnesia_paper import BERTNESIA
from probing.papers.claims import Judged
from probing.papers.claims_paper import Reproduction
from probing.papers.edge_probing_paper import EDGE_PROBING
from probing.papers.interplay_paper import INTERPLAY
from probing.papers.papers_paper import FORGETTING

PAPERS = {paper.name: paper for paper in (BERTNESIA, EDGE_PROBING, INTERPLAY, FORGETTING)}


def reproduced(db: Database | None, paper: str, *subject: str) -> tuple[Reproduction, tuple[Judged, ...]]:
    """Ours compared with a paper, and its claims judged on ours; arguments as for ``Paper.compare``."""
    reproduction = PAPERS[paper].compare(db, *subject)
    return reproduction, PAPERS[paper].judge(db, reproduction.ours)
