"""One encoder compared with the paper on edge probing: its numbers, the published ones, and the claims judged on both."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from probing.core.edges.published import PublishedEdges
from probing.reports.reproduction.decisions import UNTESTED
from probing.reports.reproduction.edges.claims import JudgedEdge, judge
from probing.reports.reproduction.edges.evidence import EdgeEvidence
from probing.reports.reproduction.edges.measured import evidence_of, probed_encoders, runs_of, training_data
from probing.reports.reproduction.edges.papers_numbers import papers_evidence
from probing.reports.reproduction.edges.tables import points, summary
from probing.reports.reproduction.evidence import Finding
from probing.store.database import Database


@dataclass(frozen=True)
class EdgeReproduction:
    """All numbers that the Reproduction page shows on edge probing.

    Attributes:
        ours: the numbers of the encoder; None if no probes are stored.
        papers: encoder of the paper -> its numbers.
        tasks: the paper's, in its order.
        data: ``task, source, targets, labels`` of our training parts.
        judged: the claims.
        summary, points: of ours and the paper's encoders, see ``tables``.
        run_ids: the runs behind ours.
    """

    ours: EdgeEvidence | None
    papers: Mapping[str, EdgeEvidence]
    tasks: tuple[str, ...]
    data: pd.DataFrame
    judged: tuple[JudgedEdge, ...]
    summary: pd.DataFrame
    points: pd.DataFrame
    run_ids: tuple[str, ...] = ()

    @property
    def encoders(self) -> list[EdgeEvidence]:
        """Ours, if there is one, then those of the paper."""
        return [*([self.ours] if self.ours else []), *self.papers.values()]


def encoders_here(db: Database) -> tuple[str, ...]:
    """Encoders with cumulative probes of the paper's tasks: pre-trained ones first, and among them those with most tasks first."""
    return tuple(probed_encoders(db, PublishedEdges.read())["model"])


def lay_beside(db: Database | None, encoder: str, published: PublishedEdges) -> EdgeReproduction:
    """An encoder's numbers compared with the paper's.

    Args:
        db: the database; None if there is none.
        encoder: name of the model; empty compares none.
        published: the paper's numbers.
    """
    papers, nothing = papers_evidence(published), Finding(UNTESTED, "No cumulative probes are stored.")
    tasks = tuple(task.name for task in published.tasks)
    ours, runs, data = None, None, pd.DataFrame(columns=["task"])
    if db is not None and encoder:
        ours, runs = evidence_of(db, encoder, published), runs_of(db, encoder, published)
        data = training_data(db, runs)
    encoders = [*([ours] if ours else []), *papers.values()]
    return EdgeReproduction(
        ours, papers, tasks, data, judge(ours, papers, nothing), summary(tasks, encoders), points(tasks, encoders),
        () if runs is None else tuple(runs["run_id"]),
    )  # fmt: skip
