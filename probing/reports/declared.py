"""All reports that are declared."""

from probing.reports.changes.declared import CHANGES
from probing.reports.edges.declared import EDGES
from probing.reports.forgetting.declared import FORGETTING
from probing.reports.knowledge.declared import KNOWLEDGE
from probing.reports.sentences.declared import SENTENCES

#: Kind -> its reports.
KINDS = {one.kind: one for one in (KNOWLEDGE, EDGES, SENTENCES, CHANGES, FORGETTING)}
REPORTS = tuple(report for kind in KINDS.values() for report in kind.every)
