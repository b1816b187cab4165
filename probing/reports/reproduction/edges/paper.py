"""The paper on edge probing: which of our encoders are compared with it, and by which numbers."""

from collections.abc import Mapping

import pandas as pd

from probing.core.edges.published import PublishedEdges
from probing.reports.reproduction.edges import tables as report
from probing.reports.reproduction.edges.claims import RULES
from probing.reports.reproduction.edges.evidence import EdgeEvidence
from probing.reports.reproduction.edges.measurements import evidence_of, probed_encoders, runs_of, training_data
from probing.reports.reproduction.edges.papers_numbers import papers_evidence
from probing.reports.reproduction.paper import Ours, Paper
from probing.store.database import Database


def encoders_here(db: Database) -> dict[str, None]:
    """Encoders with cumulative probes of the paper's tasks: pre-trained ones first, and among them those with most tasks first."""
    return dict.fromkeys(probed_encoders(db, EDGE_PROBING.numbers)["model"])


def measure(db: Database, encoder: str) -> Ours:
    """An encoder's numbers; ``about`` is its training data: ``task, source, targets, labels``."""
    published = EDGE_PROBING.numbers
    runs, evidence = runs_of(db, encoder, published), evidence_of(db, encoder, published)
    return Ours(encoder, evidence, tuple(runs["run_id"]), f"{encoder} with the published numbers, dev", training_data(db, runs))


def tables(
    published: PublishedEdges, db: Database | None, ours: Ours | None, papers: Mapping[str, EdgeEvidence]
) -> dict[str, pd.DataFrame]:
    """F1 of every layer, Figure 1's summary, and the data, published and ours."""
    tasks, encoders = [task.name for task in published.tasks], [*([ours.evidence] if ours else []), *papers.values()]
    return {
        "scores": report.scores_by_layer(tasks, encoders),
        "summary": report.summary(tasks, encoders),
        "data": report.data(published, ours.about if ours else pd.DataFrame(columns=["task"])),
        "points": report.points(tasks, encoders),
        "levels": report.levels(tasks, ours.evidence if ours else None),
    }


EDGE_PROBING = Paper(
    "edge-probing",
    PublishedEdges,
    RULES,
    "No cumulative probes are stored.",
    "cumulative probes",
    encoders_here,
    measure,
    papers_evidence,
    tables,
    written=("scores", "summary", "data"),
)
