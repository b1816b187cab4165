"""The papers that are reproduced."""

from probing.reports.reproduction.edges.paper import EDGE_PROBING
from probing.reports.reproduction.forgetting.paper import FORGETTING
from probing.reports.reproduction.knowledge.paper import BERTNESIA
from probing.reports.reproduction.sentences.paper import INTERPLAY

#: Name in links and options -> paper.
PAPERS = {paper.name: paper for paper in (BERTNESIA, EDGE_PROBING, INTERPLAY, FORGETTING)}
