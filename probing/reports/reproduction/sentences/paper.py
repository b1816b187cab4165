"""The paper on fine-tuning and sentence-level probing: which of our bases are compared with it, and by which numbers."""

from collections.abc import Mapping

import pandas as pd

from probing.core.sentences.published import PublishedSentences
from probing.core.tasks.objectives import TASKS as OBJECTIVES
from probing.core.tasks.recipe import FinetuneRecipe
from probing.reports.reproduction.paper import Ours, Paper
from probing.reports.reproduction.sentences import tables as report
from probing.reports.reproduction.sentences.claims import RULES
from probing.reports.reproduction.sentences.evidence import InterplayEvidence
from probing.reports.reproduction.sentences.families import families_here
from probing.reports.reproduction.sentences.measurements import evidence_of
from probing.reports.reproduction.sentences.papers_numbers import papers_evidence
from probing.store.changes import queries as of_changes
from probing.store.database import Database
from probing.store.sentences import queries as of_sentences


def measure(db: Database, base: str) -> Ours:
    """The numbers of a base with its fine-tuned models; ``about`` is its ``SentenceFamily``."""
    families = families_here(db)
    family = families[base]
    probed, measured = of_sentences.sentence_runs(db), of_changes.change_runs(db)
    own_probes = probed[probed["model"].isin(family.models) & probed["protocol"].eq(family.protocol)]
    ids = tuple(pd.concat([own_probes["run_id"], measured.loc[measured["model"].isin(family.models), "run_id"]]))
    origin = f"{base} by the protocol {family.protocol} with the published numbers"
    return Ours(base, evidence_of(db, family, families, INTERPLAY.numbers), ids, origin, family)


def tables(
    published: PublishedSentences, db: Database | None, ours: Ours | None, papers: Mapping[str, InterplayEvidence]
) -> dict[str, pd.DataFrame]:
    """Tables 1, 2 with 5, 3 and 4, published and ours."""
    family = ours.about if ours else None
    recipes = {one.label: _recipe(one.settings) for one in OBJECTIVES.values() if one.label in published.objectives}
    return {
        "scores": report.table_1(db, family, published),
        "changes": report.changes_beside(ours.evidence if ours else None, family, published),
        "settings": report.settings(published, recipes),
        "data": report.data(published),
    }


def _recipe(settings: object) -> dict[str, object]:
    """Every field of a recipe with these settings."""
    defaults = {name: field.default for name, field in FinetuneRecipe.model_fields.items() if not field.is_required()}
    return defaults | dict(settings)  # type: ignore[call-overload]


INTERPLAY = Paper(
    "interplay",
    PublishedSentences,
    RULES,
    "Neither sentence probes nor measured changes are stored.",
    "sentence probes",
    families_here,
    measure,
    papers_evidence,
    tables,
    written=("scores", "changes", "settings", "data"),
)
