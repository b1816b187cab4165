"""The paper's published changes as evidence, for the same rules.

A published number has no interval. Its only known uncertainty is its rounding, which is used as the interval: a change printed to a
hundredth of a point is exact to half of that.
"""

import pandas as pd

from probing.core.sentences.example import POOLINGS
from probing.core.sentences.published import GROUPS, PublishedSentences
from probing.reports.reproduction.findings import PAPER
from probing.reports.reproduction.sentences.evidence import GROUP_COLUMNS, InterplayEvidence

#: Half of the rounding interval of a published change, as share.
ROUNDING = 0.00005


def papers_evidence(published: PublishedSentences) -> dict[str, InterplayEvidence]:
    """Tables 2 and 5 as one side, and the number of probes that Section 3.4 states. All models count as having learned their task."""
    names = [model.name for model in published.models]
    rows = []
    for row in published.changes:
        for pooling in POOLINGS:
            for objective in published.objectives:
                cell = published.change(row.model, row.task, pooling, objective)
                for group, points in zip(GROUPS, cell or (), strict=False):
                    ends = (points / 100, points / 100 - ROUNDING, points / 100 + ROUNDING)
                    rows.append((row.model, objective, row.task, pooling, group, *ends, None, None, None))
    evidence = InterplayEvidence(
        tuple(names),
        {model.name: model.depth for model in published.models},
        named={name: name for name in names},
        groups=pd.DataFrame(rows, columns=list(GROUP_COLUMNS)),
        published=True,
    )
    return {PAPER: evidence}
