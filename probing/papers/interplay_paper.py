"""The paper on fine-tuning and sentence-level probing: our bases that are compared with it, and their numbers."""

import pandas as pd

from probing.changes.store import change_runs
from probing.finetuning.objectives import TASKS as OBJECTIVES
from probing.finetuning.recipe import FinetuneRecipe
from probing.kernel.store.database import Database
from probing.papers import interplay
from probing.papers.claims import BASE, Subject
from probing.papers.claims_paper import Ours, Paper
from probing.papers.interplay_families import families_here
from probing.papers.interplay_measurements import numbers_of
from probing.sentences.published import PublishedSentences
from probing.sentences.store import sentence_runs


def measure(db: Database, base: str) -> Ours:
    """The numbers of a base with its fine-tuned models; ``about`` is its ``SentenceNumbers``."""
    families = families_here(db)
    family = families[base]
    probed, measured = sentence_runs(db), change_runs(db)
    own_probes = probed[probed["model"].isin(family.models) & probed["protocol"].eq(family.protocol)]
    ids = tuple(pd.concat([own_probes["run_id"], measured.loc[measured["model"].isin(family.models), "run_id"]]))
    origin = f"{base} by the protocol {family.protocol} with the published numbers"
    models = {**INTERPLAY.numbers.stored_encoders(families), **family.members, BASE: base}
    subject = Subject(models, ({"protocol": family.protocol},))
    return Ours(base, numbers_of(db, family, families, INTERPLAY.numbers), ids, origin, subject)


def tables(published: PublishedSentences, db: Database | None, ours: Ours | None) -> dict[str, pd.DataFrame]:
    """Tables 1, 2 with 5, 3 and 4, published and ours."""
    recipes = {
        objective.label: _recipe(objective.settings)
        for objective in OBJECTIVES.values()
        if objective.label in published.objectives
    }
    return {
        "scores": interplay.table_1(db, ours.about.family if ours else None, published),
        "changes": interplay.changes_beside(ours.about if ours else None, published),
        "settings": interplay.settings(published, recipes),
        "data": interplay.data(published),
    }


def _recipe(settings: object) -> dict[str, object]:
    """Every field of a recipe with these settings."""
    defaults = {name: field.default for name, field in FinetuneRecipe.model_fields.items() if not field.is_required()}
    return defaults | dict(settings)  # type: ignore[call-overload]


INTERPLAY = Paper(
    "interplay",
    PublishedSentences,
    "sentence probes",
    families_here,
    measure,
    tables,
    ("scores", "changes", "settings", "data"),
)
