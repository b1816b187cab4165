"""One encoder laid beside the paper on edge probing: its numbers, the published ones, and the claims judged on both."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from probing.core.edges.published import PublishedEdges, published_edges
from probing.reports.reproduction.decisions import UNTESTED
from probing.reports.reproduction.edges.claims import JudgedEdge, judge
from probing.reports.reproduction.edges.evidence import EdgeEvidence
from probing.reports.reproduction.edges.measured import evidence_of, probed_encoders, runs_of, training_data
from probing.reports.reproduction.edges.papers_numbers import papers_evidence
from probing.reports.reproduction.evidence import Finding
from probing.store.database import Database


@dataclass(frozen=True)
class EdgeReproduction:
    """Everything that the Reproduction page says of edge probing.

    Attributes:
        ours: the numbers of the encoder; None where no probes are stored.
        papers: encoder of the paper -> its numbers.
        tasks: the paper's, in its order.
        data: ``task, source, targets, labels`` of our training parts.
        judged: the claims.
        run_ids: the runs behind ours.
    """

    ours: EdgeEvidence | None
    papers: Mapping[str, EdgeEvidence]
    tasks: tuple[str, ...]
    data: pd.DataFrame
    judged: tuple[JudgedEdge, ...]
    run_ids: tuple[str, ...] = ()


def encoders_here(db: Database) -> tuple[str, ...]:
    """Encoders with cumulative probes of the paper's tasks: pre-trained ones first, those of most tasks first among them."""
    return tuple(probed_encoders(db, published_edges())["model"])


def lay_beside(db: Database | None, encoder: str, published: PublishedEdges) -> EdgeReproduction:
    """An encoder's numbers beside the paper's.

    Args:
        db: the database; None where there is none.
        encoder: name of the model; empty lays nothing beside.
        published: the paper's numbers.
    """
    papers, nothing = papers_evidence(published), Finding(UNTESTED, "No cumulative probes are stored.")
    tasks = tuple(task.name for task in published.tasks)
    if db is None or not encoder:
        return EdgeReproduction(None, papers, tasks, pd.DataFrame(columns=["task"]), judge(None, papers, nothing))
    ours, runs = evidence_of(db, encoder, published), runs_of(db, encoder, published)
    return EdgeReproduction(ours, papers, tasks, training_data(db, runs), judge(ours, papers, nothing), tuple(runs["run_id"]))
