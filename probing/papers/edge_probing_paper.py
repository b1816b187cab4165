"""The paper on edge probing: which of our encoders are compared with it, and by which numbers."""

import pandas as pd

from probing.edges.published import PublishedEdges
from probing.kernel.store.database import Database
from probing.papers.claims import BASE, Subject
from probing.papers.claims_paper import Ours, Paper
from probing.papers.edge_probing import data, levels, points, scores_by_layer, summary
from probing.papers.edge_probing_encoder_numbers import numbers_of, probed_encoders, published_encoders, runs_of


def encoders_here(db: Database) -> dict[str, None]:
    """Encoders with cumulative probes of the paper's tasks: pre-trained ones first, then those with most tasks."""
    return dict.fromkeys(probed_encoders(db, EDGE_PROBING.numbers)["model"])


def measure(db: Database, encoder: str) -> Ours:
    """An encoder's numbers; ``about`` is its ``EncoderNumbers``."""
    published = EDGE_PROBING.numbers
    ids = tuple(runs_of(db, encoder, published)["run_id"])
    return Ours(
        encoder,
        numbers_of(db, encoder, published),
        ids,
        f"{encoder} with the published numbers, dev",
        Subject({BASE: encoder}),
    )


def tables(published: PublishedEdges, db: Database | None, ours: Ours | None) -> dict[str, pd.DataFrame]:
    """F1 of every layer, Figure 1's summary, and the data, published and ours."""
    tasks, encoders = (
        [task.name for task in published.tasks],
        [*([ours.about] if ours else []), *published_encoders(published)],
    )
    return {
        "scores": scores_by_layer(tasks, encoders),
        "summary": summary(tasks, encoders),
        "data": data(published, ours.about.data if ours else pd.DataFrame(columns=["task"])),
        "points": points(tasks, encoders),
        "levels": levels(tasks, ours.about if ours else None),
    }


EDGE_PROBING = Paper(
    "edge-probing",
    PublishedEdges,
    "cumulative probes",
    encoders_here,
    measure,
    tables,
    written=("scores", "summary", "data"),
)
