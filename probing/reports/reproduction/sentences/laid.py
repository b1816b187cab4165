"""One base with its fine-tuned models compared with the paper: its numbers, the published ones, and the claims judged on both."""

from dataclasses import dataclass

import pandas as pd

from probing.core.sentences.published import PublishedSentences
from probing.core.tasks.objectives import TASKS as OBJECTIVES
from probing.core.tasks.recipe import FinetuneRecipe
from probing.reports.reproduction.decisions import UNTESTED
from probing.reports.reproduction.evidence import Finding
from probing.reports.reproduction.sentences import tables
from probing.reports.reproduction.sentences.claims import JudgedSentences, judge
from probing.reports.reproduction.sentences.evidence import InterplayEvidence
from probing.reports.reproduction.sentences.families import SentenceFamily, families_here
from probing.reports.reproduction.sentences.measured import evidence_of
from probing.store.changes import queries as of_changes
from probing.store.database import Database
from probing.store.sentences import queries as of_sentences


@dataclass(frozen=True)
class SentenceReproduction:
    """All numbers that the Reproduction page shows on fine-tuning and sentence-level probing.

    Attributes:
        family: the base with its fine-tuned models; None if nothing is stored.
        ours: its numbers.
        scores, changes, settings, data: Tables 1, 2 with 5, 3 and 4.
        judged: the claims.
        run_ids: the runs behind ours.
    """

    family: SentenceFamily | None
    ours: InterplayEvidence | None
    scores: pd.DataFrame
    changes: pd.DataFrame
    settings: pd.DataFrame
    data: pd.DataFrame
    judged: tuple[JudgedSentences, ...]
    run_ids: tuple[str, ...] = ()


def lay_beside(db: Database | None, base: str, published: PublishedSentences) -> SentenceReproduction:
    """A base's numbers compared with the paper's.

    Args:
        db: the database; None if there is none.
        base: name of the pre-trained encoder; empty compares none.
        published: the paper's numbers.
    """
    nothing = Finding(UNTESTED, "Neither sentence probes nor measured changes are stored.")
    ours, family = None, None
    run_ids: tuple[str, ...] = ()
    if db is not None and base:
        families = families_here(db, published)
        family = next(one for one in families if one.base == base)
        ours, run_ids = evidence_of(db, family, families, published), _run_ids(db, family)
    recipes = {one.label: _recipe(one.settings) for one in OBJECTIVES.values() if one.label in published.objectives}
    return SentenceReproduction(
        family, ours, tables.table_1(db, family, published), tables.changes_beside(ours, family, published),
        tables.settings(published, recipes), tables.data(published), judge(ours, published, nothing), run_ids,
    )  # fmt: skip


def _recipe(settings: object) -> dict[str, object]:
    """Every field of a recipe with these settings."""
    defaults = {name: field.default for name, field in FinetuneRecipe.model_fields.items() if not field.is_required()}
    return defaults | dict(settings)  # type: ignore[call-overload]


def _run_ids(db: Database, family: SentenceFamily) -> tuple[str, ...]:
    probed, measured = of_sentences.sentence_runs(db), of_changes.change_runs(db)
    mine = probed[probed["model"].isin(family.models) & probed["protocol"].eq(family.protocol)]
    return tuple(pd.concat([mine["run_id"], measured.loc[measured["model"].isin(family.models), "run_id"]]))
