"""The papers that are reproduced."""

from probing.reports.reproduction.edges.paper import EDGE_PROBING
from probing.reports.reproduction.forgetting.paper import FORGETTING
from probing.reports.reproduction.judge import Judged
from probing.reports.reproduction.knowledge.paper import BERTNESIA
from probing.reports.reproduction.paper import Reproduction
from probing.reports.reproduction.sentences.paper import INTERPLAY
from probing.store.database import Database

PAPERS = {paper.name: paper for paper in (BERTNESIA, EDGE_PROBING, INTERPLAY, FORGETTING)}


def reproduced(db: Database | None, paper: str, *subject: str) -> tuple[Reproduction, tuple[Judged, ...]]:
    """Ours compared with a paper, and its claims judged on ours; arguments as for ``Paper.compare``."""
    reproduction = PAPERS[paper].compare(db, *subject)
    return reproduction, PAPERS[paper].judge(db, reproduction.ours)
